"""Transactions on a broker's disk, in every state, and what the next broker on that disk makes of them.

Either may be real or ours; tests/data/transactions has what a real one makes of a real one's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recorded_story import read_steps
from transaction_data import DataChapters
from transaction_story import DATA

from falkirk.protocol.messages import InitProducerIdRequest, OffsetFetchRequest
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup

if TYPE_CHECKING:
    from pathlib import Path

EXCHANGED = (("3.9.1", 0), ("4.3.1", 0), ("4.3.1", 2))
_NAMES = ("empty", "committed", "aborted", "open", "begun", "fenced")


def golden_file(release: str, level: int) -> Path:
    """Return the file with Kafka's responses."""
    return DATA / f"exchange-{release}-level-{level}.jsonl"


def golden(release: str, level: int) -> list[dict[str, Any]]:
    """Return Kafka's recorded responses, step by step."""
    return read_steps(golden_file(release, level))


class TransactionExchange(DataChapters):
    """`before` on the first broker, `after` on the second one; `steps` has the responses of both."""

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Return name, version and response of each step."""
        return self._steps

    def before(self, level: int) -> None:
        """Leave transactions in every state that lasts."""
        self._set_up(level)
        for name in _NAMES:
            self._new(name, timeout_ms=900_000)
        for name in ("committed", "aborted", "fenced", "open"):
            self._add("data", name, ("one", 0), ("one", 1))
            self._produce("data", name, f"{name} 0".encode())
            self._produce("data", name, f"{name} 1".encode(), f"{name} 2".encode(), number=1)
        self._end("before", "committed")
        self._end("before", "aborted", commit=False)
        self._init("before", "fenced")
        self._ready("committed", "aborted", "fenced")
        self._add_offsets("before", "open", "readers")
        self._commit_offsets("before", "open", "readers")
        self._add("without data", "begun", ("two", 0))
        self._tell("before")

    def after(self) -> None:
        """Go on with them."""
        self._led_by("one", 0, self._asker.own_id)
        self._until(lambda answer: answer.error_code == 0, InitProducerIdRequest(None), 3)
        self._found_again()
        self._tell("after")
        self._produce("again", "open", b"open 0")
        self._produce("next", "open", b"open 3", sequence=1)
        self._add("more", "open", ("two", 0))
        self._produce("more", "open", b"open 4", topic="two")
        self._end("after", "open")
        self._end("after", "begun", commit=False)
        self._ready("open", "begun")
        for name in ("empty", "committed", "aborted"):
            self._add("after", name, ("one", 0))
            self._produce("after", name, b"late", sequence=0 if name == "empty" else 1)
            self._end("after", name)
            self._ready(name)
        for name in _NAMES:
            self._init("after", name)
        self._tell("at the end")
        self._logs()

    def _tell(self, when: str) -> None:
        self._describe(when, *_NAMES)
        self._list(when, 0, state_filters=("Ongoing",))
        self._look(when)
        self._look(when, "two")
        self._fetch(when, "one", is_committed=True)
        self._fetch(when, "one", 1, is_committed=True)
        self._offsets(when, "readers")

    def _found_again(self) -> None:
        """Wait until the next broker has loaded what coordinators know."""
        self._ready("empty", "committed", "aborted")
        groups = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("readers", topics=None)])
        self._until(lambda answer: answer.groups[0].error_code == 0, groups, 8)
