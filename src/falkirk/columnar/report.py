"""What a bulk read met besides rows: where it stopped, what it could not read, what it did not know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import IncompleteBatchError

if TYPE_CHECKING:
    from collections.abc import Callable

ProblemKind = Literal["torn tail", "corrupt batch", "bad record", "unknown record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Bytes that gave no rows.

    A torn tail and a corrupt header end the read at `position`; a corrupt batch is left out as a whole, a bad or
    unknown record alone, and the read goes on behind it.
    """

    kind: ProblemKind
    # Byte of the file. In a compressed batch nothing but the batch itself has one.
    position: int
    # Offset of the record, or base offset of the batch; None where no header could be read.
    offset: int | None
    reason: str

    def error(self) -> RemoteProtocolError:
        """Give the exception that says the same."""
        cls = IncompleteBatchError if self.kind == "torn tail" else RemoteProtocolError
        return cls(self.reason, offset=self.position)


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
    """Filled while a reader runs, complete when it is exhausted.

    With `strict` (what readers do when they are given no report) the first problem raises RemoteProtocolError at its
    byte of the file instead of being kept.
    """

    strict: bool = False
    # Byte where the file ends inside a batch: the rest is what a write that never finished left.
    torn_at: int | None = None
    batches: int = 0
    records: int = 0
    # Control batches are framed and counted; the typed readers give no rows for them.
    control_records: int = 0
    # By (message name, record version): everything that was decoded, or would be by another reader of this package.
    record_counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    unknown: dict[tuple[int, int | None], UnknownRecords] = field(default_factory=dict)

    def add(self, problem: Problem) -> None:
        """Keep a problem; raises it as RemoteProtocolError if the report is strict."""
        if self.strict:
            raise problem.error()
        if problem.kind == "torn tail":
            self.torn_at = problem.position
        self.problems.append(problem)

    def add_unknown(self, record_type: int, version: int | None, what: str, *, position: int, offset: int) -> None:
        """Count a record that nothing here can read; one problem stands for all of a type and version."""
        known = self.unknown.get((record_type, version))
        if known is None:
            self.add(Problem(kind="unknown record", position=position, offset=offset, reason=what))
            known = UnknownRecords(
                record_type=record_type, version=version, what=what, count=0, first_position=position
            )
        self.unknown[record_type, version] = replace(known, count=known.count + 1)


def reason_refused(decode: Callable[[], object], position: int, *, otherwise: int) -> tuple[str, int]:
    """Let the row codec say why it refuses bytes; give (reason, byte of the file).

    `position` is the byte of the file where what it decodes starts, `otherwise` the byte to name if it refuses nothing:
    the columns refuse only what the row codec refuses (tests hold them equal), but should they ever differ, that is
    told as well, and the bytes still give no rows.
    """
    try:
        decode()
    except RemoteProtocolError as error:
        where = f" in {error.path}" if error.path else ""
        return f"{error.reason}{where}", position + error.offset
    return "columns and row codec disagree about these bytes", otherwise
