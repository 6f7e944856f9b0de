"""`falkirk groups` beside kafka-consumer-groups and kafka-groups of 4.3.1: the same answers of the same groups."""

import pytest
from falkirk_node import OurCluster
from group_calls import CHANGED, OUR_OWN, TOOLS_OWN, changing_pairs, reading_pairs
from group_differences import RULES, difference, documented
from kafka_cluster import Clusters, KafkaCluster
from live_groups import LONG_TOPIC, ORDERS, commit_without_members, leave_groups, live_groups, make_topics

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-2")]


@pytest.mark.parametrize("kind", [KafkaCluster, OurCluster])
def test_falkirk_tells_and_changes_groups_as_the_tools_do(clusters: Clusters, tmp_path, kind):
    cluster = clusters.adopt(kind.new("4.3.1", tmp_path / "cluster"))
    cluster.format()
    with cluster.running():
        servers = cluster.bootstrap_servers
        make_topics(servers)
        leave_groups(servers, "classic-left", "modern-left")
        offsets = [(ORDERS, 0, 3), (LONG_TOPIC, 0, 7)]
        commit_without_members(servers, "simple", offsets)
        with live_groups(servers):
            answers = list(reading_pairs(servers, tmp_path))
            for group in (f"{name}-{side}" for name in CHANGED for side in (TOOLS_OWN, OUR_OWN)):
                commit_without_members(servers, group, offsets)
            answers += changing_pairs(servers)
    found = [(pair, difference(pair)) for pair in answers]
    wrong = [(pair.call, pair.tool, pair.falkirk) for pair, row in found if row is None]
    assert "\n".join(map(str, wrong)) == ""
    assert {row for _, row in found} == {"", *RULES}
    assert sum(row == "" for _, row in found) > len(found) / 2


def test_the_differences_are_those_that_the_compatibility_page_lists():
    assert documented() == [*RULES]
