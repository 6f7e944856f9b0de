"""transaction.version goes down and up on a running cluster while clients of both kinds move records exactly once.

librdkafka, kafka-python, aiokafka and Java's client of 3.9.1 add partitions themselves at every level; that of 4.3.1
switches to KIP-890's way whenever level 2 is finalized, and back.
"""

from pathlib import Path

import pytest
from falkirk_program import falkirk
from kafka_cluster import Clusters
from test_transfers import RECORDS, started
from transfers import TransferRun
from waiting import becomes

from falkirk.client.blocking_admin import Admin
from falkirk.client.config import ClientConfig, parse_servers

pytestmark = pytest.mark.interop
FEATURE = "transaction.version"
OLD, NEW = "librdkafka", "java-4.3.1"
ALL = (OLD, "kafka-python", "aiokafka", "java-3.9.1", NEW)
# Twice down step by step, once at a stroke.
LEVELS = (1, 0, 1, 2, 0, 2, 1, 0, 2)


def finalized(servers: str) -> int:
    with Admin(parse_servers(servers), ClientConfig()) as admin:
        levels = admin.describe_features().finalized_features.get(FEATURE)
    return 0 if levels is None else levels.max_version_level


def move(servers: str, level: int, *, aborts: bool) -> None:
    """Finalize a level. Down, it waits for transactions that are open, or aborts them."""
    target = ["--bootstrap-server", servers, "--feature", f"{FEATURE}={level}"]
    if level > finalized(servers):
        ended = falkirk("features", "upgrade", *target)
    else:
        ended = falkirk("features", "downgrade", *target, "--unsafe", *(["--abort-transactions"] if aborts else []))
    assert ended.status == 0, ended
    for server in servers.split(","):
        becomes(lambda server=server: finalized(server), level)


@pytest.mark.parametrize(
    ("libraries", "levels"), [((OLD, NEW), LEVELS[:4]), pytest.param(ALL, LEVELS, marks=pytest.mark.full)]
)
def test_every_record_is_moved_once_at_all_levels(
    libraries: tuple[str, ...], levels: tuple[int, ...], clusters: Clusters, tmp_path: Path
) -> None:
    cluster = started("falkirk", "4.3.1", clusters, tmp_path)
    servers = cluster.bootstrap_servers
    run = TransferRun(cluster, libraries, tmp_path)
    assert finalized(servers) == 2
    try:
        run.feed(RECORDS)
        run.settle()
        for number, level in enumerate(levels):
            run.feed(RECORDS)
            run.run_for(0.5)
            move(servers, level, aborts=number % 2 == 1)
            run.feed(RECORDS)
            run.settle()
        run.finish()
    finally:
        run.stop()
