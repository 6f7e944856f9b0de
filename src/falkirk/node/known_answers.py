"""Answers to requests that need not be read: the same bytes were answered before, and nothing has changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.connection import KNOWN_REQUEST_BYTES_MAX, known_answer, known_request_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.connection import RequestReceived
    from falkirk.protocol.known_answer import KnownAnswer
    from falkirk.protocol.schema import WireMessage

# Requests come from clients, so there must be an end to them: to their number, to their size, and to their answers.
KNOWN_ANSWERS_MAX: Final = 1024
KNOWN_ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024


class KnownAnswers:
    """By listener, for what is told of addresses is told by listener; and by API, for each rests on something else."""

    def __init__(self) -> None:
        self._by_listener: dict[str, dict[bytes, KnownAnswer]] = {}
        self._keys: dict[int, set[tuple[str, bytes]]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        """Count the answers."""
        return sum(map(len, self._by_listener.values()))

    def of_listener(self, listener: str) -> Mapping[bytes, KnownAnswer]:
        """Give the answers of a listener, as `Connection` wants them; they change from here on as all change."""
        return self._by_listener.setdefault(listener, {})

    def keep(self, listener: str, request: RequestReceived, message: WireMessage, body: bytes) -> None:
        """Know an answer from now on; if that is too much, forget all others."""
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
        """Read all requests anew, or those of one API: what answers rest on has changed."""
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
