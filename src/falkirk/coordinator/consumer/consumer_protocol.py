"""KIP-848's protocol in one shard: ConsumerGroupHeartbeat (key 68, v0-1), records of types 3 to 8 and 16, timers.

protocol = ConsumerProtocol(context, conversions)
protocol.replay(key, value)                      # from the log; then, for each group
protocol.loaded(group)
outcome = protocol.heartbeat(client, request, token, is_describable=...)

v1 has regular expressions and member ids that clients generate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.conversions import Upgrade
from falkirk.coordinator.consumer.description import described_group
from falkirk.coordinator.consumer.group_update import GroupUpdate
from falkirk.coordinator.consumer.heartbeat_checks import (
    epoch_refusal,
    group_full_refusal,
    request_refusal,
    static_member_refusal,
    unknown_member_refusal,
    unreleased_instance_refusal,
)
from falkirk.coordinator.consumer.member import (
    JOINING_EPOCH,
    STATIC_LEAVING_EPOCH,
    ConsumerGroupMember,
)
from falkirk.coordinator.consumer.member_timers import MemberTimers
from falkirk.coordinator.consumer.reconciliation import owned_partitions
from falkirk.coordinator.consumer.refusal import Refusal
from falkirk.coordinator.consumer.replay import replay_record
from falkirk.coordinator.consumer.services import ConsumerServices
from falkirk.coordinator.consumer.steady_heartbeats import is_steady
from falkirk.coordinator.patterns.topic_pattern import TopicPatternError
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome, Reply
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionValue,
)
from falkirk.protocol.messages.consumer_group_heartbeat_response import Assignment, TopicPartitions
from falkirk.protocol.uuid import random_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from falkirk.coordinator.consumer.conversions import Conversions
    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest
    from falkirk.protocol.messages.consumer_group_describe_response import DescribedGroup
    from falkirk.protocol.schema import WireMessage


# What becomes of the group, and the answer.
_Decided = tuple[Outcome, ConsumerGroupHeartbeatResponse]
_UNKNOWN_STATE = Refusal(
    ErrorCode.FENCED_MEMBER_EPOCH,
    "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
)
# No names, no expression, no rack, no assignor.
_NOTHING_CHANGED = (None, None, None, None)


class ConsumerProtocol:
    """One for each shard. Groups are in `context.groups`; conversions use `services` and `timers`."""

    def __init__(self, context: ShardContext, conversions: Conversions) -> None:
        self.services = ConsumerServices(context)
        self.timers = MemberTimers(self.services, self.fence)
        self._context = context
        self._conversions = conversions
        # Groups that have read a topic at some time: a superset, tidied when a topic changes. No set is empty.
        self._groups_by_topic: dict[str, set[str]] = {}
        # The same by group, until it is gone.
        self._topics_by_group: dict[str, set[str]] = {}

    # --- requests

    def heartbeat(
        self,
        client: ClientContext,
        request: ConsumerGroupHeartbeatRequest,
        token: Token,
        *,
        is_describable: Callable[[str], bool],
    ) -> Outcome:
        """Answer ConsumerGroupHeartbeat; `is_describable`: whether the client's expression may match a topic."""
        refused = request_refusal(request, client.api_version, self.services.assignor_names)
        if refused is not None:
            return _refused(token, refused)
        steady = self._steady_response(client, request)
        if steady is not None:
            return Outcome(replies=(Reply(token, steady),))
        if request.member_epoch < JOINING_EPOCH:
            decided = self._leave(request)
        else:
            decided = self._heartbeat(client, request, is_describable)
        if isinstance(decided, Refusal):
            return _refused(token, decided)
        outcome, response = decided
        return replace(outcome, replies=[*outcome.replies, Reply(token, response)])

    def describe(self, group: ConsumerGroup) -> DescribedGroup:
        """Return a group's part of the ConsumerGroupDescribe response."""
        return described_group(self.services, group)

    # --- the log

    def replay(self, key: WireMessage, value: WireMessage | None) -> None:
        """Replay a record of type 3 to 8 or 16, or its tombstone, in any order."""
        first_epoch = self._context.settings.new_consumer_group_epoch
        group = replay_record(self._context.groups, key, value, first_epoch=first_epoch)
        if group is None:
            return
        group_id = group.group_id
        for topic in _topics_named(value):
            self._groups_by_topic.setdefault(topic, set()).add(group_id)
            self._topics_by_group.setdefault(group_id, set()).add(topic)
        if group_id not in self._context.groups:
            for topic in list(self._topics_by_group.get(group_id, ())):
                self._forget_reader(topic, group_id)

    def loaded(self, group: ConsumerGroup) -> None:
        """Start the timers of a loaded group's members."""
        self.services.new_topics_offset = max(self.services.new_topics_offset, self._context.topics.offset)
        for member in group.members.values():
            self.timers.start(group.group_id, member)

    def topics_changed(self, changed: Collection[str]) -> None:
        """Refresh groups that subscribe to a new, deleted, grown or moved topic at their members' next heartbeats.

        `context.topics` is the new image already.
        """
        self.services.hashes.forget(changed)
        for topic in changed:
            if self._context.topics.id_of(topic) is not None:
                self.services.new_topics_offset = self._context.topics.offset
            for group_id in list(self._groups_by_topic.get(topic, ())):
                group = self._context.groups.get(group_id)
                if isinstance(group, ConsumerGroup) and group.is_subscribed_to(topic):
                    group.metadata_refresh_due_ms = 0
                else:
                    self._forget_reader(topic, group_id)

    def _forget_reader(self, topic: str, group_id: str) -> None:
        """Forget that a group reads a topic."""
        for index, key, other in (
            (self._groups_by_topic, topic, group_id),
            (self._topics_by_group, group_id, topic),
        ):
            index[key].discard(other)
            if not index[key]:
                del index[key]

    # --- members that go

    def fence(self, group_id: str, member_id: str) -> Outcome:
        """Fence a member whose timer expired, if both group and member exist; retry if the records are refused."""
        group = self._context.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or not isinstance(group, ConsumerGroup):
            return NOTHING
        outcome = self.remove(group, [member])
        return replace(outcome, on_refused=lambda error: self.timers.fence_later(group_id, member_id, error))

    def remove(self, group: ConsumerGroup, members: Collection[ConsumerGroupMember]) -> Outcome:
        """Remove members from a group, which may become a classic one."""
        downgraded = self._conversions.downgrade(group, members)
        if downgraded is not None:
            return downgraded
        update = GroupUpdate(self.services, group)
        update.remove_members(members)
        return Outcome(records=update.records, on_written=lambda: self._removed(group, members))

    def _removed(self, group: ConsumerGroup, members: Collection[ConsumerGroupMember]) -> Sequence[Reply]:
        for member in members:
            self.timers.cancel(group.group_id, member.member_id)
        return ()

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> _Decided | Refusal:
        group = self._context.groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup):
            return _not_found(request.group_id, is_there=group is not None)
        if request.instance_id is None:
            member = group.members.get(request.member_id) or unknown_member_refusal(group, request.member_id)
        else:
            member = _static_member(group, request.member_id, request.instance_id)
        if isinstance(member, Refusal):
            return member
        response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.member_epoch != STATIC_LEAVING_EPOCH:
            return self.remove(group, [member]), response
        update = GroupUpdate(self.services, group)
        update.leave_static_member(member)
        return Outcome(records=update.records), response

    def _steady_response(
        self, client: ClientContext, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse | None:
        """Return the response to a heartbeat that changes nothing; None if it may change something."""
        group_id = request.group_id
        group = self._context.groups.get(group_id)
        member = group.members.get(request.member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or not isinstance(group, ConsumerGroup):
            return None
        if not is_steady(group, member, client, request, self._context.now_ms):
            return None
        self.timers.start_session(group_id, member)
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self.services.heartbeat_interval_ms(group_id),
        )

    def _heartbeat(
        self,
        client: ClientContext,
        request: ConsumerGroupHeartbeatRequest,
        is_describable: Callable[[str], bool],
    ) -> _Decided | Refusal:
        found = self._group_for(request)
        if isinstance(found, Refusal):
            return found
        update = GroupUpdate(self.services, found.group, found.records)
        member = group_full_refusal(
            found.group, request.member_id, self._context.settings.consumer_max_size
        ) or self._member_for(update, request)
        if isinstance(member, Refusal):
            return member
        after = _advance(update, client, request, member, is_describable)
        if isinstance(after, Refusal):
            return after
        self.timers.start_session(found.group.group_id, after)
        if _steps_of(after) != _steps_of(member):
            self.timers.start_rebalance(found.group.group_id, after)
        outcome = Outcome(records=update.records, replies=found.replies)
        return outcome, self._response(found.group.group_id, request, member, after)

    # --- groups and answers

    def _group_for(self, request: ConsumerGroupHeartbeatRequest) -> Upgrade | Refusal:
        """Return the group; a joining member creates it, replaces one without members, or converts a classic one."""
        group_id = request.group_id
        group = self._context.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return Upgrade(group=group, records=())
        if request.member_epoch != JOINING_EPOCH:
            return _not_found(group_id, is_there=group is not None)
        if group is not None and not group.is_empty:
            return self._conversions.upgrade(group)
        new = ConsumerGroup(group_id, first_epoch=self._context.settings.new_consumer_group_epoch)
        return Upgrade(group=new, records=() if group is None else group.deletion_records())

    def _member_for(self, update: GroupUpdate, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupMember | Refusal:
        """Return the sending member; a joining one is created, or replaces a static member."""
        member_id = request.member_id or uuid_text(random_uuid(self._context.random))
        is_joining = request.member_epoch == JOINING_EPOCH
        member: ConsumerGroupMember | Refusal
        if request.instance_id is not None and is_joining:
            return _static_joiner(update, member_id, request.instance_id)
        if request.instance_id is not None:
            member = _static_member(update.group, member_id, request.instance_id)
        elif is_joining:
            return update.group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)
        else:
            member = update.group.members.get(member_id) or unknown_member_refusal(update.group, member_id)
        if isinstance(member, Refusal):
            return member
        return epoch_refusal(member, request.member_epoch, request.topic_partitions) or member

    def _response(
        self,
        group_id: str,
        request: ConsumerGroupHeartbeatRequest,
        before: ConsumerGroupMember,
        after: ConsumerGroupMember,
    ) -> ConsumerGroupHeartbeatResponse:
        response = ConsumerGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=self.services.heartbeat_interval_ms(group_id),
        )
        has_changed = after is not before and _partitions(before) != _partitions(after)
        if has_changed or request.member_epoch == JOINING_EPOCH or _is_full(request):
            response.assignment = Assignment(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
                    for topic_id, partitions in sorted(_partitions(after).items())
                ]
            )
        return response


