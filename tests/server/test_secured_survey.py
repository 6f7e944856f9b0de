"""A controller without the broker role reads coordinators' topics from a broker that asks for TLS and SASL."""

import asyncio
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from coordinator_topics import transaction
from falkirk_command import run_falkirk
from running_cluster import serving
from tls_files import Authority, having

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.client.feature_update import FeatureUpdate
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import CreateTopicsRequest, MetadataRequest, ProduceRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.storage.properties_file import format_property

HOST = "127.0.0.1"
TOPIC = "__transaction_state"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def formatted(capsys: pytest.CaptureFixture[str], home: Path, properties: Mapping[str, str]) -> Path:
    home.mkdir()
    file = home / "server.properties"
    with file.open("wb") as opened:
        opened.writelines(format_property(*each) for each in {**properties, "log.dirs": str(home / "data")}.items())
    words = ("storage", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", file)
    assert run_falkirk(capsys, *words).exit_code == 0
    return file


async def with_open_transaction(admin: AsyncAdmin) -> None:
    """Write what lowering transaction.version would cut off."""
    await admin.request(CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], 30_000))
    asked = MetadataRequest([MetadataRequestTopic(name=TOPIC)])
    while not (topic := (await admin.request(asked)).topics[0]).partitions:
        pass
    batch = build_batch([Record(0, 0, *transaction("paying", TransactionState.ONGOING))], base_offset=0)
    data = TopicProduceData(TOPIC, topic_id=topic.topic_id, partition_data=[PartitionProduceData(0, batch)])
    answer = await admin.request(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]))
    assert [each.error_code for topic in answer.responses for each in topic.partition_responses] == [0]


@pytest.mark.slow
def test_what_a_broker_behind_sasl_ssl_has_in_use_stops_a_lowering(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = Authority()
    voter, broker = free_port(), free_port()
    both = (
        {
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@{HOST}:{voter}",
            "listener.security.protocol.map": "CONTROLLER:SSL,INSIDE:SASL_SSL",
            "inter.broker.listener.name": "INSIDE",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.inside.plain.sasl.jaas.config": f'{MODULE} username="n" password="s" user_n="s";',
        }
        | having(authority.issue())
        | authority.trusting()
    )
    controller = {"process.roles": "controller", "node.id": "1", "listeners": f"CONTROLLER://{HOST}:{voter}"}
    other = {"process.roles": "broker", "node.id": "2", "listeners": f"INSIDE://{HOST}:{broker}"}
    files = [formatted(capsys, tmp_path / one["process.roles"], both | one) for one in (controller, other)]
    client = ClientConfig.from_properties(
        authority.trusting()
        | {
            "client.id": "__admin_client",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{MODULE} username="n" password="s";',
        }
    )

    async def story() -> None:
        async with AsyncAdmin(parse_servers(f"{HOST}:{broker}"), client) as admin:
            await with_open_transaction(admin)
            lowered = {"transaction.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}
            failure = (await admin.update_features(lowered)).values["transaction.version"]
            assert failure is not None
            assert failure.error_code == ErrorCode.INVALID_UPDATE_VERSION, failure
            assert "transactional id paying has an open transaction" in failure.message

    with ExitStack() as nodes:
        for file in files:
            nodes.enter_context(serving(file))
        asyncio.run(story())
