"""Heartbeats of members without changes: a broker of ours against one of real Kafka, both protocols.

Budgets: >= 1.3x the processor time per request, >= 1x by the clock. 16 members of four groups on a connection each;
each of them joined before, and nothing changes. The end of each turn checks that each is still a member.
"""

from collections.abc import Sequence
from functools import partial

from falkirk.coordinator.membership.consumer_membership import ConsumerMembership
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from falkirk.protocol.schema import WireMessage
from support.brokers import WINDOW_MS, Side, both_sides, create_topics, print_turns, warm_up
from support.group_members import (
    PATIENT_PROPERTIES,
    VERSIONS,
    GroupMembers,
    Membership,
    await_coordinator,
    classic_member,
    consumer_member,
    topic_id_of,
)
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Measured, Work, ask, run_load

TURNS = 3
GROUPS = 4
MEMBERS = 4
TOPIC = "read"
WARM_UP_MS = 1_000
MEASURED_MS = 2_000
IN_FLIGHT = (1, 8)
CLASSIC = "classic"
CONSUMER = "consumer"


def measure(kafka: Peer) -> None:
    with both_sides(kafka, PATIENT_PROPERTIES) as sides:
        for side in sides:
            create_topics(side.port, [TOPIC], partitions=MEMBERS)
        for protocol in (CLASSIC, CONSUMER):
            requests = [heartbeats(side.port, protocol) for side in sides]
            for side, asked in zip(sides, requests, strict=True):
                warm_up(partial(window, kafka, side, asked))
            for in_flight in IN_FLIGHT:
                turns = [
                    run(kafka, sides, requests, in_flight, warm_up_ms=WARM_UP_MS, measured_ms=MEASURED_MS)
                    for _ in range(TURNS)
                ]
                name = f"heartbeats, {protocol}, {GROUPS * MEMBERS} x {in_flight}"
                print_turns(name, turns, budget=1.3, wall_budget=1)


def window(kafka: Peer, side: Side, asked: Sequence[WireMessage], _: int) -> Measured:
    (measured,) = run(kafka, [side], [asked], max(IN_FLIGHT), warm_up_ms=0, measured_ms=WINDOW_MS)
    return measured


def run(
    kafka: Peer,
    sides: Sequence[Side],
    requests: Sequence[Sequence[WireMessage]],
    in_flight: int,
    *,
    warm_up_ms: int,
    measured_ms: int,
) -> list[Measured]:
    """Load the sides, each with the heartbeats of its members, who are members at the end."""
    works = [Work(request=first, others=others, version=VERSIONS[type(first)]) for first, *others in requests]
    found = run_load(
        kafka,
        [side.target(work) for side, work in zip(sides, works, strict=True)],
        connections=GROUPS * MEMBERS,
        in_flight=in_flight,
        warm_up_ms=warm_up_ms,
        measured_ms=measured_ms,
    )
    for side, asked in zip(sides, requests, strict=True):
        answers = HeartbeatResponse if isinstance(asked[0], HeartbeatRequest) else ConsumerGroupHeartbeatResponse
        errors = {ask(side.port, request, VERSIONS[type(request)], answers).error_code for request in asked}
        assert errors == {0}, errors
    return found


def heartbeats(port: int, protocol: str) -> list[HeartbeatRequest | ConsumerGroupHeartbeatRequest]:
    """Let the groups form; return the heartbeat that each member then sends."""
    members = GroupMembers(port)
    topic_id = topic_id_of(port, TOPIC)
    for group in range(GROUPS):
        name = f"{protocol}-{group}"
        await_coordinator(port, name)
        for number in range(MEMBERS):
            is_classic = protocol == CLASSIC
            classic = classic_member(name, TOPIC, MEMBERS)
            members.add(classic if is_classic else consumer_member(name, TOPIC, topic_id, number))
    # Each member has one of as many partitions as there are members: then a group is complete.
    members.run(lambda: all(len(member.assigned) == 1 for member in members.memberships))
    members.hurry()
    members.run(lambda: all(len(member.assigned) == 1 for member in members.memberships))
    requests = [heartbeat(member) for member in members.memberships]
    members.close()
    return requests


def heartbeat(member: Membership) -> HeartbeatRequest | ConsumerGroupHeartbeatRequest:
    if isinstance(member, ConsumerMembership):
        return ConsumerGroupHeartbeatRequest(member.group_id, member.member_id, member.epoch)
    return HeartbeatRequest(member.group_id, member.epoch, member.member_id)


if __name__ == "__main__":
    measure_against_kafka("group_heartbeats", measure)