def _static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerGroupMember | Refusal:
    """Return a static member that is already in the group."""
    existing = group.static_member(instance_id)
    refused = static_member_refusal(existing, member_id, instance_id)
    if existing is None or refused is not None:
        return refused or unknown_member_refusal(group, member_id)
    return existing


def _static_joiner(update: GroupUpdate, member_id: str, instance_id: str) -> ConsumerGroupMember | Refusal:
    """Create a static member, or let it replace the previous holder of its instance id, which must have left.

    Differs from Kafka: a member that joins again under its own id is admitted, as it may have missed the response.
    """
    existing = update.group.static_member(instance_id)
    if existing is None:
        return update.group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)
    if existing.member_id == member_id and existing.member_epoch != STATIC_LEAVING_EPOCH:
        return existing
    refused = None if existing.uses_classic_protocol else unreleased_instance_refusal(existing, member_id, instance_id)
    return refused or update.replace_static_member(existing, member_id)


def _advance(
    update: GroupUpdate,
    client: ClientContext,
    request: ConsumerGroupHeartbeatRequest,
    member: ConsumerGroupMember,
    is_describable: Callable[[str], bool],
) -> ConsumerGroupMember | Refusal:
    """Apply what the member sends of itself, assign anew if needed, and reconcile the member."""
    after = _described(member, client, request)
    # Differs from Kafka before 4.4: a change of the group's assignor computes a new assignment at once.
    assignor = None if after.server_assignor == member.server_assignor else update.assignor_name()
    try:
        is_regex_other = update.put_regex(member, after, is_describable)
    except TopicPatternError as error:
        return _bad_regex(after.subscribed_regex, error)
    has_subscription_changed = update.put_member(member, after) or is_regex_other
    is_bumped = update.refresh_regexes(is_describable) or has_subscription_changed
    is_bumped = is_bumped or (assignor is not None and update.assignor_name() != assignor)
    # Epoch 0 is that of a member that has yet to join: a group whose first member subscribes to nothing has another.
    is_bumped = is_bumped or update.group_epoch == JOINING_EPOCH
    if is_bumped or update.is_refresh_due:
        update.refresh_subscription(is_bumped=is_bumped)
    update.refresh_target()
    owned = owned_partitions(request.topic_partitions)
    return update.reconcile(after, owned, has_subscription_changed=has_subscription_changed) or _UNKNOWN_STATE


