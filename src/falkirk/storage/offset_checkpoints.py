"""The checkpoints of a log directory that have one offset for each partition."""

from dataclasses import dataclass

from falkirk.slices import SliceBudget, Slices, exhaust
from falkirk.storage.checkpoint_text import checkpoint_slices
from falkirk.storage.integer_text import parse_integer

RECOVERY_POINT_FILE_NAME = "recovery-point-offset-checkpoint"
"""Each log is on disk up to here; recovery after an unclean shutdown starts here."""
REPLICATION_FILE_NAME = "replication-offset-checkpoint"
"""High watermarks."""
LOG_START_FILE_NAME = "log-start-offset-checkpoint"
"""First offsets, where they differ from that of the first segment (after DeleteRecords)."""
CLEANER_FILE_NAME = "cleaner-offset-checkpoint"
"""The ends of the last compactions."""

FILE_NAMES = (RECOVERY_POINT_FILE_NAME, REPLICATION_FILE_NAME, LOG_START_FILE_NAME, CLEANER_FILE_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionOffset:
    """One line."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCheckpoint:
    """Entries in the file's order, which is that of a hash table. `is_blank`: never written."""

    entries: tuple[PartitionOffset, ...] = ()
    is_blank: bool = False

    def as_dict(self) -> dict[tuple[str, int], int]:
        """Return offsets by (topic, partition); the last line of a partition counts."""
        return {(entry.topic, entry.partition): entry.offset for entry in self.entries}


def parse_offset_checkpoint(data: bytes, *, file: str) -> OffsetCheckpoint:
    """Read one of the four files. Raises CorruptFileError."""
    return exhaust(offset_checkpoint_slices(data, file=file))


def offset_checkpoint_slices(data: bytes, *, file: str) -> Slices[OffsetCheckpoint]:
    """Do the same in slices."""
    rows = yield from checkpoint_slices(data, columns=3, file=file)
    if rows is None:
        return OffsetCheckpoint(is_blank=True)
    entries, budget = [], SliceBudget()
    for at, fields in rows:
        if budget.spend(1):
            yield
        entries.append(
            PartitionOffset(
                topic=fields[0],
                partition=parse_integer(fields[1], what="partition", bits=32, offset=at, file=file),
                offset=parse_integer(fields[2], what="offset", bits=64, offset=at, file=file),
            )
        )
    return OffsetCheckpoint(entries=tuple(entries))
