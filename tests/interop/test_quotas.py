"""Quotas that are used up: a real broker and ours throttle and refuse alike."""

from itertools import count

import pytest
from data_plane_asker import NetworkAsker
from kafka_cluster import Clusters
from quota_story import QuotaStory
from socket_asker import SocketAsker

pytestmark = pytest.mark.interop
# Rates are measured at the moment, and Kafka counts the heads of requests and responses as well.
_TOLERANCE_MS = 1000


@pytest.mark.full
@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_a_real_broker_throttles_as_ours(release: str, clusters: Clusters) -> None:
    ours = list(QuotaStory(NetworkAsker(release)).outcomes())
    cluster = clusters.new(release)
    cluster.format()
    with cluster.running():
        asker = SocketAsker(cluster.layouts[0].broker_port)
        real = list(QuotaStory(asker).outcomes())
        asker.close()
    assert [outcome[:2] for outcome in ours] == [outcome[:2] for outcome in real]
    for own, reported in zip(ours, real, strict=True):
        assert (own.throttle_ms > 0) == (reported.throttle_ms > 0), reported
        assert abs(own.throttle_ms - reported.throttle_ms) < _TOLERANCE_MS, (own, reported)


@pytest.mark.full
@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_a_real_broker_throttles_for_the_time_of_requests_as_ours(release: str, clusters: Clusters) -> None:
    ours = list(QuotaStory(NetworkAsker(release, thread_ns=count(step=1_000_000).__next__)).request_outcomes())
    cluster = clusters.new(release)
    cluster.format()
    with cluster.running():
        asker = SocketAsker(cluster.layouts[0].broker_port)
        real = list(QuotaStory(asker).request_outcomes())
        asker.close()
    # One window each: Kafka's bound, however long the requests took.
    assert real == ours
