"""Directories of brokers that coordinate groups move from ours to Kafka and back: the tools show the same groups."""

from pathlib import Path
from typing import Any

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin
import pytest
from falkirk_node import OurCluster
from group_offsets import committed
from kafka.errors import KafkaError
from kafka_cluster import Clusters, KafkaCluster
from live_groups import CLASSIC, MODERN, ORDERS, Members, commit_without_members, leave_groups, make_topics
from waiting import becomes

pytestmark = pytest.mark.interop
# Members that are gone without a word are shown until their sessions end.
_STATIC = {"group.instance.id": "instance-1", "session.timeout.ms": "600000"}


def described_groups(cluster: KafkaCluster) -> dict[str, Any]:
    """What an administrator sees of every group."""
    admin = ck_admin.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    listed = admin.list_consumer_groups().result(60)
    assert listed.errors == []
    groups = {one.group_id: (one.state.name, one.type.name, one.is_simple_consumer_group) for one in listed.valid}
    described = admin.describe_consumer_groups(list(groups)) if groups else {}
    found: dict[str, Any] = {}
    for name, listing in groups.items():
        group = described[name].result(60)
        members = [
            (member.member_id, member.group_instance_id, member.client_id, member.host, _places(member.assignment))
            for member in group.members
        ]
        offsets = sorted(committed(cluster.bootstrap_servers, name).items())
        found[name] = (listing, group.state.name, group.partition_assignor, sorted(members), offsets)
    return found


def _places(assignment: Any) -> list[tuple[str, int]]:
    return sorted((one.topic, one.partition) for one in assignment.topic_partitions)


def make_groups(cluster: KafkaCluster, *, has_consumer_protocol: bool) -> None:
    """Make a group with a member, one without members any more, one with offsets only; of the new protocol too."""
    servers = cluster.bootstrap_servers
    make_topics(servers)
    leave_groups(servers, "classic-left", *(["modern-left"] if has_consumer_protocol else []))
    commit_without_members(servers, "simple", [(ORDERS, 0, 3)])
    for name, config in (("classic-static", CLASSIC), ("modern-static", MODERN))[: 1 + has_consumer_protocol]:
        members = Members(servers, name, [_without_sessions(config | _STATIC)], [ORDERS])
        members.await_assignment(3)
        members.commit([(ORDERS, 1, 6)])
        members.close()


def _without_sessions(config: dict[str, str]) -> dict[str, str]:
    """Sessions of the new protocol are the coordinator's."""
    if "group.protocol" in config:
        return {key: value for key, value in config.items() if key != "session.timeout.ms"}
    return config


@pytest.mark.parametrize(
    "release",
    ["3.9.1", *(pytest.param(each, marks=pytest.mark.full) for each in ("3.7.2", "4.0.0", "4.3.1", "4.4.0"))],
)
def test_the_groups_are_the_same_whoever_opens_the_log(clusters: Clusters, tmp_path: Path, release: str) -> None:
    ours = clusters.adopt(OurCluster.new(release, tmp_path))
    ours.format()
    with ours.running():
        make_groups(ours, has_consumer_protocol=not release.startswith("3."))
        before = described_groups(ours)
    assert len(before) >= 3

    real = clusters.adopt(KafkaCluster(release, ours.layouts, home=tmp_path / "real", settings=ours.settings))
    with real.running():
        becomes(lambda: described_groups(real), before, refusals=(AssertionError, ck.KafkaException, KafkaError))
        commit_without_members(real.bootstrap_servers, "simple", [(ORDERS, 0, 5), (ORDERS, 2, 1)])
        leave_groups(real.bootstrap_servers, "classic-new")
        after = described_groups(real)
    assert after["simple"] != before["simple"]

    again = clusters.adopt(OurCluster(release, ours.layouts, home=tmp_path / "again", settings=ours.settings))
    with again.running():
        becomes(lambda: described_groups(again), after, refusals=(AssertionError, ck.KafkaException, KafkaError))
