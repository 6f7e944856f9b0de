"""What a handler of a request returns, and how it answers later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, Union

from falkirk.metadata.requests.request_context import RequestContext  # noqa: TC001
from falkirk.protocol.connection import RequestReceived  # noqa: TC001
from falkirk.protocol.schema import WireMessage  # noqa: TC001
from falkirk.slices import Slices, exhaust
from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EncodedResponse:
    """A response body that is encoded already, in the version of the request.

    `is_for_all`: it depends on nothing but the request's bytes, the ranges of the listener, and the image's features
    (ApiVersions) or topics and brokers (Metadata). Until one of these changes, the same bytes from any client of such a
    listener get the same response without being decoded.
    """

    body: bytes
    is_for_all: bool = True


@dataclass(frozen=True, slots=True)
class EncodedPieces:
    """An encoded response body that is too large to be joined within a step."""

    pieces: Sequence[bytes]


@dataclass(frozen=True, slots=True)
class AnswerInSlices:
    """A response of the image that takes many steps; `slices` is the generator whose result it is.

    One that is for all is kept if topics and brokers are still those of the first step.
    """

    slices: Slices[EncodedResponse | EncodedPieces | WireMessage]


class InPieces(FrozenStruct):
    """A response whose large fields of bytes are sent without copying them once more."""

    message: WireMessage


@dataclass(frozen=True, slots=True)
class AskRaft:
    """The replica of the metadata log answers this request, at once or later."""


@dataclass(frozen=True, slots=True)
class InSlices:
    """A decision of the controller that may take many steps.

    `decide` makes the generator whose result is the decision, or a response if nothing is to be decided; it is called
    once more if the controller's state changes meanwhile.
    """

    decide: "Callable[[], Slices[WireMessage | ControllerResult[WireMessage]]]"


@dataclass(frozen=True, slots=True)
class NotController:
    """This node is no longer the active controller."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """No response (Produce with acks 0); `close`: the connection is closed, so that the client learns of an error.

    `throttle_ms`: for how long the client's next requests wait.
    """

    close: bool = False
    throttle_ms: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """The request cannot be answered, for a fault of ours: given inside the `except` block that has caught it."""


LateAnswer = Union[
    "WireMessage",
    EncodedResponse,
    AnswerInSlices,
    InPieces,
    NoAnswer,
    "ControllerResult[WireMessage]",
    NotController,
    Failed,
    "AnswerLaterInSlices",
]

Answer = Callable[[LateAnswer], None]
"""Sends the answer to one request; called once, or once more by the slices of an AnswerLaterInSlices.

An EncodedResponse is not kept for other clients here.
A ControllerResult is appended at once: the controller that is active in this step must have decided it.
"""


def guarded(answer: Answer, callback: Callable[[T], None]) -> Callable[[T], None]:
    """Return a callback of what a handler waits for: a fault of ours in it fails the request, and nothing else.

    Who calls it is not the dispatcher, and knows nothing of the request.
    """

    def call(result: T) -> None:
        try:
            callback(result)
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - as in the dispatcher: log it, and answer
            answer(Failed())

    return call


# Made for each request for records: a Struct costs a fifth of a dataclass.
class AnswerLater(FrozenStruct):
    """The dispatcher calls `start` at once, which calls its argument with the answer, then or in a later step."""

    start: Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class AnswerLaterInSlices:
    """As AnswerLater, for a request so large that it takes many steps.

    `is_exclusive`: later requests of the connection are handled once this one is answered, as all are in Kafka. Else
    they may overtake it.
    """

    start: "Callable[[Answer], Slices[None]]"
    is_exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The request inside an envelope: it is handled next, and its response is put into an EnvelopeResponse."""

    request: RequestReceived
    context: RequestContext


def in_slices_if(
    is_large: bool,  # noqa: FBT001 - the name says it
    start: Callable[[Answer], Slices[None]],
    *,
    is_exclusive: bool = False,
) -> AnswerLater | AnswerLaterInSlices:
    """Return what runs `start`: over many steps if the request is large, else at once."""
    return AnswerLaterInSlices(start, is_exclusive) if is_large else AnswerLater(lambda answer: exhaust(start(answer)))


def at_once_or_in_slices(start: Callable[[Answer], Slices[None]], *, is_exclusive: bool) -> AnswerLater:
    """Return what runs `start`: at once if that takes no more than a slice, else over many steps."""

    def begin(answer: Answer) -> None:
        slices = start(answer)
        for _ in slices:
            answer(AnswerLaterInSlices(lambda _: _in_next_step(slices), is_exclusive))
            return

    return AnswerLater(begin)


def _in_next_step(slices: Slices[None]) -> Slices[None]:
    # The step in which work begins does two slices of it.
    yield
    yield
    yield from slices


ASK_RAFT: Final = AskRaft()

HandlerResult = Union[
    "WireMessage",
    "ControllerResult[WireMessage]",
    EncodedResponse,
    AskRaft,
    InSlices,
    AnswerInSlices,
    AnswerLater,
    AnswerLaterInSlices,
    NoAnswer,
    Unwrapped,
]
"""A ControllerResult if there are records to append, or the response depends on the controller's state."""
