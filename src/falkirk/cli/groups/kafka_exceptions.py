"""Error codes as Kafka's Java tools print them: the class of an exception and its message.

Source: `Errors` of Kafka's clients, 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode, error_name

if TYPE_CHECKING:
    from falkirk.client.refusal import Refusal

# Those that coordinators and leaders answer to questions of administrators.
_EXCEPTIONS: Final[dict[int, tuple[str, str]]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: (
        "UnknownServerException",
        "The server experienced an unexpected error when processing the request.",
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: (
        "UnknownTopicOrPartitionException",
        "This server does not host this topic-partition.",
    ),
    ErrorCode.LEADER_NOT_AVAILABLE: (
        "LeaderNotAvailableException",
        "There is no leader for this topic-partition as we are in the middle of a leadership election.",
    ),
    ErrorCode.REQUEST_TIMED_OUT: ("TimeoutException", "The request timed out."),
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: (
        "CoordinatorLoadInProgressException",
        "The coordinator is loading and hence can't process requests.",
    ),
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ("CoordinatorNotAvailableException", "The coordinator is not available."),
    ErrorCode.NOT_COORDINATOR: ("NotCoordinatorException", "This is not the correct coordinator."),
    ErrorCode.INVALID_GROUP_ID: ("InvalidGroupIdException", "The group id is invalid."),
    ErrorCode.UNKNOWN_MEMBER_ID: ("UnknownMemberIdException", "The coordinator is not aware of this member."),
    ErrorCode.REBALANCE_IN_PROGRESS: (
        "RebalanceInProgressException",
        "The group is rebalancing, so a rejoin is needed.",
    ),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: ("TopicAuthorizationException", "Topic authorization failed."),
    ErrorCode.GROUP_AUTHORIZATION_FAILED: ("GroupAuthorizationException", "Group authorization failed."),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ("ClusterAuthorizationException", "Cluster authorization failed."),
    ErrorCode.NON_EMPTY_GROUP: ("GroupNotEmptyException", "The group is not empty."),
    ErrorCode.GROUP_ID_NOT_FOUND: ("GroupIdNotFoundException", "The group id does not exist."),
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "GroupSubscribedToTopicException",
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it.",
    ),
    ErrorCode.UNSTABLE_OFFSET_COMMIT: (
        "UnstableOffsetCommitException",
        "There are unstable offsets that need to be cleared.",
    ),
}


def exception_message(refusal: Refusal) -> str:
    """Return the message of the exception: the broker's, or the default of the error code."""
    if refusal.message:
        return refusal.message
    known = _EXCEPTIONS.get(refusal.error_code)
    return error_name(refusal.error_code) if known is None else known[1]


def exception_text(refusal: Refusal) -> str:
    """Return class and message, as Java prints an exception."""
    known = _EXCEPTIONS.get(refusal.error_code)
    name = error_name(refusal.error_code) if known is None else f"org.apache.kafka.common.errors.{known[0]}"
    return f"{name}: {exception_message(refusal)}"
