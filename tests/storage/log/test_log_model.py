"""A log against a list of batches: whatever is done to it, and wherever the host crashes or loses power over it."""

import random
from dataclasses import dataclass, field

import pytest
from data_logs import DIRECTORY, NOW, contents, opened, produced, replayed, stored
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.simulation.machine.disk import CrashOutcome, SimulatedCrashError, SimulatedDisk
from falkirk.storage.index import rebuild_indexes
from falkirk.storage.leader_epochs import EpochEntry
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.log_config import COMPACT, DELETE
from falkirk.storage.log.unified_log import UnifiedLog

CONFIG = {"segment_bytes": 450, "index_interval_bytes": 120, "retention_bytes": 900, "retention_ms": -1}


@dataclass
class Model:
    """What a log should hold. `checkpoint`: the recovery point that is on disk."""

    batches: list[RecordBatch] = field(default_factory=list)
    end_offset: int = 0
    epoch: int = 0
    sequences: dict[int, int] = field(default_factory=dict)
    checkpoint: int = 0

    def copy(self) -> "Model":
        return Model(list(self.batches), self.end_offset, self.epoch, dict(self.sequences), self.checkpoint)

    def append(self, data: bytes) -> None:
        self.batches += read_batches(data)
        self.end_offset = self.batches[-1].end_offset

    def truncate(self, offset: int) -> None:
        while self.batches and self.batches[-1].end_offset > offset:
            offset = min(offset, self.batches.pop().base_offset)
        self.end_offset = offset
        self.checkpoint = min(self.checkpoint, offset)


class Produce:
    """One batch as the leader, perhaps of a producer."""

    def __init__(self, count: int, producer: int | None) -> None:
        self.count, self.producer = count, producer

    def __repr__(self) -> str:
        return f"Produce({self.count}, {self.producer})"

    def do(self, log: UnifiedLog, model: Model) -> None:
        sequence = model.sequences.get(self.producer, 0)
        producer = None if self.producer is None else (self.producer, 0, sequence)
        sent = produced([b"value"] * self.count, producer=producer, timestamp=NOW + model.end_offset % 7)
        expected = bytearray(sent)
        expected[:8] = model.end_offset.to_bytes(8, "big")
        expected[12:16] = model.epoch.to_bytes(4, "big")
        if self.producer is not None:
            model.sequences[self.producer] = sequence + self.count
        model.append(bytes(expected))
        log.append_as_leader(sent, model.epoch, NOW, origin=AppendOrigin.CLIENT)


class Follow:
    """Some batches as a follower, of a later epoch, behind a gap that the leader's cleaner left."""

    def __init__(self, gap: int, epochs: int, counts: list[int]) -> None:
        self.gap, self.epochs, self.counts = gap, epochs, counts

    def __repr__(self) -> str:
        return f"Follow({self.gap}, {self.epochs}, {self.counts})"

    def do(self, log: UnifiedLog, model: Model) -> None:
        offset, sent = model.end_offset + self.gap, b""
        model.epoch += self.epochs
        for count in self.counts:
            sent += stored(offset, model.epoch, count, timestamp=NOW + offset % 5)
            offset += count
        model.append(sent)
        log.append_as_follower(sent)


class Truncate:
    """Cut off a part of the log's end."""

    def __init__(self, part: float) -> None:
        self.part = part

    def __repr__(self) -> str:
        return f"Truncate({self.part})"

    def do(self, log: UnifiedLog, model: Model) -> None:
        start = log.log_start_offset
        offset = start + int((model.end_offset - start) * self.part)
        if offset < model.end_offset:
            model.truncate(offset)
            model.epoch = max((batch.leader_epoch for batch in model.batches), default=0)
        log.truncate_to(offset)
        # Of producers whose batches are gone the log may know more, or not.
        model.sequences = {entry.producer_id: entry.last_sequence + 1 for entry in log.active_producers()}


class Retain:
    """Let retention take what is too much."""

    def __repr__(self) -> str:
        return "Retain()"

    def do(self, log: UnifiedLog, model: Model) -> None:
        log.update_high_watermark(model.end_offset)
        log.delete_old_segments(NOW)
        log.pop_deleted_files()
        model.batches = [batch for batch in model.batches if batch.end_offset > log.segments[0].base_offset]


