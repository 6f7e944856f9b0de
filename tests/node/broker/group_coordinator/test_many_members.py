"""A classic group with a thousand members, whose subscriptions all differ, rebalances in short steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from group_cluster import GroupCluster

from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.consumer_protocol import encode_embedded
from falkirk.protocol.messages import ConsumerProtocolSubscription, JoinGroupRequest, SyncGroupRequest
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.sync_group_request import SyncGroupRequestAssignment
from falkirk.simulation.machine.step_costs import StepCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from node_network import Client

    from falkirk.node.events import Event
    from falkirk.node.node import Node

MEMBERS = 1_000
# As many clients as send in one millisecond: what comes at once is one step.
AT_ONCE = 20
SESSION_MS = 60_000


class LongestStep:
    """What the largest of a node's steps costs by counted lines, which bound the time from above."""

    def __init__(self, node: Node) -> None:
        self.us = 0
        costs, step = StepCosts(), node.step

        def measured(events: Sequence[Event], now_ms: int) -> list[Any]:
            effects = costs.measure(lambda: step(events, now_ms))
            self.us = max(self.us, costs.last.us)
            return list(effects)

        node.step = measured  # type: ignore[method-assign]


def join(number: int) -> JoinGroupRequest:
    subscription = encode_embedded(ConsumerProtocolSubscription(topics=(f"t{number}",), user_data=b"x" * 100), 0)
    protocols = [JoinGroupRequestProtocol("range", subscription)]
    return JoinGroupRequest("g", SESSION_MS, SESSION_MS, "", None, "consumer", protocols)


def sync(joined: Any, members: Sequence[Any]) -> SyncGroupRequest:
    assignments = [SyncGroupRequestAssignment(each.member_id, b"a" * 20) for each in members]
    return SyncGroupRequest("g", joined.generation_id, joined.member_id, assignments=assignments)


@pytest.mark.slow
def test_a_classic_group_of_a_thousand_members_rebalances_in_short_steps() -> None:
    cluster = GroupCluster(
        brokers=1, offsets_partitions=1, properties={"group.initial.rebalance.delay.ms": str(10 * MEMBERS // AT_ONCE)}
    )
    broker = cluster.coordinator("g")
    longest = LongestStep(cluster.network.hosts[broker].running)
    clients: list[Client] = []
    sent = []
    for number in range(MEMBERS):
        clients.append(cluster.client(broker))
        sent.append(clients[-1].send(join(number), 3))
        if number % AT_ONCE == 0:
            cluster.run(1)
    cluster.run_until(lambda: all(number in client.answers for client, number in zip(clients, sent, strict=True)))
    joined = [client.answers[number] for client, number in zip(clients, sent, strict=True)]
    assert {each.error_code for each in joined} == {0}
    assert len({each.generation_id for each in joined}) == 1

    (leader,) = [place for place, each in enumerate(joined) if each.members]
    assert len(joined[leader].members) == MEMBERS
    for place, client in enumerate(clients):
        sent[place] = client.send(sync(joined[place], joined[place].members), 2)
        if place % AT_ONCE == 0:
            cluster.run(1)
    cluster.run_until(lambda: all(number in client.answers for client, number in zip(clients, sent, strict=True)))
    answers = [client.answers[number] for client, number in zip(clients, sent, strict=True)]
    assert {(each.error_code, bytes(each.assignment)) for each in answers} == {(0, b"a" * 20)}
    # 2,000 members took 53 ms before they were answered in slices.
    assert longest.us <= 1_000 * STEP_MS_MAX / 2
