"""The records that one decision adds to a consumer group, in order.

update = GroupUpdate(services, group)
changed = update.put_member(before, after)      # each step adds its records, and sees the decisions of earlier steps
update.refresh_subscription(is_bumped=changed)
update.refresh_target()
member = update.reconcile(after, owned, has_subscription_changed=changed)
update.records                                  # the group itself does not change until these are replayed
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.coordinator.assignors.assignor import GroupSpec, MemberSpec
from falkirk.coordinator.consumer import consumer_records
from falkirk.coordinator.consumer.consumer_group import ResolvedRegex
from falkirk.coordinator.consumer.member import NOTHING_OWNED, STATIC_LEAVING_EPOCH, ConsumerGroupMember
from falkirk.coordinator.consumer.reconciliation import Reconciliation
from falkirk.coordinator.consumer.services import ASSIGNORS
from falkirk.coordinator.patterns.topic_pattern import TopicPatternError
from falkirk.coordinator.runtime.topics import TopicPartitionCount

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from falkirk.coordinator.assignors.assignor import Assignment
    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.services import ConsumerServices
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord

METADATA_REFRESH_INTERVAL_MS: Final = 10 * 60 * 1000
"""How often subscribed topics are compared with the metadata even without a reported change."""
REGEX_REFRESH_MIN_INTERVAL_MS: Final = 10_000
"""The minimum interval between evaluations of all expressions of a group; a new expression is evaluated at once."""


class GroupUpdate:
    """One decision. `records` may already hold those of a conversion to this group."""

    def __init__(
        self, services: ConsumerServices, group: ConsumerGroup, records: Iterable[CoordinatorRecord] = ()
    ) -> None:
        self.group = group
        self.records = list(records)
        self.group_epoch = group.group_epoch
        self.target_epoch = group.target_epoch
        self._services = services
        self._context = services.context
        self._regexes: dict[str, ResolvedRegex | None] = {}
        # Members as decided; None: gone. Who came in whose place, and the targets as decided.
        self._members: dict[str, ConsumerGroupMember | None] = {}
        self._replaced: dict[str, str] = {}
        self._targets: dict[str, Assignment] = {}

    def members(self) -> dict[str, ConsumerGroupMember]:
        """Return the members as decided so far."""
        found = {id_: member for id_, member in self.group.members.items() if id_ not in self._members}
        found.update((id_, member) for id_, member in self._members.items() if member is not None)
        return found

    def target_of(self, member_id: str) -> Assignment:
        """Return a member's target assignment as decided so far."""
        decided = self._targets.get(member_id)
        return self.group.target_of(member_id) if decided is None else decided

    def replace_static_member(self, before: ConsumerGroupMember, member_id: str) -> ConsumerGroupMember:
        """Replace the holder of an instance id by a joining member, which inherits all of its state."""
        after = replace(before, member_id=member_id, member_epoch=0, previous_member_epoch=0)
        group_id = self.group.group_id
        target = self.group.target_of(before.member_id)
        self.records += consumer_records.member_tombstones(group_id, before.member_id)
        self.records.append(consumer_records.member_record(self._context.release, group_id, after))
        self.records.append(consumer_records.target_assignment_record(group_id, member_id, target))
        self._members[before.member_id] = None
        self._members[member_id] = after
        self._replaced[before.member_id] = member_id
        self._targets[member_id] = target
        self._add_current(after)
        return after

    def leave_static_member(self, member: ConsumerGroupMember) -> ConsumerGroupMember:
        """Keep a static member that leaves temporarily."""
        # Whoever takes its place commits at epochs that need not be later than those at which it got its partitions.
        assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()}
        after = replace(member, member_epoch=STATIC_LEAVING_EPOCH, assigned=assigned, revoking=NOTHING_OWNED)
        self._members[member.member_id] = after
        self._add_current(after)
        return after

    def put_member(self, before: ConsumerGroupMember, after: ConsumerGroupMember) -> bool:
        """Apply what a member sends of itself; return whether its subscribed topic names changed."""
        self._members[after.member_id] = after
        if (after is not before and after != before) or not before.has_metadata:
            self.records.append(consumer_records.member_record(self._context.release, self.group.group_id, after))
        return after.subscribed_topics != before.subscribed_topics

    def put_regex(
        self, before: ConsumerGroupMember, after: ConsumerGroupMember, is_describable: Callable[[str], bool]
    ) -> bool:
        """Resolve a member's expression if it changed; return whether that may change what the member reads.

        As in Kafka, a first expression that finds no topic bumps no epoch. An expression that no member has any more is
        deleted. Raises TopicPatternError.
        """
        if before.subscribed_regex == after.subscribed_regex:
            return False
        self._forget_regexes([before.subscribed_regex])
        regex = after.subscribed_regex
        if regex and regex not in self.group.resolved_regexes:
            topics = frozenset(name for name in self._services.topics_matching(regex) if is_describable(name))
            self._put_resolved(regex, topics)
            return bool(topics or before.subscribed_regex)
        return True

    def refresh_regexes(self, is_describable: Callable[[str], bool]) -> bool:
        """Evaluate all expressions if there are new topics or the last time is long ago; return whether any changed.

        Differs from Kafka: done at once, not in another thread, and written only where the topics changed.
        """
        resolved = self.group.resolved_regexes
        if not self.group.regex_subscribers and not resolved:
            return False
        is_changed = False
        is_due = self._are_regexes_due()
        for regex in sorted(self._subscribed_regexes().difference(self._regexes)):
            # Kafka may have had no time yet to find the topics of an expression when its coordinator went.
            if is_due or regex not in resolved:
                is_changed |= self._resolve_again(regex, is_describable)
        # What changed has its own time, if the log takes it.
        if is_due and not is_changed:
            self.group.regexes_refreshed = ResolvedRegex(frozenset(), self._context.topics.offset, self._context.now_ms)
        return is_changed

    @property
    def is_refresh_due(self) -> bool:
        """True if subscribed topics are to be compared with the metadata, though no member changed."""
        return self.group.is_refresh_due(self._context.now_ms)

    def refresh_subscription(self, *, is_bumped: bool) -> None:
        """Compare the subscribed topics with the metadata; if they changed, or `is_bumped`, bump the group epoch.

        To be called when a member changed, or `metadata_refresh_due_ms` has come.
        """
        group, context = self.group, self._context
        names = self._subscribed_topics()
        metadata_hash = 0
        if self._services.are_topics_hashed:
            metadata_hash = self._services.hashes.group_hash(names, context.topics)
            is_bumped = is_bumped or metadata_hash != group.metadata_hash
            if group.subscription_metadata is not None:
                self.records.append(consumer_records.partition_metadata_tombstone(group.group_id))
        else:
            is_bumped = self._put_subscription_metadata(names, is_bumped=is_bumped)
        if is_bumped:
            self.group_epoch += 1
            self.records.append(consumer_records.group_epoch_record(group.group_id, self.group_epoch, metadata_hash))
            context.counters.consumer_group_rebalances += 1
        group.metadata_refresh_due_ms = context.now_ms + METADATA_REFRESH_INTERVAL_MS
        group.metadata_refresh_epoch = self.group_epoch

    @property
    def due_epoch(self) -> int:
        """The epoch of the newest target assignment, after computing one if that may be done now.

        Before group.consumer.assignment.interval.ms is over a member stays at its target until a later heartbeat.
        """
        interval_ms, last_ms = (
            self._services.assignment_interval_ms(self.group.group_id),
            self.group.target_timestamp_ms,
        )
        # A time of 0 stands for none: the group was empty, or of another protocol. Differs from Kafka: one to come is
        # that of another broker's clock, and the group does not wait for it.
        is_due = last_ms == 0 or not 0 <= self._context.now_ms - last_ms < interval_ms
        return self.group_epoch if is_due else self.target_epoch

    def refresh_target(self) -> None:
        """Compute a new target assignment if the epoch was bumped and it is time to (`due_epoch`).

        Members whose target stays get no record.
        """
        if self.target_epoch >= self.due_epoch:
            return
        group_id, group = self.group.group_id, self.group
        targets = ASSIGNORS[self.assignor_name()].assign(self._spec())
        for member_id, target in targets.items():
            if member_id not in group.target or target != self.target_of(member_id):
                self.records.append(consumer_records.target_assignment_record(group_id, member_id, target))
                self._targets[member_id] = target
        self.target_epoch = self.group_epoch
        now_ms = self._context.now_ms
        self.records.append(
            consumer_records.target_epoch_record(self._context.release, group_id, self.target_epoch, now_ms)
        )

    def assignor_name(self) -> str:
        """Return the assignor that most members ask for; with equally many, the first one configured.

        Differs from Kafka: there, any of those with equally many.
        """
        names = self._services.assignor_names
        requested = Counter(self.group.server_assignors)
        for before, after in self._changes():
            requested.subtract(_assignor_of(before))
            requested.update(_assignor_of(after))
        return max(names, key=lambda name: requested[name])

    def reconcile(
        self,
        member: ConsumerGroupMember,
        owned: Mapping[bytes, frozenset[int]] | None,
        *,
        has_subscription_changed: bool,
    ) -> ConsumerGroupMember | None:
        """Move a member one step towards its target; None: fence it, as its state is unknown."""
        if not has_subscription_changed and member.is_reconciled_to(self.target_epoch):
            return member
        after = Reconciliation(
            target_epoch=self.target_epoch,
            target=self.target_of(member.member_id),
            subscribed_topic_ids=self._services.topic_ids(self._topics_of(member)),
            has_subscription_changed=has_subscription_changed,
            owner_of=self._owner_of,
            owned=owned,
        ).next_of(member)
        if after is not None and after != member:
            self._members[member.member_id] = after
            self._add_current(after)
        return after

    def remove_members(self, members: Collection[ConsumerGroupMember]) -> None:
        """Remove members and all of their records, and bump the epoch.

        A group that becomes empty counts as assigned.
        """
        for member in members:
            self._members[member.member_id] = None
            self.records += consumer_records.member_tombstones(self.group.group_id, member.member_id)
        self._forget_regexes([member.subscribed_regex for member in members])
        self.refresh_subscription(is_bumped=True)
        if not self.members():
            self.target_epoch = self.group_epoch
            self.records.append(
                consumer_records.target_epoch_record(self._context.release, self.group.group_id, self.target_epoch, 0)
            )

    def _add_current(self, member: ConsumerGroupMember) -> None:
        target = self.target_of(member.member_id)
        self.records.append(
            consumer_records.current_assignment_record(
                self._context.release, self.group.group_id, member, self.target_epoch, target
            )
        )

    def _changes(self) -> list[tuple[ConsumerGroupMember | None, ConsumerGroupMember | None]]:
        return [(self.group.members.get(member_id), after) for member_id, after in self._members.items()]

    def _owner_of(self, topic_id: bytes, partition: int) -> str | None:
        owner = self.group.owner_of(topic_id, partition)
        return None if owner is None else self._replaced.get(owner, owner)

    # Subscriptions.

    def _put_resolved(self, regex: str, topics: frozenset[str]) -> None:
        resolved = ResolvedRegex(topics, self._context.topics.offset, self._context.now_ms)
        self._regexes[regex] = resolved
        self.records.append(
            consumer_records.regex_record(
                self.group.group_id, regex, topics, version=resolved.version, timestamp_ms=resolved.timestamp_ms
            )
        )

    def _resolve_again(self, regex: str, is_describable: Callable[[str], bool]) -> bool:
        before = self.group.resolved_regexes.get(regex)
        try:
            topics = frozenset(name for name in self._services.topics_matching(regex) if is_describable(name))
        except TopicPatternError:
            # It was Kafka that took it, or there were fewer topics: what was found then stands.
            topics = frozenset() if before is None else before.topics
        if before is not None and before.topics == topics:
            return False
        self._put_resolved(regex, topics)
        return True

    def _are_regexes_due(self) -> bool:
        known = self.group.resolved_regexes.values()
        if not known:
            return False
        refreshed = self.group.regexes_refreshed
        last_ms = max(refreshed.timestamp_ms, *(each.timestamp_ms for each in known))
        version = max(refreshed.version, min(each.version for each in known))
        age_ms = self._context.now_ms - last_ms
        if age_ms > self._context.settings.consumer_regex_refresh_interval_ms:
            return True
        return version < self._services.new_topics_offset and age_ms > REGEX_REFRESH_MIN_INTERVAL_MS

    def _forget_regexes(self, regexes: Iterable[str]) -> None:
        """Delete expressions that only these members had; `regexes` has one entry for each such member."""
        for regex, count in Counter(regexes).items():
            if regex and regex in self.group.resolved_regexes and self.group.regex_subscribers[regex] <= count:
                self._regexes[regex] = None
                self.records.append(consumer_records.regex_tombstone(self.group.group_id, regex))

    def _subscribed_regexes(self) -> set[str]:
        counts = Counter(self.group.regex_subscribers)
        for before, after in self._changes():
            counts.subtract([before.subscribed_regex] if before is not None else ())
            counts.update([after.subscribed_regex] if after is not None else ())
        return {regex for regex, count in counts.items() if regex and count > 0}

    def _subscribed_topics(self) -> set[str]:
        counts = Counter(self.group.topic_subscribers)
        for before, after in self._changes():
            counts.subtract(before.subscribed_topics if before is not None else ())
            counts.update(after.subscribed_topics if after is not None else ())
        names = {name for name, count in counts.items() if count > 0}
        return names.union(*(self._topics_of_regex(regex) for regex in self._subscribed_regexes()))

    def _topics_of_regex(self, regex: str) -> frozenset[str]:
        resolved = self._regexes.get(regex, self.group.resolved_regexes.get(regex))
        return frozenset() if resolved is None else resolved.topics

    def _topics_of(self, member: ConsumerGroupMember) -> frozenset[str]:
        if not member.subscribed_regex:
            return member.subscribed_topics
        return member.subscribed_topics | self._topics_of_regex(member.subscribed_regex)

    def _put_subscription_metadata(self, names: Collection[str], *, is_bumped: bool) -> bool:
        topics = self._context.topics
        metadata = {
            name: TopicPartitionCount(topic_id, topics.partitions_of(name))
            for name in names
            if (topic_id := topics.id_of(name)) is not None
        }
        if metadata == (self.group.subscription_metadata or {}):
            return is_bumped
        epoch = self.group_epoch + 1
        self.records.append(
            consumer_records.partition_metadata_record(self._context.release, self.group.group_id, epoch, metadata)
        )
        return True

    def _spec(self) -> GroupSpec:
        """Describe the group to its assignor, with members in order of their ids."""
        topic_ids: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
        specs: dict[str, MemberSpec] = {}
        for member_id, member in sorted(self.members().items()):
            subscription = (member.subscribed_topics, member.subscribed_regex)
            if subscription not in topic_ids:
                topic_ids[subscription] = self._services.topic_ids(self._topics_of(member))
            specs[member_id] = MemberSpec(
                subscribed_topic_ids=topic_ids[subscription],
                target_assignment=self.target_of(member_id),
                instance_id=member.instance_id,
                rack_id=member.rack_id,
            )
        topics = self._context.topics
        counts = {}
        for topic_id in frozenset[bytes]().union(*topic_ids.values()):
            name = topics.name_of(topic_id)
            counts[topic_id] = 0 if name is None else topics.partitions_of(name)
        return GroupSpec(members=specs, partition_counts=counts)


def _assignor_of(member: ConsumerGroupMember | None) -> list[str]:
    return [] if member is None or member.server_assignor is None else [member.server_assignor]