class Flush:
    """Sync, and write the checkpoint of the recovery point."""

    def __repr__(self) -> str:
        return "Flush()"

    def do(self, log: UnifiedLog, model: Model) -> None:
        log.flush()
        model.checkpoint = log.recovery_point


OPERATIONS = st.one_of(
    st.builds(Produce, st.integers(1, 3), st.sampled_from([None, 1, 2])),
    st.builds(Follow, st.integers(0, 3), st.integers(0, 2), st.lists(st.integers(1, 3), min_size=1, max_size=4)),
    st.builds(Truncate, st.floats(0, 1.1)),
    st.builds(Retain),
    st.builds(Flush),
)


def check(log: UnifiedLog, model: Model) -> None:
    assert contents(log) == b"".join(bytes(batch.data) for batch in model.batches)
    assert (log.log_end_offset, log.size) == (model.end_offset, sum(batch.size for batch in model.batches))
    assert epochs_of(log) == expected_epochs(log, model.batches)
    check_indexes(log, model.batches)
    assert replayed(model.batches).items() <= producers_of(log).items()


def epochs_of(log: UnifiedLog) -> list[tuple[int, int]]:
    return [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries]


def expected_epochs(log: UnifiedLog, batches: list[RecordBatch]) -> list[tuple[int, int]]:
    found: list[EpochEntry] = []
    for batch in batches:
        if not found or batch.leader_epoch > found[-1].epoch:
            found.append(EpochEntry(epoch=batch.leader_epoch, start_offset=batch.base_offset))
    return [(entry.epoch, entry.start_offset) for entry in found]


def check_indexes(log: UnifiedLog, batches: list[RecordBatch]) -> None:
    bases = [*log.segments.base_offsets, 2**63]
    for at, segment in enumerate(log.segments):
        data = b"".join(bytes(batch.data) for batch in batches if bases[at] <= batch.base_offset < bases[at + 1])
        offsets, times = rebuild_indexes(read_batches(data), base_offset=bases[at], interval_bytes=120)
        index = segment.index
        assert [(bases[at] + offset, place) for offset, place in zip(index.offsets, index.positions, strict=True)] == [
            *offsets.entries
        ]
        entries = [
            (time, bases[at] + offset) for time, offset in zip(index.timestamps, index.time_offsets, strict=True)
        ]
        assert segment.largest == (times.entries[-1] if times.entries else (-1, bases[at]))
        # The last entry is made when the segment is closed; if it is cut and goes on then, the entry stays.
        every = rebuild_indexes(read_batches(data), base_offset=bases[at], interval_bytes=-1)[1].entries
        assert set(times.entries[:-1]) <= set(entries) <= set(every)
        assert entries == sorted(entries)


def producers_of(log: UnifiedLog) -> dict[int, object]:
    return {entry.producer_id: entry for entry in log.active_producers()}


@given(st.lists(OPERATIONS, max_size=25), st.booleans())
def test_a_log_holds_what_a_list_of_batches_would(operations, had_clean_shutdown):
    disk, model = SimulatedDisk(random.Random(1)), Model()
    log = opened(disk, **CONFIG)
    for operation in operations:
        operation.do(log, model)
        check(log, model)
    start, before, producers = log.log_start_offset, contents(log), producers_of(log)
    if had_clean_shutdown:
        log.close()
    log = opened(
        disk,
        had_clean_shutdown=had_clean_shutdown,
        recovery_point=model.checkpoint,
        log_start_offset=start,
        # Followers of compacted logs have gaps between segments; elsewhere recovery takes them for losses.
        cleanup_policy=frozenset((COMPACT, DELETE)),
        **CONFIG,
    )
    # A gap at the log's end, where something was cut off, is forgotten.
    end_offset = model.batches[-1].end_offset if model.batches else 0
    model.end_offset = max(end_offset, log.segments.active.base_offset)
    assert (contents(log), log.log_start_offset) == (before, start)
    check(log, model)
    # As with Kafka, a producer may be forgotten when all its batches are.
    assert producers_of(log).items() <= producers.items()


