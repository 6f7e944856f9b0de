"""`falkirk groups` beside kafka-consumer-groups and kafka-groups of 4.3.1: the same answers about the same groups."""

import pytest
from falkirk_node import OurCluster
from falkirk_program import Ended, falkirk
from group_calls import CHANGED, OUR_OWN, TOOLS_OWN, changing_pairs, reading_pairs
from group_differences import RULES, difference, documented
from kafka_cluster import Clusters, KafkaCluster
from live_groups import LONG_TOPIC, ORDERS, commit_without_members, leave_groups, live_groups, make_topics

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.client.event_loop import run
from falkirk.protocol.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource

CHECK = ("groups", "check", "--to", "3.9", "--json")
pytestmark = pytest.mark.interop


@pytest.mark.parametrize("kind", [KafkaCluster, pytest.param(OurCluster, marks=pytest.mark.full)])
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
        set_group_config(servers, "modern-left", "consumer.session.timeout.ms", "1800000")
        running = check(servers)
        removed = check(servers, "--delete-group-configs")
        again = check(servers)
    found = [(pair, difference(pair)) for pair in answers]
    wrong = [(pair.call, pair.tool, pair.falkirk) for pair, row in found if row is None]
    assert "\n".join(map(str, wrong)) == ""
    assert {row for _, row in found} == {"", *RULES}
    assert sum(row == "" for _, row in found) > len(found) / 2
    check_the_checks(running, removed, again, stopped=falkirk(*CHECK, cluster.layouts[0].log_dirs[0]))


def check(servers: str, *options: str) -> Ended:
    return falkirk(*CHECK, "--bootstrap-server", servers, *options)


def set_group_config(servers: str, group: str, name: str, value: str) -> None:
    async def ask() -> None:
        async with AsyncAdmin(parse_servers(servers), ClientConfig()) as admin:
            config = AlterableConfig(name=name, value=value)
            resource = AlterConfigsResource(resource_type=32, resource_name=group, configs=[config])
            answer = await admin.request(IncrementalAlterConfigsRequest(resources=[resource]))
            assert isinstance(answer, IncrementalAlterConfigsResponse)
            assert [each.error_code for each in answer.responses] == [0]

    run(ask())


def check_the_checks(running: Ended, removed: Ended, again: Ended, *, stopped: Ended) -> None:
    """`check` reports the same of a running cluster and of its directories; what is removed is gone."""
    verdicts = {each["group"]: each["verdict"] for each in stopped.document["groups"]}
    assert verdicts == {
        "classic-left": "readable",
        "classic-live": "readable",
        "modern-left": "appears_empty",
        "modern-live": "appears_empty",
        "simple": "readable",
        "static-live": "readable",
    }
    reported = ("groups", "partitions", "skipped")
    for ended in (running, again):
        assert {key: ended.document[key] for key in reported} == {key: stopped.document[key] for key in reported}
    [config] = running.document["group_configs"]
    assert (config["where"], config["name"]) == ("modern-left", "consumer.session.timeout.ms")
    assert removed.document["removed_group_configs"] == [config]
    assert again.document["group_configs"] == stopped.document["group_configs"] == []
    assert {ended.status for ended in (running, removed, again, stopped)} == {3}


def test_the_differences_are_those_that_the_compatibility_page_lists():
    assert documented() == [*RULES]
