"""`leader-epoch-checkpoint` of a partition: the start offset of each leader epoch (KIP-101)."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from falkirk.storage.checkpoint_text import format_checkpoint, parse_checkpoint
from falkirk.storage.integer_text import parse_integer

FILE_NAME = "leader-epoch-checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEntry:
    """`epoch` wrote from `start_offset` up to the next entry's start."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderEpochs:
    """Entries in increasing order. `is_blank`: the file exists but was never written."""

    entries: tuple[EpochEntry, ...] = ()
    is_blank: bool = False

    @property
    def latest_epoch(self) -> int | None:
        """The last epoch of the partition, None before any."""
        return self.entries[-1].epoch if self.entries else None

    def first_disorder(self) -> EpochEntry | None:
        """Return the first entry whose epoch or offset is not above the one before, None if all are in order.

        Kafka drops the entries before such a one when it loads the file, and goes on.
        """
        for before, after in pairwise(self.entries):
            if after.epoch <= before.epoch or after.start_offset <= before.start_offset:
                return after
        return None

    def epoch_of(self, offset: int) -> int | None:
        """Return the epoch that wrote the record at `offset`; None before the first entry."""
        assert self.first_disorder() is None
        at = bisect_right(self.entries, offset, key=lambda entry: entry.start_offset)
        return self.entries[at - 1].epoch if at else None


def parse_leader_epochs(data: bytes, *, file: str = FILE_NAME) -> LeaderEpochs:
    """Read the file. Raises CorruptFileError if it is malformed; for the order see `first_disorder`."""
    rows = parse_checkpoint(data, columns=2, file=file)
    if rows is None:
        return LeaderEpochs(is_blank=True)
    entries = tuple(
        EpochEntry(
            epoch=parse_integer(fields[0], what="epoch", bits=32, offset=at, file=file),
            start_offset=parse_integer(fields[1], what="start offset", bits=64, offset=at, file=file),
        )
        for at, fields in rows
    )
    return LeaderEpochs(entries=entries)


def format_leader_epochs(epochs: LeaderEpochs) -> bytes:
    """Write the file."""
    if epochs.is_blank:
        return b""
    return format_checkpoint([(entry.epoch, entry.start_offset) for entry in epochs.entries])
