"""Real brokers get the requests of `data_plane_story`; ours answer the same.

With `--update-golden` their responses become tests/data/data_plane.
"""

import pytest
from data_plane_asker import NetworkAsker
from data_plane_story import Story, golden, unexpected, write_golden
from kafka_cluster import Clusters
from socket_asker import SocketAsker

from falkirk.versions.release import Release

pytestmark = pytest.mark.interop

KEPT = ("3.9.1", "4.3.1")
QUICK = "4.3.1"
RELEASES = [
    pytest.param(name, marks=[] if name == QUICK else [pytest.mark.full])
    for name in ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
]


@pytest.mark.parametrize("name", RELEASES)
def test_a_real_broker_answers_as_ours_and_as_it_did(name: str, clusters: Clusters, update_golden: bool) -> None:
    release = Release.parse(name)
    cluster = clusters.new(name)
    cluster.format()
    with cluster.running():
        asker = SocketAsker(cluster.layouts[0].broker_port)
        reported = Story(release, asker).steps()
        asker.close()
    if name in KEPT and update_golden:
        write_golden(release, reported)
    if name in KEPT:
        assert reported == golden(release)
    assert unexpected(release, ours=Story(release, NetworkAsker(name)).steps(), real=reported) == []
