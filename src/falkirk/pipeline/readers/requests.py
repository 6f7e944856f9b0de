"""Request logs as rows of the table `requests`: lines of Kafka's request logger, and falkirk's own.

Kafka's logger (`kafka.request.logger` at DEBUG) writes `Completed request:` and a JSON object; the rest of the line
depends on the node's log configuration. A time with a date before the object is used if there is one; without a zone it
is the node's local time, and the caller must name the zone. Falkirk's lines are the object alone, with time and node
inside (`storage.request_log`). Lines of other loggers are skipped and counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from json import JSONDecoder
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import pyarrow as pa

from falkirk.pipeline.readers.lines import LINE_BYTES_MAX
from falkirk.pipeline.readers.problem_rows import problem_row
from falkirk.pipeline.readers.row_columns import TIME_END, TIME_MIN
from falkirk.pipeline.tables.requests import REQUESTS as TABLE
from falkirk.protocol.messages import REQUESTS
from falkirk.storage.request_line import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import tzinfo

    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.origin import Origin
    from falkirk.pipeline.readers.problem_rows import Row

BAD_LINES_MAX: Final = 100
"""Bad lines of a range that are reported one by one; beyond that they are counted."""
_Int16 = Annotated[int, msgspec.Meta(ge=-(1 << 15), lt=1 << 15)]
_Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
_Milliseconds = Annotated[int, msgspec.Meta(ge=TIME_MIN, lt=TIME_END)]
_MARK: Final = b"Completed request:"
_API_NAMES: Final = {key: name.removesuffix("Request") for key, name in REQUESTS.items()}
_TIME: Final = re.compile(rb"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|[+-]\d\d:?\d\d))?")
_CONNECTION: Final = re.compile(r".*:\d+-(.*):\d+(?:-\d+){1,2}")
_BRACE: Final = ord("{")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that is marked as a request but does not parse, or (`is_torn`) the last one without its line end."""

    position: int
    reason: str
    is_torn: bool = False


@dataclass(slots=True, kw_only=True)
class RequestReport:
    """Filled while `read_requests` runs; complete when it is exhausted."""

    requests: int = 0
    # Lines of other loggers.
    skipped: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)
    # Bad lines beyond BAD_LINES_MAX.
    more_bad_lines: int = 0

    def add(self, line: BadLine) -> None:
        """Keep or count a bad line."""
        if len(self.bad_lines) < BAD_LINES_MAX or line.is_torn:
            self.bad_lines.append(line)
        else:
            self.more_bad_lines += 1

    def problem_rows(self, origin: Origin) -> list[Row]:
        """Return rows of the table `problems`."""
        rows = [
            problem_row(origin, "torn tail" if line.is_torn else "bad line", line.reason, position=line.position)
            for line in self.bad_lines
        ]
        if self.more_bad_lines:
            reason = f"more lines like the {BAD_LINES_MAX} before"
            rows.append(problem_row(origin, "bad line", reason) | {"count": self.more_bad_lines})
        if self.skipped and not self.requests and not self.bad_lines:
            reason = f"none of {self.skipped} lines is one of a request log"
            rows.append(problem_row(origin, "bad line", reason) | {"count": self.skipped})
        return rows


