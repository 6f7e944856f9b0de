"""`bootstrap.checkpoint` in every log directory: the first records of a new cluster's metadata log (KIP-778).

It is a snapshot of offset 0 and epoch 0. Releases below 4.4 read it at every start and stop if they do not know its
metadata.version; 4.4 writes none and puts the records into `00000000000000000000-0000000000.checkpoint` of the metadata
partition instead (with kraft.version and voters, if it is formatted with those).
"""

from collections.abc import Callable, Iterable, Iterator

from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.storage.snapshot_file import Snapshot, SnapshotId, SnapshotName, read_snapshot
from falkirk.storage.snapshot_writer import write_snapshot

FILE_NAME = "bootstrap.checkpoint"
BOOTSTRAP_SNAPSHOT = SnapshotName(id=SnapshotId(end_offset=0, epoch=0))
"""The snapshot that formatting puts into the metadata partition (for dynamic voters; from 4.4 on always)."""


def read_bootstrap_checkpoint(data: bytes | memoryview, *, file: str = FILE_NAME) -> Snapshot:
    """Read the file; the records are in the data batches. Raises CorruptFileError."""
    return read_snapshot(data, file=file)


def bootstrap_values(snapshot: Snapshot) -> list[bytes]:
    """Return the values (frame and body) of the data records."""
    return [value for batch in snapshot.data_batches for value in batch.values()]


def write_bootstrap_checkpoint(values: Iterable[bytes], *, clock: Callable[[], int]) -> Iterator[bytes]:
    """Yield the file in chunks, as `Disk.write` takes them; `clock` (ms) is read once per batch."""
    return write_snapshot(values, epoch=0, last_contained_log_timestamp=0, clock=clock)


def write_bootstrap_snapshot(
    values: Iterable[bytes], *, clock: Callable[[], int], kraft_version: int, voters: VotersRecord | None
) -> Iterator[bytes]:
    """Yield BOOTSTRAP_SNAPSHOT in chunks; `clock` (ms) is read for the time of formatting, then once per batch.

    Below 4.4 it has voters and no values; those are in `bootstrap.checkpoint`.
    """
    return write_snapshot(
        values,
        epoch=0,
        last_contained_log_timestamp=clock(),
        clock=clock,
        kraft_version=kraft_version,
        voters=voters,
    )
