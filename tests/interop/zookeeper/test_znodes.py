"""Real Kafka 3.9.1 on a real ZooKeeper: it writes what ours would write, and understands what ours write."""

import asyncio
import json

import pytest
from falkirk_program import falkirk
from waiting import becomes
from zookeeper_broker import ZooKeeperBroker
from zookeeper_server import kazoo_client

from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.metadata.zookeeper.broker_znode import (
    BrokerEndpoint,
    BrokerZnode,
    broker_path,
    decode_broker,
    encode_broker,
)
from falkirk.metadata.zookeeper.cluster_id_znode import decode_cluster_id, encode_cluster_id
from falkirk.metadata.zookeeper.controller_znode import (
    decode_controller,
    decode_epoch,
    encode_controller,
    encode_epoch,
)
from falkirk.metadata.zookeeper.features_znode import decode_features, encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from falkirk.versions.api_support import Listener
from falkirk.versions.inter_broker_protocol import IBP_CONFIG
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

BROKER_ID = 7
NOTHING_FINALIZED = FeatureState(is_enabled=True)
KIP_778 = {2: True, 1: False}
OURS = BrokerZnode(
    (BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "falkirk.example", 9092),),
    "rack-ö",
    1_600_000_000_000,
    {"group_coordinator": SupportedRange(1, 2)},
)


@pytest.fixture
def broker(request, kafka_turn, chroot, tmp_path):
    settings = getattr(request, "param", None)
    broker = ZooKeeperBroker("3.9.1", BROKER_ID, chroot, home=tmp_path, settings=settings)
    broker.start()
    try:
        broker.wait_started()
        yield broker
    finally:
        broker.kill()


def requested(broker, request):
    async def ask():
        connection = NodeConnection(Endpoint("127.0.0.1", broker.layout.broker_port), ClientConfig())
        try:
            return await connection.request(request)
        finally:
            await connection.close()

    return asyncio.run(ask())


def brokers_known(broker):
    response = requested(broker, DescribeClusterRequest())
    assert isinstance(response, DescribeClusterResponse)
    return {(each.broker_id, each.host, each.port, each.rack) for each in response.brokers}


def epoch_known(broker):
    response = requested(broker, ApiVersionsRequest(client_software_name="falkirk", client_software_version="1"))
    assert isinstance(response, ApiVersionsResponse)
    return response.finalized_features_epoch


def rewritten(path, data):
    """Encode again, with our encoder, what Kafka wrote."""
    document = json.loads(data)
    if path == broker_path(BROKER_ID):
        return encode_broker(decode_broker(data, path))
    if path == "/controller":
        return encode_controller(decode_controller(data, path), int(document["timestamp"]))
    if path == "/controller_epoch":
        return encode_epoch(decode_epoch(data, path))
    if path == "/cluster/id":
        return encode_cluster_id(decode_cluster_id(data, path))
    return encode_features(decode_features(data, path), kip_778=KIP_778[document["version"]])


def test_what_kafka_writes_and_what_ours_write_is_the_same_to_both(broker, chroot):
    with kazoo_client(chroot) as client:
        for path in (broker_path(BROKER_ID), "/controller", "/controller_epoch", "/cluster/id", "/feature"):
            data, _ = client.get(path)
            assert rewritten(path, data) == data
        assert decode_controller(client.get("/controller")[0]) == BROKER_ID

        words = ("--zookeeper", chroot, "--inter-broker-protocol", "3.9", "--json")
        exported = falkirk("features", "export", *words).document
        assert exported["metadata_version"] == {"name": "3.9-IV0", "level": 21}
        assert (exported["znode"], exported["controller_id"], exported["obstacles"]) == ("/feature", BROKER_ID, [])

        # A broker of ours: the controller hears of it, and tells all brokers.
        itself = (BROKER_ID, "127.0.0.1", broker.layout.broker_port, None)
        client.create(broker_path(42), encode_broker(OURS), ephemeral=True)
        becomes(lambda: brokers_known(broker), {itself, (42, "falkirk.example", 9092, "rack-ö")})

        # Features of ours, in both versions: the broker has read them when it tells the new version of the znode.
        for epoch, kip_778 in ((1, False), (2, True)):
            client.set("/feature", encode_features(NOTHING_FINALIZED, kip_778=kip_778))
            becomes(lambda: epoch_known(broker), epoch)

        # A feature that it does not have ends it, by name.
        state = FeatureState(is_enabled=True, features={"group_coordinator": FinalizedRange(1, 2)})
        client.set("/feature", encode_features(state, kip_778=False))
        assert broker.exit_status() != 0
        assert "finalizedFeatures={group_coordinator=2}, finalizedFeaturesEpoch=3" in broker.log_text()


@pytest.mark.full
@pytest.mark.parametrize(
    "broker", [{IBP_CONFIG: ibp} for ibp in ("0.11.0", "2.6", "2.7", "3.9")], indirect=True, ids=str
)
def test_the_protocol_between_brokers_decides_on_no_version_that_clients_are_told(broker):
    """Whatever inter.broker.protocol.version a real broker has, ApiVersions has all that its release has."""
    response = requested(broker, ApiVersionsRequest(client_software_name="falkirk", client_software_version="1"))
    assert isinstance(response, ApiVersionsResponse)
    offered = {each.api_key: SupportedRange(each.min_version, each.max_version) for each in response.api_keys}
    assert offered == Release.parse("3.9").api_ranges(Listener.ZK_BROKER)
