"""What the requests to group coordinators have in common: who may, whom to ask, what comes of errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from falkirk.coordinator.shard.client import ClientContext
from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.node.group_coordinator.operation_errors import operation_error
from falkirk.node.handlers.handler import AnswerLater
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.coordinator.shard.outcome import Outcome, Token
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.node.group_coordinator.hosted_shard import Done, Operation
    from falkirk.node.handlers.handler import Answer, NodeView
    from falkirk.protocol.schema import WireStruct

P = TypeVar("P")

GROUP_AUTHORIZATION_FAILED: Final = "Group authorization failed."


def is_group_allowed(view: NodeView, context: RequestContext, operation: AclOperation, group_id: str) -> bool:
    """Say whether whoever asks may do this with a group."""
    return view.authorizer.is_allowed(context, operation, ResourceType.GROUP, group_id)


def client_of(context: RequestContext) -> ClientContext:
    """Give what shards know of who asks."""
    return ClientContext(
        api_version=context.api_version, client_id=context.client_id or "", client_host=f"/{context.client_host}"
    )


def groups_of(view: NodeView) -> GroupCoordinator:
    """Give the broker's group coordinator."""
    assert view.groups is not None, "only brokers serve it"
    return view.groups


def why_refused(view: NodeView, context: RequestContext, operation: AclOperation, group_id: str) -> ErrorCode:
    """Say why a request to one group is refused: GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID for none; or NONE."""
    if not is_group_allowed(view, context, operation, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID


def ask_group(
    view: NodeView,
    context: RequestContext,
    request: WireMessage,
    group_id: str,
    operation: Operation,
    *,
    told: Callable[[ErrorCode], ErrorCode] = operation_error,
    change: Callable[[WireMessage], WireMessage] | None = None,
) -> AnswerLater:
    """Let the group's shard answer the whole request; an error becomes what `told` says.

    `change` is what is left to do with the response, that of an error too.
    """

    def start(answer: Answer) -> None:
        def done(result: WireStruct | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                result = error_response(request, context.api_version, told(result))
            assert isinstance(result, WireMessage), "a whole response"
            answer(result if change is None else change(result))

        groups_of(view).ask(group_id, operation, done)

    return AnswerLater(start)


def ask_groups(
    view: NodeView,
    group_ids: Sequence[str],
    operation: Callable[[GroupCoordinatorShard, str, Token], Outcome],
    *,
    of_error: Callable[[str, ErrorCode], P],
    finish: Callable[[Sequence[P]], None],
) -> None:
    """Let the shard of each group answer for it; `finish` gets the parts, in the order of the groups.

    `of_error` gives the part of a group whose shard does not answer.
    """
    gathered = Gathered(len(group_ids), finish)
    for place, group_id in enumerate(group_ids):
        groups_of(view).ask(
            group_id,
            partial(_for_group, operation, group_id),
            gathered.place(place, partial(_of_operation_error, of_error, group_id)),
        )


def _for_group(
    operation: Callable[[GroupCoordinatorShard, str, Token], Outcome],
    group_id: str,
    shard: GroupCoordinatorShard,
    token: Token,
) -> Outcome:
    return operation(shard, group_id, token)


def _of_operation_error(of_error: Callable[[str, ErrorCode], P], group_id: str, error: ErrorCode) -> P:
    return of_error(group_id, operation_error(error))


class Gathered(Generic[P]):
    """Parts of one answer that come at different times; `finish` gets them in the order of their places, once."""

    def __init__(self, count: int, finish: Callable[[Sequence[P]], None]) -> None:
        self._parts: list[P | None] = [None] * count
        self._left = count
        self._finish = finish
        if not count:
            finish([])

    def put(self, place: int, part: P) -> None:
        """Take a part."""
        self._parts[place] = part
        self._left -= 1
        if not self._left:
            self._finish([each for each in self._parts if each is not None])

    def place(self, place: int, of_error: Callable[[ErrorCode], P]) -> Done:
        """Give what takes the shard's answer for a place; an error becomes what `of_error` makes of it."""
        return partial(self._take, place, of_error)

    def _take(self, place: int, of_error: Callable[[ErrorCode], P], result: WireStruct | ErrorCode) -> None:
        # What shards reply with is the part that the handler asked for.
        self.put(place, of_error(result) if isinstance(result, ErrorCode) else result)  # type: ignore[arg-type]
