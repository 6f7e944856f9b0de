"""The request log: a file with a line for every answered request (`storage.request_line`)."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from falkirk.node.connections.request_facts import REQUEST_ANSWERED
from falkirk.storage.request_line import RequestLine, write_kafka_line, write_request_line

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.node.effects import Fact


class RequestLogLayout(StrEnum):
    """The layout of lines: the object alone, or as Kafka's own logger writes it."""

    JSON = "json"
    KAFKA = "kafka"


class RequestLog:
    """A file that is appended to, at the end of each step."""

    def __init__(self, path: Path, layout: RequestLogLayout = RequestLogLayout.JSON) -> None:
        """Open it. Raises OSError."""
        self._file = path.open("ab", buffering=0)
        self._write = write_request_line if layout is RequestLogLayout.JSON else write_kafka_line
        self._lines: list[bytes] = []

    def add(self, fact: Fact) -> bool:
        """Add a fact's line; return False for other facts."""
        if fact.event != REQUEST_ANSWERED:
            return False
        line = fact.fields["line"]
        assert isinstance(line, RequestLine)
        self._lines.append(self._write(line))
        return True

    def flush(self) -> None:
        """Write the added lines. Raises OSError; lines that could not be written are lost."""
        if self._lines:
            data, self._lines = b"".join(self._lines), []
            self._file.write(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
