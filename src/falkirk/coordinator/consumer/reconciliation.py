"""Reconciliation: how a member moves from the partitions that it owns to those of its target assignment.

First it revokes what is not in the target; then it advances to the target's epoch and gets the partitions that are
free; it gets the others when their owners have revoked them. So no partition has two owners, and members wait for each
other only for partitions. Source: KIP-848, "Rebalance Process" (Kafka's CurrentAssignmentBuilder).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.coordinator.consumer.member import NOTHING_OWNED, ConsumerGroupMember, MemberState, OwnedPartitions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from falkirk.coordinator.assignors.assignor import Assignment
    from falkirk.protocol.messages.consumer_group_heartbeat_request import TopicPartitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """The target of a member, and what limits its next step.

    `subscribed_topic_ids`: its current subscription, which may be less than the target was computed for.
    `owner_of`: the owner of a partition (topic id, partition), possibly this member; None: no owner.
    `owned`: the partitions that the member reports, by topic id; None: not reported.
    """

    target_epoch: int
    target: "Assignment"
    subscribed_topic_ids: "Collection[bytes]"
    has_subscription_changed: bool
    owner_of: "Callable[[bytes, int], str | None]"
    owned: "Mapping[bytes, frozenset[int]] | None"

    def next_of(self, member: ConsumerGroupMember) -> ConsumerGroupMember | None:
        """Return the member after its next step, or unchanged if there is none; None: fence it.

        That happens if its state in the log is unknown: it joins again without partitions.
        """
        match member.state:
            case MemberState.STABLE if member.member_epoch != self.target_epoch:
                return self._next(member)
            case MemberState.STABLE:
                return self._without_unsubscribed(member) if self.has_subscription_changed else member
            case MemberState.UNREVOKED_PARTITIONS if self._may_own(member.revoking):
                return self._without_unsubscribed(member) if self.has_subscription_changed else member
            case MemberState.UNKNOWN if self.owned is None or any(self.owned.values()):
                return None
            case _:
                return self._next(member)

    def _next(self, member: ConsumerGroupMember) -> ConsumerGroupMember:
        kept: dict[bytes, dict[int, int]] = {}
        revoking: dict[bytes, dict[int, int]] = {}
        is_complete = True
        for topic_id, partitions in member.assigned.items():
            target = self._target_of(topic_id)
            for partition, since in partitions.items():
                (kept if partition in target else revoking).setdefault(topic_id, {})[partition] = since
        if self._may_own(revoking):
            return _at(member, member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
        for topic_id in self.target:
            for partition in self._target_of(topic_id).difference(member.assigned.get(topic_id, ())):
                # What the member itself has given back just now, it may have again.
                if self.owner_of(topic_id, partition) in {None, member.member_id}:
                    kept.setdefault(topic_id, {})[partition] = self.target_epoch
                else:
                    is_complete = False
        state = MemberState.STABLE if is_complete else MemberState.UNRELEASED_PARTITIONS
        return _at(member, self.target_epoch, state, kept, NOTHING_OWNED)

    def _without_unsubscribed(self, member: ConsumerGroupMember) -> ConsumerGroupMember:
        """Revoke partitions to which the member no longer subscribes, without waiting for a new target."""
        gone = {topic_id: epochs for topic_id, epochs in member.assigned.items() if not self._is_subscribed(topic_id)}
        if not gone:
            return member
        kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in gone}
        revoking = {topic_id: dict(epochs) for topic_id, epochs in member.revoking.items()}
        for topic_id, epochs in gone.items():
            revoking.setdefault(topic_id, {}).update(epochs)
        if self._may_own(revoking):
            return _at(member, member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
        return _at(member, member.member_epoch, member.state, kept, member.revoking)

    def _target_of(self, topic_id: bytes) -> frozenset[int]:
        return self.target.get(topic_id, frozenset()) if self._is_subscribed(topic_id) else frozenset()

    def _is_subscribed(self, topic_id: bytes) -> bool:
        return topic_id in self.subscribed_topic_ids

    def _may_own(self, partitions: OwnedPartitions) -> bool:
        """Return whether a member may still own one of these partitions, by what it has reported."""
        if not partitions:
            return False
        owned = self.owned
        if owned is None:
            return True
        return any(not owned.get(topic_id, frozenset()).isdisjoint(epochs) for topic_id, epochs in partitions.items())


def owned_partitions(topics: Iterable[TopicPartitions] | None) -> dict[bytes, frozenset[int]] | None:
    """Return the partitions that a heartbeat reports as owned."""
    if topics is None:
        return None
    owned: dict[bytes, frozenset[int]] = {}
    for topic in topics:
        owned[topic.topic_id] = owned.get(topic.topic_id, frozenset()).union(topic.partitions)
    return owned


def _at(
    member: ConsumerGroupMember, epoch: int, state: MemberState, assigned: OwnedPartitions, revoking: OwnedPartitions
) -> ConsumerGroupMember:
    return replace(
        member,
        member_epoch=epoch,
        previous_member_epoch=member.member_epoch,
        state=state,
        assigned=assigned,
        revoking=revoking,
    )
