"""Directories of real Kafka, opened by our nodes as the release that wrote them, and read again afterwards."""

from random import Random

import pytest
from archives import unpack_cluster
from stopped_clusters import cluster_at

from falkirk.node.config.node_config import CONTROLLER, Listener, NodeConfig
from falkirk.node.effects import Stop
from falkirk.node.events import ShutdownRequested
from falkirk.node.node import Node
from falkirk.protocol.endpoint import Endpoint
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.release import Release

ENDPOINT = Endpoint("127.0.0.1", 9093)
NOW_MS = 1_800_000_000_000


def config(release: str, log_dirs: list[str]) -> NodeConfig:
    is_static = release in {"3.7.2", "3.9.1", "4.0.0"}
    return NodeConfig(
        release=Release.parse(release),
        node_id=1,
        process_roles=frozenset({CONTROLLER}),
        listeners=(
            Listener(
                name="CONTROLLER",
                security_protocol="PLAINTEXT",
                endpoint=ENDPOINT,
                advertised=ENDPOINT,
                is_controller=True,
            ),
        ),
        controller_listener_names=("CONTROLLER",),
        quorum_voters={1: ENDPOINT} if is_static else None,
        quorum_bootstrap_servers=() if is_static else (ENDPOINT,),
        log_dirs=tuple(log_dirs),
        metadata_log_dir=log_dirs[0],
    )


def run_until_active(node: Node) -> int:
    """A lone voter needs nobody; connections that it asks for stand open and bring nothing."""
    now_ms = NOW_MS
    while not node.is_active_controller:
        node.step([], now_ms)
        now_ms = max(node.next_wakeup_ms, now_ms + 1)
        assert now_ms < NOW_MS + 60_000
    return now_ms


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0"])
def test_a_controller_goes_on_where_kafka_stopped_and_leaves_what_was_there(release, tmp_path):
    folder = unpack_cluster(release, tmp_path)
    log_dirs = sorted(str(path.parent) for path in folder.rglob("meta.properties"))
    before = cluster_at(folder)

    node = Node(config(release, log_dirs), PosixDisk(), Random(1), NOW_MS)
    now_ms = run_until_active(node)
    assert node.image.has_same_content(before.image)
    effects = node.step([ShutdownRequested()], now_ms + 1)
    assert [effect.exit_code for effect in effects if isinstance(effect, Stop)] == [0]

    after = cluster_at(folder)
    assert after.epoch == before.epoch + 1
    assert after.end_offset > before.end_offset
    assert after.image.has_same_content(before.image)