def read_requests(
    chunks: Iterable[Chunk], origin: Origin, report: RequestReport, *, zone: tzinfo = UTC
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a request log, an Arrow batch for each chunk; `zone` applies to times without one.

    A last line without its line end is not a row: it is in `report`, and is read when it is complete.
    """
    for chunk in chunks:
        rows = [
            _row(line, origin, position, _time(prefix, zone))
            for position, prefix, line in _lines(bytes(chunk.data), chunk.position, report)
        ]
        report.requests += len(rows)
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(values, each.type) for values, each in zip(columns, TABLE.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=TABLE.schema)


class _Header(msgspec.Struct, rename="camel"):
    request_api_key: _Int16
    request_api_version: _Int16
    client_id: str | None = None
    request_api_key_name: str | None = None
    request_api_version_deprecated: bool | None = None


class _Client(msgspec.Struct, rename="camel"):
    software_name: str = UNKNOWN
    software_version: str = UNKNOWN


class _Group(msgspec.Struct, rename="camel"):
    group_id: str | None = None


class _Transaction(msgspec.Struct, rename="camel"):
    transactional_id: str | None = None


class _Request(msgspec.Struct, rename="camel"):
    """The wanted fields of all APIs' requests; each request has some of them, or none."""

    group_id: str | None = None
    # OffsetFetch 8 and later, and others; of DescribeGroups these are names.
    groups: list[_Group | str] = []
    transactional_id: str | None = None
    v3_and_below_transactional_id: str | None = None
    transactions: list[_Transaction] = []
    client_software_name: str | None = None
    client_software_version: str | None = None


class _Response(msgspec.Struct, rename="camel"):
    error_code: _Int16 | None = None


class _BareLine(msgspec.Struct, rename="camel"):
    """A line without request and response, for releases in which these have other types."""

    request_header: _Header
    timestamp: _Milliseconds | None = None
    node_id: _Int32 | None = None
    is_forwarded: bool | None = None
    connection: str | None = None
    total_time_ms: float | None = None
    security_protocol: str | None = None
    principal: str | None = None
    listener: str | None = None
    client_information: _Client | None = None


class _Line(_BareLine, rename="camel"):
    request: _Request | None = None
    response: _Response | None = None


_DECODER: Final = msgspec.json.Decoder(_Line)
_BARE_DECODER: Final = msgspec.json.Decoder(_BareLine)
_NO_REQUEST: Final = _Request()


def _lines(text: bytes, position: int, report: RequestReport) -> Iterator[tuple[int, bytes, _BareLine]]:
    """Yield (byte of the file, text before the object, object) of each request."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        if end < 0:
            reason = f"{len(text) - start} bytes without the end of a line: they count once it is written"
            report.add(BadLine(position=position + start, reason=reason, is_torn=len(text) - start < LINE_BYTES_MAX))
            return
        mark = text.find(_MARK, start, end)
        if mark >= 0 or text[start] == _BRACE:
            at = start if mark < 0 else mark + len(_MARK)
            line = _object(text[at:end], position + start, report)
            if line is not None:
                yield position + start, text[start : max(mark, start)], line
        else:
            report.skipped += 1
        start = end + 1


def _object(text: bytes, position: int, report: RequestReport) -> _BareLine | None:
    try:
        try:
            # A logger's pattern may append its name, but hardly ever braces.
            return _DECODER.decode(text[: text.rfind(b"}") + 1])
        except msgspec.DecodeError:
            return _BARE_DECODER.decode(_first_object(text))
    except (msgspec.DecodeError, ValueError) as error:
        report.add(BadLine(position=position, reason=f"no request in this line: {error}"))
        return None


def _first_object(text: bytes) -> bytes:
    """Cut off what follows a JSON object. Raises ValueError if there is none."""
    decoded = text.decode()
    _, end = JSONDecoder().raw_decode(decoded)
    return decoded[:end].encode()


def _row(line: _BareLine, origin: Origin, position: int, time: int | None) -> tuple[Any, ...]:  # Any: values of columns
    """Return the values of a row in the order of the table's columns."""
    header = line.request_header
    request = (isinstance(line, _Line) and line.request) or _NO_REQUEST
    response = line.response if isinstance(line, _Line) else None
    client = line.client_information
    name = request.client_software_name or (client and client.software_name)
    version = request.client_software_version or (client and client.software_version)
    return (
        line.node_id if origin.node_id is None else origin.node_id,
        origin.source,
        position,
        line.timestamp if time is None else time,
        header.request_api_key,
        _API_NAMES.get(header.request_api_key) or header.request_api_key_name,
        header.request_api_version,
        header.client_id,
        None if name == UNKNOWN else name,
        None if version == UNKNOWN else version,
        line.connection,
        None if line.connection is None else _client_host(line.connection),
        line.listener,
        line.security_protocol,
        line.principal,
        line.is_forwarded,
        header.request_api_version_deprecated,
        request.group_id or _first_group(request.groups),
        request.transactional_id or request.v3_and_below_transactional_id or _first_transaction(request.transactions),
        None if response is None else response.error_code,
        line.total_time_ms,
    )


def _first_group(groups: list[_Group | str]) -> str | None:
    return groups[0].group_id if groups and isinstance(groups[0], _Group) else None


def _first_transaction(transactions: list[_Transaction]) -> str | None:
    return transactions[0].transactional_id if transactions else None


@lru_cache(maxsize=4096)
def _client_host(connection: str) -> str | None:
    found = _CONNECTION.fullmatch(connection)
    return found[1] if found else None


def _time(prefix: bytes, zone: tzinfo) -> int | None:
    """Find a time with a date; return milliseconds since 1970."""
    found = _TIME.search(prefix)
    if found is None:
        return None
    seconds = _seconds(found[1], found[2], found[4], zone)
    return None if seconds is None else seconds * 1000 + int((found[3] or b"0").ljust(3, b"0")[:3])


@lru_cache(maxsize=4096)
def _seconds(date: bytes, clock: bytes, offset: bytes | None, zone: tzinfo) -> int | None:
    try:
        time = datetime.fromisoformat(f"{date.decode()}T{clock.decode()}{(offset or b'').decode()}")
    except ValueError:
        return None
    return int((time if time.tzinfo else time.replace(tzinfo=zone)).timestamp())
