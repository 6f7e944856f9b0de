"""Log lines: what a node tells as facts, one line each, as text or as JSON.

2026-11-21T21:29:41.123Z INFO  [KafkaRaftServer nodeId=1] Kafka Server started cluster_id=0mkx...
{"timestamp":"2026-11-21T21:29:41.123Z","level":"info","event":"...","cluster_id":"0mkx..."}
"""

from __future__ import annotations

import json
import logging
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog

from falkirk.node.effects import Fact
from falkirk.printable import printable_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from structlog.typing import EventDict

_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)


class LogFormat(StrEnum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class FactLog:
    """Writes facts to a stream; a closed stream does not end the node."""

    def __init__(self, stream: TextIO, log_format: LogFormat, level: LogLevel) -> None:
        self._least = _NUMBERS[level]
        self._logger = structlog.wrap_logger(
            structlog.WriteLogger(stream),
            processors=[structlog.processors.add_log_level, _add_time, _RENDERERS[log_format]],
            wrapper_class=structlog.make_filtering_bound_logger(self._least),
            cache_logger_on_first_use=True,
        )

    def write(self, fact: Fact) -> None:
        """Write a fact, if its level is enabled."""
        number = _NUMBERS[LogLevel(fact.level)]
        if number >= self._least:
            with suppress(OSError):
                self._logger.log(number, fact.event, fields=fact.fields)

    def write_bug(self, error: BaseException) -> None:
        """Write an unexpected exception with its traceback."""
        lines = "".join(traceback.format_exception(error))
        self.write(Fact("error", "an error that falkirk did not expect; please report it", {"traceback": lines}))


_NUMBERS: Final = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}


def _add_time(_logger: object, _method: str, line: EventDict) -> EventDict:
    line["timestamp"] = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return line


def _render_text(_logger: object, _method: str, line: EventDict) -> str:
    fields = "".join(f" {name}={_shown(value)}" for name, value in line["fields"].items() if name != "traceback")
    text = f"{line['timestamp']} {line['level'].upper():<7} {line['event']}{fields}"
    trace = line["fields"].get("traceback")
    return text if trace is None else f"{text}\n{trace.rstrip()}"


def _render_json(_logger: object, _method: str, line: EventDict) -> str:
    head = {name: line[name] for name in ("timestamp", "level", "event")}
    return printable_json(_ENCODER.encode({**line["fields"], **head}).decode())


def _shown(value: object) -> str:
    text = str(value)
    if not text.isprintable():
        # Control characters would reach the terminal of whoever reads the log.
        return json.dumps(text)
    return _ENCODER.encode(text).decode() if not text or any(char in text for char in ' "=') else text


_RENDERERS: Final[dict[LogFormat, Callable[[Any, str, EventDict], str]]] = {  # Any: structlog's loggers
    LogFormat.TEXT: _render_text,
    LogFormat.JSON: _render_json,
}
