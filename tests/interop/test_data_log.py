"""Kafka's own classes open logs that ours wrote, find the same in them, append, and ours continue after that."""

import json
import random
from itertools import product
from pathlib import Path

import pytest
from data_logs import NOW, TOPIC_ID, contents, marker, opened, produce, stored
from kafka_java import run_program

from falkirk.protocol.record_batch import read_batches
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.log.unified_log import UnifiedLog
from falkirk.storage.posix_disk import PosixDisk

pytestmark = pytest.mark.interop

SEGMENT_BYTES, INDEX_INTERVAL_BYTES = 2000, 300
CONFIG = {"segment_bytes": SEGMENT_BYTES, "index_interval_bytes": INDEX_INTERVAL_BYTES, "retention_ms": -1}
NEVER = 2**62


def plain(log: UnifiedLog) -> None:
    for at in range(60):
        produce(log, b"value" * (at % 7), epoch=at // 25, timestamp=NOW + at * 37 % 101)


def idempotent(log: UnifiedLog) -> None:
    for at in range(60):
        produce(log, b"a", b"b", epoch=3, producer=(at % 3, at // 30, at % 30 // 3 * 2), timestamp=NOW + at)


def replicated(log: UnifiedLog) -> None:
    chance, offset = random.Random(7), 0
    for at in range(30):
        sent = b""
        for _ in range(chance.randrange(1, 6)):
            offset += chance.randrange(3)
            count = chance.randrange(1, 5)
            sent += stored(offset, at // 8, count, timestamp=NOW + chance.randrange(1000))
            offset += count
        log.append_as_follower(sent)


def transactional(log: UnifiedLog) -> None:
    for at in range(0, 60, 4):
        log.append_as_follower(
            stored(at, 1, producer_id=at % 3, producer_epoch=at, base_sequence=0, is_transactional=True)
            + stored(at + 1, 1, producer_id=9, producer_epoch=at, base_sequence=0, is_transactional=True)
            + marker(at + 2, 1, (at % 3, at), is_commit=at % 8 == 0, coordinator=at)
            + (marker(at + 3, 1, (9, at), is_commit=False) if at < 56 else stored(at + 3, 1))
        )


def cut(log: UnifiedLog) -> None:
    idempotent(log)
    log.truncate_to(57)
    for at in range(20):
        produce(log, b"again", epoch=5 + at // 10, timestamp=NOW + 500 - at)
    log.truncate_to(70)


def shortened(log: UnifiedLog) -> None:
    plain(log)
    log.update_high_watermark(60)
    log.increment_log_start_offset(23)
    log.delete_old_segments(NOW)


def cleaned(log: UnifiedLog) -> None:
    plain(log)
    old = list(log.segments)[:2]
    new = log.create_cleaned_segment(0)
    for batch in read_batches(contents(log)):
        if batch.end_offset <= log.segments[2].base_offset and batch.base_offset % 3:
            new.append(bytes(batch.data), list(read_batches(bytes(batch.data))))
    log.replace_segments([new], old)


def empty(log: UnifiedLog) -> None:
    log.truncate_fully_and_start_at(17)


LOGS = [plain, idempotent, replicated, transactional, cut, shortened, cleaned, empty]


def state(log: UnifiedLog) -> dict[str, object]:
    """Return the output of `java/OpenLog.java` in our form."""
    log.update_high_watermark(log.log_end_offset)
    return {
        "topicId": uuid_text(TOPIC_ID),
        "logStartOffset": log.log_start_offset,
        "logEndOffset": log.log_end_offset,
        "lastStableOffset": log.last_stable_offset,
        "size": log.size,
        "epochs": [[entry.epoch, entry.start_offset] for entry in log.leader_epochs.entries],
        "producers": sorted(
            (
                [
                    entry.producer_id,
                    entry.producer_epoch,
                    entry.last_sequence,
                    entry.timestamp,
                    entry.coordinator_epoch,
                    entry.current_transaction_first_offset,
                ]
                for entry in log.active_producers()
            ),
            key=str,
        ),
        "aborted": [
            [entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset]
            for segment in log.segments
            for entry in segment.aborted
        ],
        "segments": [
            {
                "baseOffset": segment.base_offset,
                "size": segment.size,
                "largestTimestamp": segment.largest[0],
                "offsetIndex": [
                    [segment.base_offset + offset, position]
                    for offset, position in zip(segment.index.offsets, segment.index.positions, strict=True)
                ],
                "timeIndex": [
                    [timestamp, segment.base_offset + offset]
                    for timestamp, offset in zip(segment.index.timestamps, segment.index.time_offsets, strict=True)
                ],
            }
            for segment in log.segments
        ],
    }


def test_kafka_finds_in_a_log_what_ours_does_and_goes_on_and_ours_after_it(tmp_path: Path) -> None:
    disk, before, arguments = PosixDisk(), {}, [str(NOW), str(SEGMENT_BYTES), str(INDEX_INTERVAL_BYTES)]
    for fill, stop in product(LOGS, ["clean", "killed"]):
        directory = str(tmp_path / f"{stop}-{fill.__name__}-0")
        log = opened(disk, directory=directory, producer_id_expiration_ms=NEVER, **CONFIG)
        fill(log)
        if stop == "clean":
            log.close()
        else:
            log.flush(up_to=log.segments[len(log.segments) // 2].base_offset)
            for segment in log.segments:
                segment.index.add_largest()  # as recovery does with all that it scans
        before[directory] = state(log)
        log.close_files()
        arguments += [directory, stop, str(log.recovery_point), str(log.log_start_offset)]
    lines = iter(map(json.loads, run_program("OpenLog", arguments).splitlines()))
    for directory, expected in before.items():
        found, after = next(lines), next(lines)
        assert found == expected, directory
        log = opened(
            disk,
            directory=directory,
            log_start_offset=found["logStartOffset"],
            producer_id_expiration_ms=NEVER,
            **CONFIG,
        )
        assert log.recovery.scanned_segments == 0
        log.segments.active.index.add_largest()
        theirs = state(log)
        assert theirs["logEndOffset"] == found["logEndOffset"] + 12
        assert without_time_index_of_active(theirs) == without_time_index_of_active(after), directory
        assert [batch.leader_epoch for batch in read_batches(contents(log))][-1] == theirs["epochs"][-1][0]
        assert produce(log, b"ours", epoch=99).first_offset == after["logEndOffset"]


def without_time_index_of_active(log: dict[str, object]) -> dict[str, object]:
    """Kafka adds an active segment's largest timestamp when it closes it, after it printed this."""
    *others, active = log["segments"]
    return {**log, "segments": [*others, {**active, "timeIndex": None}]}
