"""Requests about topics that are allowed or refused topic by topic."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import NodeView

K = TypeVar("K", str, bytes)

TOPIC_AUTHORIZATION_FAILED: Final = "Topic authorization failed."
_TOPIC: Final = 2  # ResourceType


class TopicOperation(IntEnum):
    """Operations on topics, as AclOperation numbers them."""

    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10


def allowed_topics(
    view: NodeView, context: RequestContext, operation: TopicOperation, names: Iterable[str]
) -> frozenset[str]:
    """Give the topics with which whoever asks may do this."""
    return frozenset(name for name in names if view.authorizer.is_allowed(context, operation, _TOPIC, name))


def split_repeated(names: Iterable[K]) -> tuple[list[K], list[K]]:
    """Give (names or ids that stand there once, those that stand there more than once), each once and in order."""
    counts: dict[K, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    once = [name for name, count in counts.items() if count == 1]
    return once, [name for name, count in counts.items() if count > 1]
