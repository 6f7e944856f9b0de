"""`falkirk lift` on real Kafka with as many partitions as a large cluster has."""

from pathlib import Path

import pytest
from falkirk_program import log_dirs
from kafka_cluster import Clusters
from kafka_node import BROKER, CONTROLLER
from lifted_cluster import SESSIONS, under_load
from many_partitions import add_partitions

pytestmark = [pytest.mark.interop, pytest.mark.full]
PARTITIONS = 100_000
RECORD_BYTES_MIN = 80
SEPARATE = {1: (CONTROLLER,), 11: (BROKER,)}


def test_a_cluster_with_a_hundred_thousand_partitions_goes_down(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.new("4.3.1", SEPARATE, dynamic=True, settings=SESSIONS)
    cluster.format()
    with cluster.running():
        pass
    add_partitions(cluster, log_dirs(cluster), PARTITIONS, tmp_path / "before")
    cluster.start()
    with under_load(clusters, tmp_path, SEPARATE, made=cluster, limits={"step_s": 300}) as lifted:
        assert lifted.check()["blockers"] == []
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        lifted.check_voters()
    cluster.stop()
    lifted.check_no_trace()
    for path in log_dirs(cluster):
        [snapshot] = [each.stat().st_size for each in sorted(path.glob("__cluster_metadata-0/*.checkpoint"))[-1:]]
        assert snapshot > PARTITIONS * RECORD_BYTES_MIN, "every node has the partitions, at the lower level"
