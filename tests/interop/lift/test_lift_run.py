"""A lift of real Kafka with an extra voter: the level falls under load, nothing acked is lost, no trace is left."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from client_load import client_loads
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_node import BROKER, CONTROLLER, KafkaNode
from kafka_ports import free_ports

from falkirk.client.config import ClientConfig
from falkirk.lift.lift import Lift, LiftConnections
from falkirk.lift.lift_file import LiftFile, read_lift_file

pytestmark = pytest.mark.interop
EXTRA = 9001
BOOTSTRAP = "bootstrap.checkpoint"
ONE = {1: COMBINED}
THREE = dict.fromkeys((1, 2, 3), COMBINED)
SEPARATE = {1: (CONTROLLER,), 2: (CONTROLLER,), 3: (CONTROLLER,), 11: (BROKER,), 12: (BROKER,), 13: (BROKER,)}
LIBRARIES = ("librdkafka", "java-4.3.1")


def written(tmp_path: Path, cluster: KafkaCluster, fields: Mapping[str, object]) -> LiftFile:
    """Write a lift file for a cluster, and read it."""
    [port] = free_ports(1)
    path = tmp_path / "lift.yaml"
    document = {
        "bootstrap_servers": cluster.bootstrap_servers.split(","),
        "target": "3.9",
        "place": {"node_id": EXTRA, "listener": f"127.0.0.1:{port}", "directory": "lift-controller"},
        **fields,
    }
    path.write_text(yaml.safe_dump(document))
    return read_lift_file(path)


def lift_of(file: LiftFile) -> Lift:
    return Lift(file, LiftConnections(brokers=ClientConfig(), controllers=ClientConfig()))


def with_older_binaries(node: KafkaNode, release: str) -> None:
    """Restart a node as an older release, as after `lift prepare`."""
    node.run_as(release, without=[BOOTSTRAP])


@pytest.mark.parametrize(
    "roles",
    [
        pytest.param(ONE, id="one"),
        pytest.param(THREE, id="three"),
        pytest.param(SEPARATE, id="separate", marks=pytest.mark.full),
    ],
)
def test_a_cluster_goes_down_and_no_trace_is_left(clusters: Clusters, tmp_path: Path, roles) -> None:
    brokers = sum(BROKER in each for each in roles.values())
    cluster = clusters.new("4.3.1", roles, dynamic=True)
    cluster.format()
    cluster.start()
    with client_loads(LIBRARIES, cluster.bootstrap_servers, tmp_path, replication_factor=brokers) as loads:
        lift = lift_of(written(tmp_path, cluster, {}))
        entries = asyncio.run(lift.run())
        loads.await_rounds(2)
        assert [entry.step for entry in entries if entry.event == "done"] == [
            *("observe", "join", "lead", "lower", "follow", "return", "leave", "end")
        ]
        assert entries[-1].event == "finished"
        status = asyncio.run(lift.status())
        assert status.level == "3.9-IV0"
        assert status.quorum is not None
        assert status.originals is not None
        assert tuple(status.quorum.voters.values()) == status.originals.voters
        assert EXTRA not in status.quorum.observers
        loads.check()
    cluster.stop()
    print([(entry.step, entry.fields) for entry in entries if entry.event == "done"])
    for layout in cluster.layouts:
        [metadata] = [path for log_dir in layout.log_dirs for path in log_dir.glob("__cluster_metadata-0")]
        newest = max(metadata.glob("*.checkpoint"))
        assert b"falkirk" not in newest.read_bytes()
