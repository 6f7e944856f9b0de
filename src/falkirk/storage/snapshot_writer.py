"""Writes metadata snapshots byte for byte as Kafka does, including the division into batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from falkirk.protocol.batch_builder import ValueBatchBuilder, build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from falkirk.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.record import Record
from falkirk.protocol.schema import WireMessage

BATCH_BYTES_MAX = 8 * 1024 * 1024
"""KRaft's limit for a batch, header included (KafkaRaftClient.MAX_BATCH_SIZE_BYTES)."""
GROUP_RECORDS_MAX = 1024
"""Kafka's image writer emits records in groups of this many; a group never spans two batches."""


class SnapshotWriter:
    """Receives records and returns the bytes to append to the file.

    `clock` returns the time (ms) and is read once when a batch is started: for reproducible files pass a constant.
    Voters need a kraft.version of at least 1.

    How records fall into batches follows Kafka's BatchAccumulator: a batch fills up to `BATCH_BYTES_MAX`; the group
    that no longer fits is drained along with it, as a batch of its own; the group after that starts the next full
    batch. (Readers do not care, but so the file is equal to Kafka's.)
    """

    def __init__(
        self,
        *,
        epoch: int,
        last_contained_log_timestamp: int,
        clock: Callable[[], int],
        kraft_version: int = 0,
        voters: VotersRecord | None = None,
    ) -> None:
        if voters is not None and kraft_version < 1:
            raise LocalProtocolError(f"a snapshot at kraft.version {kraft_version} can not hold voters")
        self._epoch = epoch
        self._clock = clock
        self._next_offset = 0
        self._group: list[bytes] = []
        self._current: ValueBatchBuilder | None = None
        header = SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp)
        control: list[tuple[ControlRecordType, WireMessage]] = [(ControlRecordType.SNAPSHOT_HEADER, header)]
        if kraft_version >= 1:
            control.append((ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=kraft_version)))
        if voters is not None:
            control.append((ControlRecordType.KRAFT_VOTERS, voters))
        self._completed = [self._control_batch(control)]

    def append_all(self, values: Iterable[bytes]) -> Iterator[bytes]:
        """Add records (their frames and bodies); yield the batches that are ready to be written, often none.

        Raises LocalProtocolError if a record alone is larger than a batch may be.
        """
        iterator = iter(values)
        while added := list(islice(iterator, GROUP_RECORDS_MAX - len(self._group))):
            self._group += added
            if len(self._group) == GROUP_RECORDS_MAX:
                self._append_group()
                yield from self._drain()

    def finish(self) -> Iterator[bytes]:
        """Yield the rest, with the footer."""
        self._append_group()
        self._complete_current()
        self._completed.append(self._control_batch([(ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord())]))
        yield from self._drain()

    def _append_group(self) -> None:
        group, self._group = self._group, []
        if not group:
            return
        current = self._current
        if current is None:
            self._begin_batch(group)
            return
        encoded = current.encode(group)
        if current.size + len(encoded) <= BATCH_BYTES_MAX:
            current.add(encoded, len(group))
            self._next_offset += len(group)
        else:
            self._complete_current()
            self._begin_batch(group)
            self._complete_current()

    def _begin_batch(self, group: Sequence[bytes]) -> None:
        current = ValueBatchBuilder(base_offset=self._next_offset, leader_epoch=self._epoch, timestamp_ms=self._clock())
        encoded = current.encode(group)
        if current.size + len(encoded) > BATCH_BYTES_MAX:
            self._begin_batches_of_halves(group)
            return
        current.add(encoded, len(group))
        self._current = current
        self._next_offset += len(group)

    def _begin_batches_of_halves(self, group: Sequence[bytes]) -> None:
        # Differs from Kafka: its writer fails when a group of records does not fit one batch.
        if len(group) == 1:
            raise LocalProtocolError(f"record of {len(group[0])} bytes is larger than a batch may be")
        middle = len(group) // 2
        for half in (group[:middle], group[middle:]):
            self._complete_current()
            self._begin_batch(half)

    def _complete_current(self) -> None:
        if self._current is not None:
            self._completed.append(self._current.build())
            self._current = None

    def _drain(self) -> list[bytes]:
        out, self._completed = self._completed, []
        return out

    def _control_batch(self, control: Sequence[tuple[ControlRecordType, WireMessage]]) -> bytes:
        now_ms = self._clock()
        records = [
            Record(self._next_offset + index, now_ms, *encode_control_record(record_type, message))
            for index, (record_type, message) in enumerate(control)
        ]
        self._next_offset += len(records)
        return build_batch(records, base_offset=records[0].offset, leader_epoch=self._epoch, is_control=True)


def write_snapshot(
    values: Iterable[bytes],
    *,
    epoch: int,
    last_contained_log_timestamp: int,
    clock: Callable[[], int],
    kraft_version: int = 0,
    voters: VotersRecord | None = None,
) -> Iterator[bytes]:
    """Yield a whole snapshot in chunks, as `Disk.write` takes them."""
    writer = SnapshotWriter(
        epoch=epoch,
        last_contained_log_timestamp=last_contained_log_timestamp,
        clock=clock,
        kraft_version=kraft_version,
        voters=voters,
    )
    yield from writer.append_all(values)
    yield from writer.finish()
