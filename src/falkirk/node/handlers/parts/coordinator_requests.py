"""What requests to coordinators share: the way to a shard, to many shards, and errors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from falkirk.coordinator.runtime.client import ClientContext
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.coordinator_runtime.coordinator_runtime import CoordinatorRuntime
    from falkirk.node.broker.coordinator_runtime.coordinator_shard import S
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.schema import WireStruct

P = TypeVar("P")
# Describing a group without members takes some ten microseconds.
KEYS_AT_ONCE: Final = 200


def client_of(context: RequestContext) -> ClientContext:
    """Return the client as shards know it."""
    return ClientContext(
        api_version=context.api_version, client_id=context.client_id or "", client_host=f"/{context.client_host}"
    )


def ask_coordinator(
    coordinator: CoordinatorRuntime[S],
    context: RequestContext,
    request: WireMessage,
    key: str,
    operation: Callable[[S, Token], Outcome],
    *,
    client_error: Callable[[ErrorCode], ErrorCode] = operation_error,
    change: Callable[[WireMessage], WireMessage] | None = None,
    schedule: Callable[[Callable[[S, Token], Outcome], Done], None] | None = None,
) -> AnswerLater:
    """Have the shard of a key answer the whole request; `client_error` maps its errors.

    `change` is applied to every response, that of an error, too. `schedule` replaces the coordinator's own.
    """

    def start(answer: Answer) -> None:
        def done(result: WireStruct | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                result = error_response(request, context.api_version, client_error(result))
            assert isinstance(result, WireMessage), "a whole response"
            answer(result if change is None else change(result))

        if schedule is None:
            coordinator.schedule(key, operation, guarded(answer, done))
        else:
            schedule(operation, guarded(answer, done))

    return AnswerLater(start)


def schedule_in_slices(
    coordinator: CoordinatorRuntime[S],
    count: int,
    schedule: Callable[[int, int], None],
    *,
    at_once: int = KEYS_AT_ONCE,
) -> None:
    """Schedule operations for `count` keys of a request: `schedule` gets a start and an end, once in each step."""

    def slices() -> Generator[None, None, None]:
        for start in range(at_once, count, at_once):
            schedule(start, min(start + at_once, count))
            yield

    schedule(0, min(at_once, count))
    if count > at_once:
        coordinator.start_work("requests to coordinators", slices())


def ask_each(
    coordinator: CoordinatorRuntime[S],
    keys: Sequence[str],
    operation: Callable[[S, str, Token], Outcome],
    *,
    of_error: Callable[[str, ErrorCode], P],
    finish: Callable[[Sequence[P]], None],
) -> None:
    """Have the shard of each key answer for it; `finish` gets the parts, in the order of the keys.

    `of_error` returns the part of a key whose shard fails. Many keys take many steps.
    """
    gathered = Gathered(len(keys), finish)

    def schedule(start: int, end: int) -> None:
        for place, key in enumerate(keys[start:end], start):
            coordinator.schedule(
                key,
                partial(_for_key, operation, key),
                gathered.place(place, partial(_of_operation_error, of_error, key)),
            )

    schedule_in_slices(coordinator, len(keys), schedule)


def _for_key(operation: Callable[[S, str, Token], Outcome], key: str, shard: S, token: Token) -> Outcome:
    return operation(shard, key, token)


def _of_operation_error(of_error: Callable[[str, ErrorCode], P], key: str, error: ErrorCode) -> P:
    return of_error(key, operation_error(error))


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
            # Each place has its part.
            self._finish(cast("list[P]", self._parts))

    def place(self, place: int, of_error: Callable[[ErrorCode], P]) -> Done:
        """Return a callback for the shard's answer at a place; `of_error` turns an error into a part."""
        return partial(self._receive, place, of_error)

    def _receive(self, place: int, of_error: Callable[[ErrorCode], P], result: WireStruct | ErrorCode) -> None:
        # A shard replies with the part that the handler asked for.
        self.put(place, of_error(result) if isinstance(result, ErrorCode) else result)  # type: ignore[arg-type]