@given(
    st.lists(OPERATIONS, min_size=1, max_size=20),
    st.integers(1, 60),
    st.sampled_from([None, *CrashOutcome]),
    st.booleans(),
    st.integers(0, 99),
)
def test_a_crash_anywhere_leaves_what_was_or_what_was_to_be_and_nothing_that_was_flushed_is_lost(
    operations, changes, outcome, is_power_lost, seed
):
    disk, model = SimulatedDisk(random.Random(seed)), Model()
    log = opened(disk, **CONFIG)
    disk.changes_until_crash, disk.crash_outcome = changes, outcome
    before = model.copy()
    try:
        for operation in operations:
            before = model.copy()
            operation.do(log, model)
    except SimulatedCrashError:
        pass
    disk.changes_until_crash = None
    if is_power_lost:
        disk.lose_power()
    # The checkpoint is written after the flush, and before what is appended behind a cut.
    checkpoint = min(before.checkpoint, model.checkpoint)
    policy = frozenset((COMPACT, DELETE))
    log = opened(disk, had_clean_shutdown=False, recovery_point=checkpoint, cleanup_policy=policy, **CONFIG)
    found = [bytes(batch.data) for batch in read_batches(contents(log))]
    longest = longest_of(before, model)
    assert is_run_of(found, longest), (found, longest)
    flushed = [batch for batch in model.batches if batch.end_offset <= checkpoint]
    assert all(bytes(batch.data) in found for batch in flushed)
    if not is_power_lost:
        # The page cache lives on: only the operation that was cut off is in doubt.
        common = [batch for batch in before.batches if batch in model.batches]
        assert all(bytes(batch.data) in found for batch in common)
    batches = list(read_batches(b"".join(found)))
    assert epochs_of(log) == expected_epochs(log, batches)
    check_indexes(log, batches)
    if log.segments[0].base_offset == 0:
        assert producers_of(log) == replayed(batches)
    # It goes on, and all is there when it stops in order.
    log.append_as_follower(stored(log.log_end_offset, 99))
    after = contents(log)
    log.close()
    assert contents(opened(disk, recovery_point=log.recovery_point, **CONFIG)) == after
    assert not [name for name in disk.list(DIRECTORY) if name.endswith((".deleted", ".cleaned", ".swap"))]


def longest_of(before: Model, after: Model) -> list[bytes]:
    longer = max(before, after, key=lambda model: (model.end_offset, len(model.batches)))
    return [bytes(batch.data) for batch in longer.batches]


def is_run_of(found: list[bytes], batches: list[bytes]) -> bool:
    """True if these batches stand there one after the other."""
    if not found:
        return True
    if found[0] not in batches:
        return False
    at = batches.index(found[0])
    return batches[at : at + len(found)] == found


@pytest.mark.parametrize("outcome", list(CrashOutcome))
@pytest.mark.parametrize("is_power_lost", [False, True])
def test_a_crash_at_any_change_of_a_replacement_leaves_the_old_segments_or_the_new_ones(outcome, is_power_lost):
    seen = set()
    for changes in range(1, 200):
        disk = SimulatedDisk(random.Random(changes))
        log = opened(disk, **CONFIG)
        model = Model()
        for at in range(12):
            Produce(2, at % 2).do(log, model)
        log.flush()
        old = [log.segments[0], log.segments[1]]
        end = log.segments[2].base_offset
        cleaned = [batch for batch in model.batches if batch.base_offset >= end or batch.base_offset % 4 == 0]
        disk.changes_until_crash, disk.crash_outcome = changes, outcome
        try:
            new = [log.create_cleaned_segment(0), log.create_cleaned_segment(old[1].base_offset)]
            for at, segment in enumerate(new):
                for batch in cleaned:
                    if old[at].base_offset <= batch.base_offset < [old[1].base_offset, end][at]:
                        segment.append(bytes(batch.data), list(read_batches(bytes(batch.data))))
            log.replace_segments(new, old)
            is_done = True
        except SimulatedCrashError:
            is_done = False
        disk.changes_until_crash = None
        if is_power_lost:
            disk.lose_power()
        log = opened(disk, had_clean_shutdown=False, recovery_point=model.end_offset, **CONFIG)
        found = contents(log)
        choices = [b"".join(bytes(batch.data) for batch in batches) for batches in (model.batches, cleaned)]
        assert found in choices
        assert log.log_end_offset == model.end_offset
        check_indexes(log, list(read_batches(found)))
        seen.add(choices.index(found))
        if is_done:
            break
    assert (seen, is_done) == ({0, 1}, True)
