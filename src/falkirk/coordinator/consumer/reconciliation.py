"""How one member is led from the partitions that it has to those of its target assignment.

First it gives back what is not in the target; then it comes to the target's epoch and gets what is free; what others
have yet to give back it gets later. So no partition has two owners, and nobody waits for anybody but for that.
Source: KIP-848, "Rebalance Process" (Kafka's CurrentAssignmentBuilder).
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
    """What a member is to be led to.

    `subscribed_topic_ids`: what it reads now, which may be less than what the target was made for.
    `owner_of`: who has a partition (topic id, partition), this member included; None: nobody.
    `owned`: what the member says that it has, by topic id; None: it said nothing of it.
    """

    target_epoch: int
    target: Assignment
    subscribed_topic_ids: Collection[bytes]
    has_subscription_changed: bool
    owner_of: Callable[[bytes, int], str | None]
    owned: Mapping[bytes, frozenset[int]] | None

    def next_of(self, member: ConsumerGroupMember) -> ConsumerGroupMember | None:
        """Give the member one step further, or as it is if no step can be made; None: it is to be fenced.

        That is so if the log has a state that is not known: it joins again, without partitions.
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
        """Take from a member what it does not read any more, without waiting for a target that says so."""
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
        """Say whether a member may still have one of these partitions, as far as it has said."""
        if not partitions:
            return False
        owned = self.owned
        if owned is None:
            return True
        return any(not owned.get(topic_id, frozenset()).isdisjoint(epochs) for topic_id, epochs in partitions.items())


def owned_partitions(topics: Iterable[TopicPartitions] | None) -> dict[bytes, frozenset[int]] | None:
    """Give what a heartbeat says that the member has."""
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
