"""Responses to requests that need not be decoded: the same bytes were answered before and nothing has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.connection import KNOWN_REQUEST_BYTES_MAX, known_answer, known_request_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.connection import RequestReceived
    from falkirk.protocol.known_answer import KnownAnswer
    from falkirk.protocol.schema import WireMessage

# Requests come from clients, so their number, their size and that of responses need limits.
KNOWN_ANSWERS_MAX: Final = 1024
KNOWN_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024


class KnownAnswers:
    """Responses by listener, whose advertised addresses differ, and by API, each of which depends on other state."""

    def __init__(self) -> None:
        self._by_listener: dict[str, dict[bytes, KnownAnswer]] = {}
        self._keys: dict[int, set[tuple[str, bytes]]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._by_listener.values()))

    def of_listener(self, listener: str) -> Mapping[bytes, KnownAnswer]:
        """Return the responses of a listener, as `Connection` uses them: a live view."""
        return self._by_listener.setdefault(listener, {})

    def keep(self, listener: str, request: RequestReceived, message: WireMessage, body: bytes) -> None:
        """Remember a response; if that exceeds a limit, drop all others."""
        if len(request.frame) > KNOWN_REQUEST_BYTES_MAX or len(body) > KNOWN_ANSWER_BYTES_MAX:
            return
        if len(self) >= KNOWN_ANSWERS_MAX or self._bytes + len(body) > KNOWN_ANSWER_BYTES_MAX:
            self.forget()
        key = known_request_key(request)
        self._drop(listener, key)
        known = self._by_listener.setdefault(listener, {})[key] = known_answer(request, message, body)
        self._keys.setdefault(request.api_key, set()).add((listener, key))
        self._bytes += len(known.after)

    def forget(self, api_key: int | None = None) -> None:
        """Drop all responses, or those of one API."""
        if api_key is None:
            for known in self._by_listener.values():
                known.clear()
            self._keys.clear()
            self._bytes = 0
            return
        for listener, key in self._keys.pop(api_key, ()):
            self._drop(listener, key)

    def _drop(self, listener: str, key: bytes) -> None:
        known = self._by_listener.get(listener, {}).pop(key, None)
        if known is not None:
            self._bytes -= len(known.after)
