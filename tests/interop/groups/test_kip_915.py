"""KIP-915's own test: three consumers of the new protocol on three brokers go down, then the brokers, then up again.

Consumers read and commit all the time, and at every step the served offsets are the acked ones. A group without members
has offsets with leader epochs and metadata, and keeps them exactly.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka as ck
import confluent_kafka.admin as ck_admin
import pytest
from committing_group import MEMBERS, PARTITIONS, TOPIC, CommittingGroup, committing_groups, steady_orders
from group_rolls import NODES, GroupRolls, KafkaGroupRolls, details
from java_client import JavaPrograms
from kafka_cluster import Clusters
from node_faults import killed
from waiting import becomes

pytestmark = pytest.mark.interop
RELEASES = {"3.7": "3.7.2", "3.9": "3.9.1", "4.3": "4.3.1"}
JAVA, LIBRDKAFKA = "java-4.3.1", "librdkafka"
LEFT = "left"
WOULD_LOSE = 3
_UNANSWERED = (ck.KafkaException,)


class Rehearsal:
    """A cluster, its groups, and the invariants of every step."""

    def __init__(self, cluster: GroupRolls, groups: list[CommittingGroup]) -> None:
        self.cluster = cluster
        self.groups = groups
        self._left = cluster.committed(LEFT)
        self._kills = 0
        assert len(self._left) == PARTITIONS

    def check(self) -> None:
        """All groups make progress and are complete; offsets are the acked ones."""
        for group in self.groups:
            group.await_progress()
            whole = ("STABLE", MEMBERS, list(range(PARTITIONS)))
            becomes(lambda name=group.name: self.cluster.members(name), whole, refusals=_UNANSWERED)
            with group.settled() as acked:
                served = self.cluster.committed(group.name)
            assert {number: offset for (_, number), (offset, _, _) in served.items()} == acked
        assert self.cluster.committed(LEFT) == self._left

    def kill_coordinator(self) -> None:
        """Kill the next coordinator of the groups; it comes back once the others have made progress without it."""
        group = self.groups[self._kills % len(self.groups)]
        self._kills += 1
        with killed(self.cluster.coordinator(group.name)):
            self.check()
        self.cluster.await_in_sync()

    def replace_consumers(self, protocol: str, *, is_killed: bool) -> None:
        """Restart each consumer with another protocol; after the first one the coordinator may be killed."""
        for number in range(MEMBERS):
            for group in self.groups:
                group.replace_one(protocol)
            self.check()
            if is_killed and number == 0:
                self.kill_coordinator()
        self.check_counts(protocol)

    def check_counts(self, protocol: str) -> None:
        """By the lists and by the metrics all groups with members are of one protocol."""
        types = self.cluster.types()
        assert {types[group.name].lower() for group in self.groups} == {protocol}
        other = {"classic": "consumer", "consumer": "classic"}[protocol]
        counts = self.cluster.counts()
        assert (counts[protocol], counts[other]) == (len(self.groups), 0)

    def refuse(self) -> None:
        """Without `--unsafe` the lowering is refused and names the groups with members of the new protocol."""
        refused = self.cluster.try_features("downgrade", "--feature", "group.version=0")
        assert refused.status == WOULD_LOSE, refused
        assert all(f"group {group.name}" in details(refused.document) for group in self.groups)
        assert LEFT not in details(refused.document)

    def go_down(self, level: str) -> None:
        """Lower the remaining levels, then roll the nodes."""
        left_to_do = self.cluster.lower("downgrade-all", "--release", level)
        self.check()
        self.kill_coordinator()
        self.cluster.roll(RELEASES[level], left_to_do)
        self.check()

    def go_up(self, level: str) -> None:
        """Roll the nodes, then raise the levels."""
        self.cluster.roll(RELEASES[level])
        self.check()
        self.cluster.features("upgrade-all", "--release", level)
        self.kill_coordinator()
        self.check()


@contextmanager
def rehearsal(cluster: GroupRolls, libraries: tuple[str, ...], folder: Path) -> Iterator[Rehearsal]:
    """Groups of the new protocol at work on a running cluster."""
    servers = cluster.bootstrap_servers
    admin = ck_admin.AdminClient({"bootstrap.servers": servers, "log_level": 0})
    admin.create_topics([ck_admin.NewTopic(TOPIC, PARTITIONS, NODES)])[TOPIC].result(30)
    cluster.await_in_sync()
    leave(servers)
    programs = JavaPrograms(folder, "GroupMembers")
    try:
        with steady_orders(servers), committing_groups(servers, libraries, "consumer", programs) as groups:
            yield Rehearsal(cluster, groups)
    finally:
        programs.close()
    assert [problem for group in groups for problem in group.problems] == []


def leave(servers: str) -> None:
    """Make a group whose only member, of the new protocol, has committed and left."""
    config = {"bootstrap.servers": servers, "group.id": LEFT, "group.protocol": "consumer", "log_level": 0}
    member = ck.Consumer(config | {"enable.auto.commit": False})
    member.subscribe([TOPIC])

    def assigned() -> int:
        member.poll(0.1)
        return len(member.assignment())

    becomes(assigned, PARTITIONS)
    offsets = [
        ck.TopicPartition(TOPIC, number, 7 * number, metadata=f"note {number}", leader_epoch=0)
        for number in range(PARTITIONS)
    ]
    member.commit(offsets=offsets, asynchronous=False)
    member.close()


def test_consumers_and_then_brokers_go_from_43_to_39_and_no_offset_is_lost(clusters: Clusters, tmp_path: Path) -> None:
    cluster = GroupRolls(RELEASES["4.3"], home=tmp_path)
    clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    with rehearsal(cluster, (JAVA,), tmp_path) as steps:
        steps.check()
        steps.refuse()
        steps.replace_consumers("classic", is_killed=True)
        left_to_do = cluster.lower("downgrade-all", "--release", "3.9")
        cluster.roll(RELEASES["3.9"], left_to_do)
        steps.check()
    assert cluster.complaints() == []


@pytest.mark.full
def test_down_to_37_and_up_again_with_a_coordinator_killed_in_each_phase(clusters: Clusters, tmp_path: Path) -> None:
    cluster = GroupRolls(RELEASES["4.3"], home=tmp_path)
    clusters.adopt(cluster)
    cluster.format()
    cluster.start()
    with rehearsal(cluster, (JAVA, LIBRDKAFKA), tmp_path) as steps:
        steps.check()
        steps.check_counts("consumer")
        steps.kill_coordinator()
        steps.refuse()
        steps.replace_consumers("classic", is_killed=True)
        cluster.lower("downgrade", "--feature", "group.version=0")
        steps.check()
        steps.kill_coordinator()
        steps.go_down("3.9")
        steps.kill_coordinator()
        steps.go_down("3.7")
        steps.kill_coordinator()
        steps.go_up("3.9")
        steps.go_up("4.3")
        steps.check_counts("classic")
        steps.replace_consumers("consumer", is_killed=True)
        steps.kill_coordinator()
    assert cluster.complaints() == []


@pytest.mark.full
def test_real_kafka_keeps_the_offsets_where_it_can_go_down_at_all(clusters: Clusters, tmp_path: Path) -> None:
    """The control. Real Kafka cannot lower metadata.version: its nodes run as 4.3 at 3.9-IV0 from the beginning."""
    cluster = KafkaGroupRolls(RELEASES["4.3"], home=tmp_path)
    clusters.adopt(cluster)
    cluster.format(release_version="3.9-IV0", arguments=["--feature", "group.version=1"])
    cluster.start()
    with rehearsal(cluster, (JAVA, LIBRDKAFKA), tmp_path) as steps:
        steps.check()
        steps.kill_coordinator()
        steps.replace_consumers("classic", is_killed=True)
        cluster.features("downgrade", "--feature", "group.version=0")
        steps.check()
        steps.kill_coordinator()
        cluster.await_snapshots()
        cluster.roll(RELEASES["3.9"])
        steps.check()
        steps.kill_coordinator()
