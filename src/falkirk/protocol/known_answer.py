"""Requests that are answered with bytes that are known already, because the same bytes were answered before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.schema import WireMessage

_PARTS: Final = 3


class KnownAnswer(FrozenStruct):
    """What a request is answered with that has the same bytes as an earlier one, save the correlation id."""

    request: "WireMessage"
    api_version: int
    before: bytes  # of the correlation id: the frame's length
    after: bytes


class KnownRequestsAnswered(FrozenStruct):
    """Requests of one version of an API that were answered from `known_answers`: `data` is to be sent.

    They came behind each other in one piece. `request` is the last one's message, and not to be changed: others have
    it, too.
    """

    data: bytes
    count: int
    request: "WireMessage"
    api_version: int


def known_requests_answered(parts: Sequence[bytes], last: KnownAnswer) -> KnownRequestsAnswered:
    """Put together what is sent: of each answer frame length, correlation id, and the rest. `last`: the last one."""
    return KnownRequestsAnswered(b"".join(parts), len(parts) // _PARTS, last.request, last.api_version)


def are_alike(one: KnownAnswer, other: KnownAnswer) -> bool:
    """Return whether both answer the same version of the same API."""
    return type(one.request) is type(other.request) and one.api_version == other.api_version
