"""Problems of a read as rows of the table `problems`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.record_batch import MAGIC_AT

if TYPE_CHECKING:
    from falkirk.columnar.report import Problem, ReadReport
    from falkirk.pipeline.readers.origin import Origin

    Row = dict[str, Any]  # Any: values of columns

UNREADABLE: Final = "unreadable file"
_UNKNOWN: Final = "unknown record"


def problem_rows(report: ReadReport, origin: Origin) -> list[Row]:
    """Return a row for each problem, and one with a count for each unknown type and version."""
    found = [row_of(problem, origin) for problem in report.problems if problem.kind != _UNKNOWN]
    first = {(each.position, each.reason): each.offset for each in report.problems if each.kind == _UNKNOWN}
    for unknown in report.unknown.values():
        position = unknown.first_position
        row = problem_row(origin, _UNKNOWN, unknown.what, position=position, offset=first[position, unknown.what])
        found.append(row | {"count": unknown.count})
    return found


def row_of(problem: Problem, origin: Origin) -> Row:
    """Return the row of one problem with batches or records."""
    kind: str = problem.kind
    reason = problem.reason
    if kind == "corrupt batch" and problem.offset is None and problem.position <= MAGIC_AT:
        kind, reason = UNREADABLE, f"no log of Kafka, or damaged at its very beginning: {reason}"
    return problem_row(origin, kind, reason, position=problem.position, offset=problem.offset)


def unreadable_row(origin: Origin, detail: str) -> Row:
    """Return the row of a file that could not be read at all."""
    return problem_row(origin, UNREADABLE, detail)


def problem_row(
    origin: Origin, kind: str, detail: str, *, position: int | None = None, offset: int | None = None
) -> Row:
    """Return a row about a position in a file."""
    return {
        "node_id": origin.node_id,
        "source": origin.source,
        "kind": kind,
        "position": position,
        "offset": offset,
        "count": 1,
        "detail": detail,
    }
