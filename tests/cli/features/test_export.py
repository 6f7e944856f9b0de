"""`falkirk features export`, on a real ZooKeeper."""

import json
import socket
import sys

import pytest
from znodes import KAFKA
from zookeeper_server import kazoo_client

from falkirk.metadata.zookeeper.broker_znode import BrokerEndpoint, BrokerZnode, encode_broker
from falkirk.metadata.zookeeper.cluster_id_znode import encode_cluster_id
from falkirk.metadata.zookeeper.controller_znode import encode_controller
from falkirk.metadata.zookeeper.features_znode import encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.operations import zookeeper_export
from falkirk.versions.inter_broker_protocol import feature_level, parse
from falkirk.versions.supported_range import SupportedRange

CLUSTER_ID = "C7bHWm31Se-ts3SnmfUn9g"
STATE = FeatureState(
    is_enabled=True,
    features={
        "group.version": FinalizedRange(1, 1),
        "group_coordinator": FinalizedRange(1, 2),
        "ibp-feature": FinalizedRange(1, feature_level(parse("3.9"))),
        "transaction.version": FinalizedRange(2, 2),
    },
)
LOST = "the minimum 2 is lost: KRaft keeps none (KIP-778)"
FEATURES = "--feature group.version=1 --feature transaction.version=2"
SUPPORTED = {name: SupportedRange(1, levels.max_level) for name, levels in STATE.features.items()}


def broker(features=SUPPORTED, host="kafka-1"):
    point = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", host, 9092)
    return encode_broker(BrokerZnode((point,), None, 1_600_000_000_000, features))


def features(state=STATE):
    return encode_features(state, kip_778=False)


def fill(connect, znodes):
    with kazoo_client(connect) as client:
        for path, data in znodes.items():
            client.create(path, data, makepath=True)


