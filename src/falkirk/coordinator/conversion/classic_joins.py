"""JoinGroup (key 11), v0-9, of consumer groups that have members.

Version notes: from v4 on a member without an id is assigned one and joins again with it (KIP-394); v5 has static
members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.coordinator.classic.responses import join_error
from falkirk.coordinator.consumer.group_update import GroupUpdate
from falkirk.coordinator.consumer.heartbeat_checks import group_full_refusal, static_member_refusal
from falkirk.coordinator.consumer.member import ConsumerGroupMember
from falkirk.coordinator.conversion.migration_policy import MigrationPolicy
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, decode_embedded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import ConsumerProtocolSubscription, JoinGroupResponse
from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol
from falkirk.protocol.uuid import random_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.classic.joining import Joining
    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.conversion.group_conversions import GroupConversions
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.topics import Topics


_FIRST_WITH_KNOWN_ID = 4


class ClassicJoins:
    """Admits members of the classic protocol to consumer groups."""

    def __init__(self, context: ShardContext, conversions: GroupConversions) -> None:
        self._context = context
        self._conversions = conversions

    def join(self, group: ConsumerGroup, joining: Joining) -> Outcome:
        """Apply a JoinGroup that passed `ClassicProtocol.join_request_error`."""
        request = joining.request
        error = self._mixing_error()
        if error is not ErrorCode.NONE:
            return _refused(joining, error)
        member_id = request.member_id or uuid_text(random_uuid(self._context.random))
        error = self._request_error(group, joining, member_id)
        if error is not ErrorCode.NONE:
            return _refused(joining, error, member_id if error is ErrorCode.MEMBER_ID_REQUIRED else "")
        try:
            subscription = decode_embedded(ConsumerProtocolSubscription, request.protocols[0].metadata)
        except RemoteProtocolError:
            return _refused(joining, ErrorCode.UNKNOWN_SERVER_ERROR)
        existing = group.static_member(request.group_instance_id)
        update = GroupUpdate(self._conversions.consumer.services, group)
        if existing is not None and existing.member_id != member_id:
            after = _described(replace(existing, member_id=member_id), joining, subscription)
            converted = self._conversions.downgrade_with(group, existing, after, joining.waiting)
            if converted is not None:
                return converted
            member = update.replace_static_member(existing, member_id)
        else:
            member = group.members.get(member_id) or ConsumerGroupMember(member_id=member_id)
        return self._advance(update, member, joining, subscription)

    def _mixing_error(self) -> ErrorCode:
        release = self._context.release
        if not release.mixes_group_protocols:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if release.keeps_group_protocols_apart and MigrationPolicy.of(self._context) is MigrationPolicy.DISABLED:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _request_error(self, group: ConsumerGroup, joining: Joining, member_id: str) -> ErrorCode:
        request = joining.request
        refusal = group_full_refusal(group, member_id, self._context.settings.consumer_max_size)
        if refusal is not None:
            return refusal.error_code
        if not group.supports_classic_protocols(request.protocol_type, [each.name for each in request.protocols]):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        instance_id = request.group_instance_id
        if not request.member_id:
            needs_id = instance_id is None and joining.client.api_version >= _FIRST_WITH_KNOWN_ID
            return ErrorCode.MEMBER_ID_REQUIRED if needs_id else ErrorCode.NONE
        if instance_id is not None:
            refusal = static_member_refusal(group.static_member(instance_id), member_id, instance_id)
        return ErrorCode.NONE if refusal is None else refusal.error_code

    def _advance(
        self,
        update: GroupUpdate,
        before: ConsumerGroupMember,
        joining: Joining,
        subscription: ConsumerProtocolSubscription,
    ) -> Outcome:
        """Apply what the member sends of itself, assign anew if needed, and reconcile the member."""
        after = _described(before, joining, subscription)
        is_regex_gone = update.put_regex(before, after, lambda _: False)
        has_subscription_changed = update.put_member(before, after) or is_regex_gone
        if has_subscription_changed or update.is_refresh_due:
            update.refresh_subscription(is_bumped=has_subscription_changed)
        update.refresh_target()
        owned = _owned(subscription, self._context.topics)
        member = update.reconcile(after, owned, has_subscription_changed=has_subscription_changed)
        if member is None:
            return _refused(joining, ErrorCode.UNKNOWN_MEMBER_ID)
        response = JoinGroupResponse(
            generation_id=member.member_epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=member.classic_protocols[0],
            member_id=member.member_id,
        )
        return Outcome(
            records=update.records,
            replies=[Reply(joining.token, response)],
            on_written=lambda: self._joined(update.group.group_id, member),
        )

    def _joined(self, group_id: str, member: ConsumerGroupMember) -> Sequence[Reply]:
        self._conversions.consumer.timers.start_session(group_id, member)
        self._conversions.timers.joined(group_id, member)
        return ()


def _described(
    member: ConsumerGroupMember, joining: Joining, subscription: ConsumerProtocolSubscription
) -> ConsumerGroupMember:
    request, timeout_ms = joining.request, joining.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        client_id=joining.client.client_id,
        client_host=joining.client.client_host,
        subscribed_topics=frozenset(subscription.topics),
        subscribed_regex="",
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        classic_metadata=ClassicMemberMetadata(
            session_timeout_ms=request.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in request.protocols
            ],
        ),
    )


def _owned(subscription: ConsumerProtocolSubscription, topics: Topics) -> dict[bytes, frozenset[int]]:
    owned: dict[bytes, frozenset[int]] = {}
    for topic in subscription.owned_partitions:
        topic_id = topics.id_of(topic.topic)
        if topic_id is not None:
            owned[topic_id] = owned.get(topic_id, frozenset()).union(topic.partitions)
    return owned


def _refused(joining: Joining, error: ErrorCode, member_id: str = "") -> Outcome:
    return Outcome(replies=(Reply(joining.token, join_error(joining.client.api_version, error, member_id)),))
