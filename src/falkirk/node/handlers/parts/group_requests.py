"""What requests to group coordinators share: authorization, the way to the shard, and errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from falkirk.coordinator.runtime.client import ClientContext
from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.handler_result import AnswerLater
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.protocol.schema import WireStruct

    Operation = Callable[[GroupCoordinatorShard, Token], Outcome]

P = TypeVar("P")
# Describing a group without members takes some ten microseconds.
_GROUPS_PER_SLICE: Final = 200

GROUP_AUTHORIZATION_FAILED: Final = "Group authorization failed."


def is_group_allowed(view: BrokerView, context: RequestContext, operation: AclOperation, group_id: str) -> bool:
    """Return whether the client is authorized for an operation on a group."""
    return view.authorizer.is_allowed(context, operation, ResourceType.GROUP, group_id)


def allowed_groups(
    view: BrokerView, context: RequestContext, operation: AclOperation, group_ids: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the groups on which the client is authorized for an operation, and the others: each once, in order."""
    allowed: list[str] = []
    forbidden: list[str] = []
    for group_id in dict.fromkeys(group_ids):
        (allowed if is_group_allowed(view, context, operation, group_id) else forbidden).append(group_id)
    return allowed, forbidden


def client_of(context: RequestContext) -> ClientContext:
    """Return the client as shards know it."""
    return ClientContext(
        api_version=context.api_version, client_id=context.client_id or "", client_host=f"/{context.client_host}"
    )


def group_error(view: BrokerView, context: RequestContext, operation: AclOperation, group_id: str) -> ErrorCode:
    """Return GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID for an empty id, or NONE."""
    if not is_group_allowed(view, context, operation, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID


def ask_group(
    view: BrokerView,
    context: RequestContext,
    request: WireMessage,
    group_id: str,
    operation: Operation,
    *,
    client_error: Callable[[ErrorCode], ErrorCode] = operation_error,
    change: Callable[[WireMessage], WireMessage] | None = None,
) -> AnswerLater:
    """Have the group's shard answer the whole request; `client_error` maps its errors.

    `change` is applied to every response, that of an error, too.
    """

    def start(answer: Answer) -> None:
        def done(result: WireStruct | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                result = error_response(request, context.api_version, client_error(result))
            assert isinstance(result, WireMessage), "a whole response"
            answer(result if change is None else change(result))

        view.broker.groups.schedule(group_id, operation, done)

    return AnswerLater(start)


def schedule_in_slices(view: BrokerView, count: int, schedule: Callable[[int, int], None]) -> None:
    """Schedule operations for `count` groups of a request: `schedule` gets a start and an end, once in each step."""

    def slices() -> Generator[None, None, None]:
        for start in range(_GROUPS_PER_SLICE, count, _GROUPS_PER_SLICE):
            schedule(start, min(start + _GROUPS_PER_SLICE, count))
            yield

    schedule(0, min(_GROUPS_PER_SLICE, count))
    if count > _GROUPS_PER_SLICE:
        view.broker.groups.start_work("requests to groups", slices())


def ask_groups(
    view: BrokerView,
    group_ids: Sequence[str],
    operation: Callable[[GroupCoordinatorShard, str, Token], Outcome],
    *,
    of_error: Callable[[str, ErrorCode], P],
    finish: Callable[[Sequence[P]], None],
) -> None:
    """Have the shard of each group answer for it; `finish` gets the parts, in the order of the groups.

    `of_error` returns the part of a group whose shard fails. Many groups take many steps.
    """
    gathered = Gathered(len(group_ids), finish)

    def schedule(start: int, end: int) -> None:
        for place, group_id in enumerate(group_ids[start:end], start):
            view.broker.groups.schedule(
                group_id,
                partial(_for_group, operation, group_id),
                gathered.place(place, partial(_of_operation_error, of_error, group_id)),
            )

    schedule_in_slices(view, len(group_ids), schedule)


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
    """Parts of one response that arrive one by one; `finish` gets them once, in the order of their places."""

    def __init__(self, count: int, finish: Callable[[Sequence[P]], None]) -> None:
        self._parts: list[P | None] = [None] * count
        self._left = count
        self._finish = finish
        if not count:
            finish([])

    def put(self, place: int, part: P) -> None:
        """Add a part; the last one calls `finish`."""
        self._parts[place] = part
        self._left -= 1
        if not self._left:
            self._finish([each for each in self._parts if each is not None])

    def place(self, place: int, of_error: Callable[[ErrorCode], P]) -> Done:
        """Return a callback for the shard's answer at a place; `of_error` turns an error into a part."""
        return partial(self._receive, place, of_error)

    def _receive(self, place: int, of_error: Callable[[ErrorCode], P], result: WireStruct | ErrorCode) -> None:
        # A shard replies with the part that the handler asked for.
        self.put(place, of_error(result) if isinstance(result, ErrorCode) else result)  # type: ignore[arg-type]
