"""`falkirk transactions` prints what kafka-transactions prints, of clusters of ours and of real ones."""

import asyncio
import time

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from falkirk_node import OurCluster
from falkirk_program import falkirk
from kafka_cluster import Clusters, KafkaCluster
from kafka_tools import outputs

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import ProduceRequest
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.versions.supported_range import SupportedRange

pytestmark = pytest.mark.interop
KAFKA_TOOL = "org.apache.kafka.tools.TransactionsCommand"
HANGING_PRODUCER, HANGING_EPOCH = 4711, 3
# Partition 0 has a transaction of a client; in partition 1 one hangs that no coordinator knows.
SETTINGS = {"transaction.partition.verification.enable": "false"}


def hang(servers: str) -> None:
    """Append a transactional batch of long ago that no coordinator has heard of."""
    batch = build_batch(
        [Record(0, 1_600_000_000_000, None, b"hanging")],
        base_offset=0,
        producer_id=HANGING_PRODUCER,
        producer_epoch=HANGING_EPOCH,
        base_sequence=0,
        is_transactional=True,
    )
    request = ProduceRequest(
        "hanging", -1, 30_000, [TopicProduceData("t", partition_data=[PartitionProduceData(1, batch)])]
    )

    async def run() -> None:
        async with AsyncAdmin(parse_servers(servers), ClientConfig()) as admin:
            response = await (await admin.any_node()).request(request, wanted=SupportedRange(9, 9))
        assert response.responses[0].partition_responses[0].error_code == 0

    asyncio.run(run())


def without_clock(text: str) -> list[str] | list[list[str]]:
    """Return the lines as they are, or the cells of a table that has a duration without those."""
    lines = [line for line in text.splitlines() if line]
    rows = [[cell.strip() for cell in line.split("\t")] for line in lines]
    left_out = {place for place, title in enumerate(rows[0]) if "Duration" in title}
    if not left_out:
        return lines
    return [[cell for place, cell in enumerate(row) if place not in left_out] for row in rows]


@pytest.mark.parametrize(
    ("kind", "release"),
    [
        (KafkaCluster, "4.3.1"),
        (OurCluster, "4.3.1"),
        pytest.param(KafkaCluster, "3.9.1", marks=pytest.mark.full),
        pytest.param(OurCluster, "3.9.1", marks=pytest.mark.full),
    ],
)
def test_both_tools_tell_the_same_and_end_what_hangs(clusters: Clusters, tmp_path, kind, release) -> None:
    cluster = clusters.adopt(kind.new(release, tmp_path / "cluster", settings=SETTINGS))
    cluster.format()
    cluster.start()
    servers = cluster.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("t", 2, 1)])["t"].result(60)
    producer = ck.Producer(
        {"bootstrap.servers": servers, "transactional.id": "open", "transaction.timeout.ms": 300_000}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("t", b"open", partition=0)
    producer.flush(60)
    hang(servers)

    partition = ["--topic", "t", "--partition", "1"]
    commands = (
        ["list"],
        ["describe", "--transactional-id", "open"],
        ["describe-producers", "--topic", "t", "--partition", "0"],
        ["describe-producers", *partition],
        ["find-hanging", "--topic", "t"],
        ["find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0"],
    )
    theirs = outputs(*([KAFKA_TOOL, "--bootstrap-server", servers, *command] for command in commands), release="4.3.1")
    for command, kafkas in zip(commands, theirs, strict=True):
        ours = falkirk("transactions", *command, "--bootstrap-server", servers)
        assert (ours.status, ours.stderr) == (0, "")
        assert without_clock(ours.stdout) == without_clock(kafkas), command
    hanging = falkirk("transactions", "find-hanging", "--topic", "t", "--bootstrap-server", servers, "--json")
    (found,) = hanging.document["hanging_transactions"]
    assert (found["partition"], found["producer_id"], found["start_offset"]) == (1, HANGING_PRODUCER, 0)

    aborted = falkirk("transactions", "abort", *partition, "--start-offset", "0", "--bootstrap-server", servers)
    assert (aborted.status, aborted.stderr) == (0, "")
    again = falkirk("transactions", "abort", *partition, "--start-offset", "0", "--bootstrap-server", servers)
    assert (again.status, "Could not find any open transactions" in again.stderr) == (1, True)
    after = falkirk("transactions", "find-hanging", "--topic", "t", "--bootstrap-server", servers, "--json")
    assert after.document == {"hanging_transactions": []}
    producer.commit_transaction(60)
    deadline = time.monotonic() + 30
    while "CompleteCommit" not in falkirk("transactions", "list", "--bootstrap-server", servers).stdout:
        assert time.monotonic() < deadline