def sessions(server):
    """Ask the server which sessions it has."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"dump")
        answer = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    assert answer.startswith("SessionTracker dump:")
    return {line.strip() for line in answer.splitlines() if line.startswith("\t0x")}


CLUSTER = {
    "/features": features(),
    "/brokers/ids/1": broker(),
    "/brokers/ids/2": broker(host="kafka-2"),
    "/cluster/id": encode_cluster_id(CLUSTER_ID),
    "/controller": encode_controller(2, 1_600_000_000_000),
}


@pytest.mark.zookeeper
def test_a_state_is_told_with_what_it_is_in_kraft(falkirk, chroot):
    fill(chroot, CLUSTER)
    answer = falkirk("features", "export", "--zookeeper", chroot)
    supported = "group.version 1, group_coordinator 1-2, ibp-feature 1-27, transaction.version 1-2"
    assert answer.stdout.splitlines() == [
        f"ZooKeeper: {chroot}",
        f"Cluster id: {CLUSTER_ID}",
        "Finalized features: /features, epoch 0, enabled",
        "inter.broker.protocol.version: 3.9-IV0 (by ibp-feature), in KRaft metadata.version 3.9-IV0 (level 21)",
        "",
        "FEATURE             MIN MAX IN KRAFT",
        "group.version       1   1   group.version 1, from Kafka 4.0 on",
        "group_coordinator   1   2   none: KRaft has no feature of this name",
        "ibp-feature         1   27  metadata.version 3.9-IV0, from Kafka 3.9 on",
        f"transaction.version 2   2   transaction.version 2, from Kafka 4.0 on ({LOST})",
        "",
        f"Broker 1 supports {supported}",
        f"Broker 2, the controller, supports {supported}",
        "",
        "To format with Kafka 3.9.1 (falkirk storage format --release 3.9):",
        f"  --cluster-id {CLUSTER_ID} --release-version 3.9-IV0",
        "",
        "To format with Kafka 4.0.0 (falkirk storage format --release 4.0):",
        f"  --cluster-id {CLUSTER_ID} --release-version 3.9-IV0 {FEATURES}",
    ]
    assert (answer.exit_code, answer.stderr) == (0, "")


@pytest.mark.zookeeper
def test_what_is_told_to_format_with_formats(falkirk, chroot, tmp_path):
    fill(chroot, CLUSTER)
    document = json.loads(falkirk("features", "export", "--zookeeper", chroot, "--json").stdout)
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={tmp_path / 'data'}\n"
    )
    formatted = []
    for each in document["formats"]:
        words = ["--cluster-id", document["cluster_id"], "--release", each["release"], *each["arguments"]]
        answer = falkirk("storage", "format", "--config", config, *words, "--ignore-formatted", "--json")
        assert answer.exit_code == 0, answer.stderr
        formatted.append((each["release"], json.loads(answer.stdout)["metadata_version"]["name"]))
    assert formatted == [("3.9.1", "3.9-IV0"), ("4.0.0", "3.9-IV0")]


@pytest.mark.zookeeper
def test_the_same_is_told_as_a_document(falkirk, chroot):
    fill(chroot, CLUSTER | {"/brokers/ids/3": broker(None)})
    answer = falkirk("features", "export", "--zookeeper", chroot, "--json")
    document = json.loads(answer.stdout)
    assert answer.exit_code == 1
    assert document["obstacles"] == [
        "broker 3 does not advertise supported features: its inter.broker.protocol.version is below 2.7-IV0"
    ]
    assert (document["znode"], document["epoch"], document["enabled"]) == ("/features", 0, True)
    assert (document["cluster_id"], document["controller_id"]) == (CLUSTER_ID, 2)
    assert document["inter_broker_protocol"] == {"name": "3.9-IV0", "source": "ibp-feature"}
    assert document["metadata_version"] == {"name": "3.9-IV0", "level": 21}
    assert document["features"][0] == {
        "feature": "group.version",
        "min_level": 1,
        "max_level": 1,
        "kraft_feature": "group.version",
        "kraft_level": 1,
        "since": "4.0.0",
        "remarks": [],
    }
    assert document["brokers"][0]["endpoints"] == ["PLAINTEXT://kafka-1:9092"]
    assert document["brokers"][0]["supported"][1] == {
        "feature": "group_coordinator",
        "min_version": 1,
        "max_version": 2,
    }
    assert document["brokers"][2]["supported"] is None
    assert [each["release"] for each in document["formats"]] == ["3.9.1", "4.0.0"]


@pytest.mark.zookeeper
def test_both_znodes_are_looked_at_unless_one_is_named(falkirk, chroot):
    fill(chroot, {"/features": features(), "/feature": KAFKA["brokers"]["no_settings"]["/feature"].encode()})

    def znode(*words):
        document = json.loads(falkirk("features", "export", "--zookeeper", chroot, "--json", *words).stdout)
        return document["znode"], len(document["features"])

    assert znode() == ("/features", 4)
    assert znode("--path", "/feature") == ("/feature", 0)
    with kazoo_client(chroot) as client:
        client.delete("/features")
    assert znode() == ("/feature", 0)


@pytest.mark.zookeeper
def test_the_znodes_of_kafka_are_told_with_the_protocol_that_is_given(falkirk, chroot):
    fill(chroot, {path: text.encode() for path, text in KAFKA["brokers"]["no_settings"].items()})
    answer = falkirk("features", "export", "--zookeeper", chroot, "--inter-broker-protocol", "3.8")
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[2:6] == [
        "Finalized features: /feature, epoch 0, enabled",
        "inter.broker.protocol.version: 3.8-IV0, in KRaft metadata.version 3.8-IV0 (level 20)",
        "",
        "Broker 7, the controller, supports no features",
    ]
    unknown = falkirk("features", "export", "--zookeeper", chroot)
    assert unknown.exit_code == 1
    assert "inter.broker.protocol.version: -" in unknown.stdout.splitlines()
    assert "  nothing says which inter.broker.protocol.version the brokers have" in unknown.stdout


@pytest.mark.zookeeper
def test_a_cluster_that_never_had_the_znode_is_told_too(falkirk, chroot):
    fill(chroot, {"/brokers/ids": b""})
    answer = falkirk("features", "export", "--zookeeper", chroot, "--inter-broker-protocol", "2.6")
    assert "Finalized features: none: there is no znode for them" in answer.stdout.splitlines()
    assert "No broker is up." in answer.stdout.splitlines()
    assert "  2.6-IV0 is no metadata.version: the first is 3.0-IV1" in answer.stdout.splitlines()
    assert answer.exit_code == 1


@pytest.mark.zookeeper
@pytest.mark.parametrize(
    ("znodes", "words", "message"),
    [
        ({}, (), "no Kafka is there: neither /features nor /feature nor /brokers/ids"),
        ({"/features": features(), "/brokers/ids": b""}, ("--path", "/other"), "there is no znode /other"),
        ({"/features": b""}, (), "znode /features: it is empty"),
        ({"/features": b'{"version":1,"status":1}'}, (), "znode /features: features is missing"),
    ],
)
def test_what_is_not_there_or_not_meant_is_one_line(falkirk, chroot, znodes, words, message):
    fill(chroot, znodes)
    answer = falkirk("features", "export", "--zookeeper", chroot, *words)
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr in {f"{message}\n", f"ZooKeeper {chroot}: {message}\n"}


@pytest.mark.zookeeper
def test_other_znodes_that_cannot_be_meant_are_told_with_the_rest(falkirk, chroot):
    fill(chroot, CLUSTER | {"/brokers/ids/3": b"{}", "/brokers/ids/x": b""})
    with kazoo_client(chroot) as client:
        client.set("/cluster/id", b"?")
        client.set("/controller", b"")
    answer = falkirk("features", "export", "--zookeeper", chroot)
    assert answer.exit_code == 1
    told = answer.stdout.splitlines()
    start = told.index("In the way:")
    assert told[start + 1 : start + 4] == [
        "  znode /cluster/id: it is not JSON: Expecting value (character 0)",
        "  znode /controller: it is empty",
        "  znode /brokers/ids/3: version is missing",
    ]
    assert "  --release-version 3.9-IV0" in told


@pytest.mark.zookeeper
def test_no_session_is_left_behind_and_nothing_is_changed(falkirk, chroot, zookeeper):
    fill(chroot, CLUSTER)
    before = sessions(zookeeper)
    assert falkirk("features", "export", "--zookeeper", chroot).exit_code == 0
    assert falkirk("features", "export", "--zookeeper", chroot, "--path", "/nothing").exit_code == 1
    assert sessions(zookeeper) <= before
    with kazoo_client(chroot) as client:
        assert sessions(zookeeper) - before
        assert {path: client.get(path)[0] for path in CLUSTER} == CLUSTER
        assert client.get("/features")[1].version == 0


def test_a_server_that_is_not_there_is_one_line(falkirk, monkeypatch):
    monkeypatch.setattr(zookeeper_export, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    answer = falkirk("features", "export", "--zookeeper", f"127.0.0.1:{port}/kafka")
    assert answer == (1, "", f"ZooKeeper 127.0.0.1:{port} does not answer within 0.2 s\n")


def test_a_server_that_says_nothing_is_one_line(falkirk, monkeypatch):
    monkeypatch.setattr(zookeeper_export, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        answer = falkirk("features", "export", "--zookeeper", f"127.0.0.1:{port}")
    assert answer == (1, "", f"ZooKeeper 127.0.0.1:{port} does not answer within 0.2 s\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--zookeeper", "/chroot"), "--zookeeper: '/chroot' names no server"),
        (("--zookeeper", "h:port"), "--zookeeper: h:port is not host:port"),
        (("--zookeeper", "h:1", "--path", "features"), "--path: features is not the path of a znode"),
        (("--zookeeper", "h:1", "--path", "/"), "--path: / is not the path of a znode"),
    ],
)
def test_an_address_or_a_path_that_is_none_is_wrong_usage(falkirk, words, message):
    assert falkirk("features", "export", *words) == (2, "", f"{message}\n")


def test_a_protocol_that_is_none_is_refused_before_anyone_is_asked(falkirk):
    answer = falkirk("features", "export", "--zookeeper", "127.0.0.1:1", "--inter-broker-protocol", "1.x")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("unknown inter.broker.protocol.version '1.x': known are 0.8.0 to ")


def test_without_kazoo_the_extra_is_named(falkirk, monkeypatch):
    monkeypatch.setitem(sys.modules, "kazoo.client", None)
    monkeypatch.delitem(sys.modules, "falkirk.operations.zookeeper_export")
    answer = falkirk("features", "export", "--zookeeper", "127.0.0.1:1")
    extra = "ZooKeeper commands need the extra `zookeeper` (pip install 'falkirk[zookeeper]')"
    assert answer == (1, "", f"kazoo is not installed: {extra}\n")
