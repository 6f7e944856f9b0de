"""What a bulk read found besides rows: where it stopped, what does not parse, unknown record types."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from falkirk.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

ProblemKind = Literal["torn tail", "corrupt batch", "bad record", "unknown record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Bytes without rows.

    A torn tail and a corrupt header end the read at `position`. A corrupt batch is left out as a whole, a bad or
    unknown record alone, and reading goes on behind it.
    """

    kind: ProblemKind
    # Byte of the file; that of the batch for everything inside a compressed one.
    position: int
    # Offset of the record, or base offset of the batch; None where no header could be read.
    offset: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecords:
    """Records of one type and version that no release up to 4.4 has."""

    record_type: int
    version: int | None
    what: str
    count: int
    first_position: int


@dataclass(slots=True, kw_only=True)
class ReadReport:
    """Filled while a reader runs; complete when the reader is exhausted."""

    # Byte where the file ends inside a batch: the rest was left by a write that never finished.
    torn_at: int | None = None
    batches: int = 0
    records: int = 0
    # Control batches are framed and counted; the typed readers yield no rows for them.
    control_records: int = 0
    # By (message name, record version): everything that was decoded, or would be by another reader of this package.
    record_counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    unknown: dict[tuple[int, int | None], UnknownRecords] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        """Keep a problem; a torn tail also sets `torn_at`."""
        if problem.kind == "torn tail":
            self.torn_at = problem.position
        self.problems.append(problem)

    def add_unknown(self, record_type: int, version: int | None, what: str, *, position: int, offset: int) -> None:
        """Count a record of an unknown type or version; one problem stands for all of them."""
        known = self.unknown.get((record_type, version))
        if known is None:
            self.add(Problem(kind="unknown record", position=position, offset=offset, reason=what))
            known = UnknownRecords(
                record_type=record_type, version=version, what=what, count=0, first_position=position
            )
        self.unknown[record_type, version] = replace(known, count=known.count + 1)


def reason_refused(decode: Callable[[], object], position: int, *, otherwise: int) -> tuple[str, int]:
    """Run the row codec on refused bytes: (its reason, byte of the file).

    `position` is the byte of the file where the decoded bytes start. `otherwise` is the byte to name if the row codec
    refuses nothing: tests hold both equal, but should they ever differ, that is reported and the bytes have no rows.
    """
    try:
        decode()
    except RemoteProtocolError as error:
        where = f" in {error.path}" if error.path else ""
        return f"{error.reason}{where}", position + error.offset
    return "columns and row codec disagree about these bytes", otherwise