def _described(
    member: ConsumerGroupMember, client: ClientContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupMember:
    """Apply the fields of a request; absent ones keep their values."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    if (
        (names, regex, request.rack_id, request.server_assignor) == _NOTHING_CHANGED
        and timeout_ms == -1
        and not member.uses_classic_protocol
        and request.instance_id == member.instance_id
        and (client.client_id, client.client_host) == (member.client_id, member.client_host)
    ):
        # Most heartbeats say nothing but that the member lives.
        return member
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=client.client_id,
        client_host=client.client_host,
        subscribed_topics=member.subscribed_topics if names is None else frozenset(names),
        subscribed_regex=member.subscribed_regex if regex is None else regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=member.server_assignor if request.server_assignor is None else request.server_assignor,
        classic_metadata=None,
    )


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat has all fields, as after a response that may have been lost."""
    has_subscription = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and has_subscription and request.topic_partitions is not None


def _partitions(member: ConsumerGroupMember) -> dict[bytes, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in member.assigned.items() if partitions}


def _steps_of(member: ConsumerGroupMember) -> tuple[object, ...]:
    """Return the fields that each step of a reconciliation changes."""
    return (member.member_id, member.member_epoch, member.previous_member_epoch, member.state, member.revoking)


def _topics_named(value: WireMessage | None) -> Collection[str]:
    """Return the topics to which a record subscribes its group."""
    match value:
        case ConsumerGroupMemberMetadataValue(subscribed_topic_names=names):
            return names
        case ConsumerGroupRegularExpressionValue(topics=names):
            return names
        case _:
            return ()


def _not_found(group_id: str, *, is_there: bool) -> Refusal:
    message = f"Group {group_id} is not a consumer group." if is_there else f"Group {group_id} not found."
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, message)


def _bad_regex(regex: str, error: TopicPatternError) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_REGULAR_EXPRESSION,
        f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
    )


def _refused(token: Token, refusal: Refusal) -> Outcome:
    response = ConsumerGroupHeartbeatResponse(error_code=refusal.error_code, error_message=refusal.message)
    return Outcome(replies=[Reply(token, response)])
