"""A rebalance of 500 members: a coordinator of ours against one of real Kafka, both protocols.

Budget: not slower than Kafka, processor time of the broker first. One member leaves, or joins, and the rebalance is
over when every partition of the topic (as many as there are members) is assigned again, and all members are of one
generation or epoch. Each member has a connection of its own, heartbeats as soon as the coordinator could have news for
it, and never waits; the members (the same program for both sides) use processor time, too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from support.brokers import Side, both_sides, create_topics
from support.group_members import (
    PATIENT_PROPERTIES,
    GroupMembers,
    Membership,
    await_coordinator,
    classic_member,
    consumer_member,
    topic_id_of,
)
from support.kafka_peer import Peer, measure_against_kafka
from support.line import print_line
from support.process import cpu_seconds

MEMBERS = 500
PARTITIONS = MEMBERS
TOPIC = "read"
TURNS = 5
WARM_UP_TURNS = 5
CLASSIC = "classic"
CONSUMER = "consumer"
PROPERTIES = {
    **PATIENT_PROPERTIES,
    "group.consumer.max.size": 2 * MEMBERS,
    # Kafka lets assignments wait for more changes, a second by default; and it lets the first members wait.
    "group.consumer.assignment.interval.ms": 0,
    "group.initial.rebalance.delay.ms": 1_000,
}


@dataclass
class Group:
    """A group of one side, and the cost of its rebalances."""

    side: Side
    protocol: str
    topic_id: bytes
    members: GroupMembers
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    count: int = 0

    def join(self) -> None:
        self.count += 1
        self.members.add(
            classic_member(self.protocol, TOPIC, PARTITIONS)
            if self.protocol == CLASSIC
            else consumer_member(self.protocol, TOPIC, self.topic_id, self.count)
        )

    def leave(self) -> None:
        self.members.remove(self.members.memberships[0])

    def settle(self) -> None:
        """Let the members heartbeat until the group is complete."""
        self.members.hurry()
        self.members.run(self.is_settled)

    def is_settled(self) -> bool:
        memberships: list[Membership] = self.members.memberships
        epochs = {member.epoch for member in memberships}
        return len(epochs) == 1 and sum(len(member.assigned) for member in memberships) == PARTITIONS

    def rebalance(self, change: Callable[[], None]) -> None:
        """Measure one rebalance."""
        cpu, start = cpu_seconds(self.side.server.pid), time.perf_counter()
        change()
        self.settle()
        self.seconds.append(time.perf_counter() - start)
        self.cpu_seconds.append(cpu_seconds(self.side.server.pid) - cpu)


def measure(kafka: Peer) -> None:
    with both_sides(kafka, PROPERTIES) as sides:
        for side in sides:
            create_topics(side.port, [TOPIC], partitions=PARTITIONS)
        for protocol in (CLASSIC, CONSUMER):
            groups = [formed(side, protocol) for side in sides]
            for group in groups:
                for _ in range(WARM_UP_TURNS):
                    group.rebalance(group.leave)
                    group.rebalance(group.join)
            for name, change in (("leaves", Group.leave), ("joins", Group.join)):
                for group in groups:
                    group.seconds.clear()
                    group.cpu_seconds.clear()
                for _ in range(TURNS):
                    for group in groups:
                        group.rebalance(lambda group=group, change=change: change(group))
                ours, theirs = groups
                print_line(
                    f"rebalance of {MEMBERS}, {protocol}, one {name}, CPU",
                    ours.cpu_seconds,
                    theirs.cpu_seconds,
                    budget=1,
                    wall=(ours.seconds, theirs.seconds),
                )
            for group in groups:
                group.members.close()


def formed(side: Side, protocol: str) -> Group:
    """Let all members join."""
    await_coordinator(side.port, protocol)
    group = Group(side, protocol, topic_id_of(side.port, TOPIC), GroupMembers(side.port))
    for _ in range(MEMBERS):
        group.join()
    group.members.run(group.is_settled)
    return group


if __name__ == "__main__":
    measure_against_kafka("group_rebalance", measure)
