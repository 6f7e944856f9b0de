"""Groups of a real cluster, written into the offsets topic of a running one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from coordinator_logs import OFFSETS_TOPIC, real_partitions

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import ProduceRequest
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from running_cluster import Running


def group_records(count: int) -> list[list[LoggedRecord]]:
    """Return the records of the fullest partitions of a real offsets topic."""
    logs = sorted(real_partitions("4.3.1", OFFSETS_TOPIC).items())
    records = [[entry for entry in entries if isinstance(entry, LoggedRecord)] for _, entries in logs]
    fullest = sorted(records, key=len)[-count:]
    assert min(map(len, fullest)) > 0
    return fullest


def produce(cluster: Running, partitions: list[list[LoggedRecord]]) -> None:
    """Write as an admin client may into topics of coordinators."""

    async def send() -> None:
        servers = parse_servers(cluster.document["bootstrap_servers"])
        async with AsyncAdmin(servers, ClientConfig(client_id="__admin_client")) as admin:
            data = [
                PartitionProduceData(
                    index,
                    build_batch(
                        [Record(at, 1_700_000_000_000, record.key, record.value) for at, record in enumerate(records)],
                        base_offset=0,
                        leader_epoch=-1,
                    ),
                )
                for index, records in enumerate(partitions)
            ]
            request = ProduceRequest(
                acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=OFFSETS_TOPIC, partition_data=data)]
            )
            response = await (await admin.any_node()).request(request, wanted=SupportedRange(3, 12))
            assert [partition.error_code for partition in response.responses[0].partition_responses] == [0] * len(
                partitions
            )

    asyncio.run(send())
