"""Logs of a topic partition on an in-memory disk, and batches to append."""

from collections.abc import Iterable, Sequence

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.disk import Disk
from falkirk.storage.log.append import AppendOrigin, LogAppendInfo
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.log.unified_log import UnifiedLog
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.producer_state import ProducerStates

DIRECTORY = "/d0/t-0"
TOPIC_ID = bytes(range(16))
NOW = 1_700_000_000_000


def opened(disk: Disk | None = None, *, directory: str = DIRECTORY, **changes: object) -> UnifiedLog:
    """Open a log; settings that are not given are those of a new partition, or of one that was closed cleanly."""
    arguments = {
        "topic_partition": TopicPartition("t", 0),
        "topic_id": TOPIC_ID,
        "recovery_point": 0,
        "log_start_offset": 0,
        "had_clean_shutdown": True,
        "now_ms": NOW,
    }
    known = set(LogConfig.__dataclass_fields__)
    config = LogConfig(**{name: value for name, value in changes.items() if name in known})  # type: ignore[arg-type]
    arguments |= {name: value for name, value in changes.items() if name not in known}
    opening = LogOpening(disk=disk or MemoryDisk(), directory=directory, config=config, **arguments)  # type: ignore[arg-type]
    return opening.run()


def produced(
    values: Sequence[bytes] = (b"value",),
    *,
    timestamp: int = NOW,
    producer: tuple[int, int, int] | None = None,
    is_transactional: bool = False,
) -> bytes:
    """Make a batch as a client sends it; `producer`: id, epoch and first sequence number."""
    producer_id, producer_epoch, base_sequence = producer or (-1, -1, -1)
    records = [Record(at, timestamp + at, None, value) for at, value in enumerate(values)]
    return build_batch(
        records,
        base_offset=0,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )


def stored(base_offset: int, epoch: int, count: int = 1, *, value: bytes = b"value", **changes: object) -> bytes:
    """Make a batch as it is stored in a leader's log."""
    timestamp = changes.pop("timestamp", NOW)
    assert isinstance(timestamp, int)
    records = [Record(base_offset + at, timestamp + at, None, value) for at in range(count)]
    return build_batch(records, base_offset=base_offset, leader_epoch=epoch, **changes)  # type: ignore[arg-type]


def marker(base_offset: int, epoch: int, producer: tuple[int, int], *, is_commit: bool, coordinator: int = 0) -> bytes:
    """Make a transaction's end marker as it is stored in a leader's log."""
    record_type = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
    key, value = encode_control_record(record_type, EndTxnMarker(coordinator_epoch=coordinator))
    return build_batch(
        [Record(base_offset, NOW, key, value)],
        base_offset=base_offset,
        leader_epoch=epoch,
        producer_id=producer[0],
        producer_epoch=producer[1],
        is_transactional=True,
        is_control=True,
    )


def produce(
    log: UnifiedLog, *values: bytes, epoch: int = 0, now_ms: int = NOW, timestamp: int = NOW, producer=None
) -> LogAppendInfo:
    """Append as for a client's Produce request."""
    batch = produced(values or (b"value",), timestamp=timestamp, producer=producer)
    return log.append_as_leader(batch, epoch, now_ms, origin=AppendOrigin.CLIENT)


def contents(log: UnifiedLog) -> bytes:
    """Read the whole log as a follower does, from start to end."""
    found, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        data = bytes(log.read(offset, 300, FetchIsolation.LOG_END, is_one_batch_needed=True).records)
        if not data:
            break
        whole = whole_batches(data)
        found += [bytes(batch.data) for batch in whole]
        offset = whole[-1].end_offset
    return b"".join(found)


def whole_batches(data: bytes) -> list[RecordBatch]:
    """Return the batches, without a truncated one at the end."""
    end = 0
    while end + 12 <= len(data):
        size = int.from_bytes(data[end + 8 : end + 12], "big") + 12
        if end + size > len(data):
            break
        end += size
    return list(read_batches(data[:end]))


def replayed(batches: Iterable[RecordBatch]) -> dict[int, object]:
    """Return the producer state of a log of these batches."""
    states = ProducerStates()
    for batch in batches:
        states.append(batch)
    return dict(states.entries)
