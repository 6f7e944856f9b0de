"""The request log: a file with a line for every request that the node has answered (`storage.request_log`)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from falkirk.node.request_facts import REQUEST_ANSWERED
from falkirk.storage.request_log import RequestLine, write_kafka_line, write_request_line

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.node.effects import Fact


class RequestLogLayout(StrEnum):
    """How lines look: the object alone, or as Kafka's own logger writes it."""

    JSON = "json"
    KAFKA = "kafka"


class RequestLog:
    """A file that is added to. Lines are written out at the end of each step, all at once."""

    def __init__(self, path: Path, layout: RequestLogLayout = RequestLogLayout.JSON) -> None:
        """Open it. Raises OSError."""
        self._file = path.open("ab", buffering=0)
        self._write = write_request_line if layout is RequestLogLayout.JSON else write_kafka_line
        self._lines: list[bytes] = []

    def take(self, fact: Fact) -> bool:
        """Keep a fact that is a line of it; else say that it is none."""
        if fact.event != REQUEST_ANSWERED:
            return False
        line = fact.fields["line"]
        assert isinstance(line, RequestLine)
        self._lines.append(self._write(line))
        return True

    def flush(self) -> None:
        """Write out what was taken. Raises OSError; what could not be written is given up."""
        if self._lines:
            data, self._lines = b"".join(self._lines), []
            self._file.write(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
