"""Sequences of requests for a real broker and for ours, whose responses are compared step by step.

Responses are decoded; values that differ from run to run are replaced by names (ids of topics, producers and sessions,
the current time), and fields with their defaults are left out. Where Kafka's order is arbitrary, lists are sorted.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from falkirk.versions.api_support import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release

# Of all records that a story writes; what is later is told by the broker's clock.
TIMESTAMP = 1_700_000_000_000
# Where a broker listens.
NODE_FIELDS = {"node_endpoints", "host", "port"}
# A message about times that a topic takes counts from now.
_TIMES = re.compile(r"\[-?\d+, \d+\]")


class Asker(Protocol):
    """A client of one broker."""

    def ask(self, message: WireMessage, version: int) -> Any:
        """Send a request and wait for its response; None if the connection is closed instead."""
        ...

    def tell(self, message: WireMessage, version: int) -> bool:
        """Send a request without a response; return whether the connection stays open."""
        ...

    def wait(self) -> None:
        """Let time pass."""
        ...


def read_steps(path: Path) -> list[dict[str, Any]]:
    """Read a golden file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_steps(path: Path, steps: list[dict[str, Any]]) -> None:
    """Write a golden file, a step on each line."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(step) + "\n" for step in steps))


def different_steps(ours: list[dict[str, Any]], real: list[dict[str, Any]], *, known: set[str]) -> list[Any]:
    """Return the steps with different responses; those known to differ are only named, and only if they do not."""
    assert [(step["step"], step["version"]) for step in ours] == [(step["step"], step["version"]) for step in real]
    different = [
        (own["step"], own["version"], own["answer"], other["answer"])
        for own, other in zip(ours, real, strict=True)
        if own["answer"] != other["answer"]
    ]
    equal_after_all = known - {step for step, *_ in different}
    return [step for step in different if step[0] not in known] + sorted(equal_after_all)


class RecordedStory:
    """Sends requests to one broker and keeps the responses, in the form of the golden files."""

    # Fields that are told by the broker's clock.
    NOW_FIELDS: ClassVar[frozenset[str]] = frozenset()
    # APIs whose responses are sorted.
    UNORDERED: ClassVar[frozenset[int]] = frozenset()

    def __init__(self, release: Release, asker: Asker) -> None:
        self.release = release
        self.ids: dict[str, bytes] = {}
        self._asker = asker
        self._ranges = release.api_ranges(Listener.BROKER)
        self._steps: list[dict[str, Any]] = []

    def _versions(self, key: int) -> Iterator[int]:
        served = self._ranges[key]
        return iter(range(served.lowest, served.highest + 1))

    def _step(self, name: str, message: WireMessage, version: int) -> Any:
        answer = self._asker.ask(message, version)
        told = "closed" if answer is None else self._plain(answer, is_sorted=message.SCHEMA.info.key in self.UNORDERED)
        self._steps.append({"step": name, "version": version, "answer": told})
        return answer

    def _plain(self, value: Any, *, is_sorted: bool, name: str = "") -> Any:  # noqa: PLR0911
        if isinstance(value, msgspec.Struct):
            default = type(value)()
            return {
                each: self._plain(getattr(value, each), is_sorted=is_sorted, name=each)
                for each in value.__struct_fields__
                if each not in NODE_FIELDS and (getattr(value, each) or None) != (getattr(default, each) or None)
            }
        if name == "leader_id" and value >= 0:
            return "the broker"
        if isinstance(value, list):
            plain = [self._plain(each, is_sorted=is_sorted) for each in value]
            return sorted(plain, key=json.dumps) if is_sorted else plain
        if isinstance(value, bytes):
            if name == "records":
                return self._records(value)
            known = next((topic for topic, topic_id in self.ids.items() if topic_id == value), None)
            return known or value.hex()
        if isinstance(value, tuple):
            return list(value)
        if isinstance(value, str):
            return _TIMES.sub("[then, then]", value)
        if name == "session_id":
            return "session"
        if name in self.NOW_FIELDS and value > TIMESTAMP:
            return "now"
        return value

    def _records(self, data: bytes) -> Any:
        return data.hex()

    def _id(self, name: str) -> bytes:
        """Return a topic's id; an unused one for an unknown name."""
        return self.ids.get(name, name.encode().ljust(16, b"?")[:16])
