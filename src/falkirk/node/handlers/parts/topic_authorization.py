"""Authorization of requests topic by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from falkirk.metadata.acls.acl_types import ResourceType
from falkirk.slices import DECISION_VISITS, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.acls.acl_types import AclOperation
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.view import NodeView
    from falkirk.slices import Slices

K = TypeVar("K", str, bytes)

TOPIC_AUTHORIZATION_FAILED: Final = "Topic authorization failed."


def allowed_topics(
    view: NodeView, context: RequestContext, operation: AclOperation, names: Iterable[str]
) -> frozenset[str]:
    """Return the topics for which the client is authorized."""
    return exhaust(allowed_topics_in_slices(view, context, operation, names))


def allowed_topics_in_slices(
    view: NodeView, context: RequestContext, operation: AclOperation, names: Iterable[str]
) -> Slices[frozenset[str]]:
    """Return what `allowed_topics` does: with ACLs of many lengths of prefixes a name takes some microseconds."""
    allowed, budget = [], SliceBudget()
    for name in names:
        if budget.spend(DECISION_VISITS):
            yield
        if view.authorizer.is_allowed(context, operation, ResourceType.TOPIC, name):
            allowed.append(name)
    return frozenset(allowed)


def split_repeated(names: Iterable[K]) -> tuple[list[K], list[K]]:
    """Return (names or ids that appear once, those that appear more often), each once and in order."""
    counts: dict[K, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    once = [name for name, count in counts.items() if count == 1]
    return once, [name for name, count in counts.items() if count > 1]
