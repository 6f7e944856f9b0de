"""Heartbeats that only show that a member is alive, in a group with nothing to do: the majority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.consumer.member import JOINING_EPOCH, MemberState

if TYPE_CHECKING:
    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.protocol.messages import ConsumerGroupHeartbeatRequest


def is_steady(
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    client: ClientContext,
    request: ConsumerGroupHeartbeatRequest,
    now_ms: int,
) -> bool:
    """Return whether a heartbeat changes neither group nor member, and its response has no news.

    False means that the full path has to decide: every step that a heartbeat may cause has its condition here.
    """
    return _changes_nothing(member, client, request) and _has_nothing_to_do(group, member, now_ms)


def _changes_nothing(
    member: ConsumerGroupMember, client: ClientContext, request: ConsumerGroupHeartbeatRequest
) -> bool:
    return (
        request.member_epoch == member.member_epoch
        and request.member_epoch > JOINING_EPOCH
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == -1
        and request.instance_id is None
        and request.rack_id is None
        and request.server_assignor is None
        and client.client_id == member.client_id
        and client.client_host == member.client_host
    )


def _has_nothing_to_do(group: ConsumerGroup, member: ConsumerGroupMember, now_ms: int) -> bool:
    return (
        # It has its target assignment, whatever it says that it owns, and that is the group's newest.
        member.state is MemberState.STABLE
        and member.member_epoch == group.target_epoch
        and group.group_epoch <= group.target_epoch
        and group.group_epoch != JOINING_EPOCH
        and not group.is_refresh_due(now_ms)
        # Expressions have times of their own.
        and not group.regex_subscribers
        and not group.resolved_regexes
        # What a loaded log may lack, or another protocol has said.
        and member.has_metadata
        and member.instance_id is None
        and member.classic_metadata is None
    )
