"""One log on a disk that loses what was not synced: what was flushed stays, what is left is a beginning of the log."""

import random
from dataclasses import dataclass, field

import pytest

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import RecordBatch, read_batches
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.simulation.machine.disk import SimulatedDisk
from falkirk.simulation.views.stored_logs import check_stored_logs
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.log.read import FetchIsolation

STEPS = 40
RUNS = 60


@dataclass
class World:
    """A log, what it should have, and the checkpoints that its broker would have written."""

    chance: random.Random
    disk: SimulatedDisk
    written: list[tuple[int, bytes]] = field(default_factory=list)  # (leader epoch, value) by offset
    recovery_point: int = 0
    log_start: int = 0
    now_ms: int = 1_000_000
    epoch: int = 0
    sequence: int = 0

    def open(self, *, is_clean: bool) -> None:
        self.log = LogOpening(
            disk=self.disk,
            directory="/data/a-0",
            config=LogConfig(segment_bytes=1500, index_interval_bytes=200, segment_ms=10**9),
            topic_partition=TopicPartition("a", 0),
            topic_id=bytes(15) + b"\x01",
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start,
            had_clean_shutdown=is_clean,
            now_ms=self.now_ms,
        ).run()

    # --- What a broker does with it

    def append(self) -> None:
        values = [
            b"%d:" % (len(self.written) + at) + self.chance.randbytes(self.chance.choice((5, 80, 400)))
            for at in range(self.chance.randrange(1, 4))
        ]
        batch = build_batch(
            [Record(at, self.now_ms, None, value) for at, value in enumerate(values)],
            base_offset=0,
            producer_id=7,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
        )
        self.log.append_as_leader(batch, self.epoch, self.now_ms, origin=AppendOrigin.CLIENT)
        self.sequence += len(values)
        self.written += [(self.epoch, value) for value in values]

    def begin_epoch(self) -> None:
        self.epoch += 1
        self.sequence = 0
        self.log.assign_epoch_start_offset(self.epoch, self.log.log_end_offset)

    def flush(self) -> None:
        self.log.flush(up_to=self.chance.choice((None, self.log.segments.active.base_offset)))

    def commit(self) -> None:
        self.log.update_high_watermark(self.border())

    def truncate(self) -> None:
        self.log.truncate_to(self.border())
        del self.written[self.log.log_end_offset :]
        self.recovery_point = min(self.recovery_point, self.log.log_end_offset)
        self.begin_epoch()

    def delete(self) -> None:
        self.log.increment_log_start_offset(self.chance.randrange(0, self.log.high_watermark + 1))
        self.log.delete_old_segments(self.now_ms)
        self.log_start = self.log.log_start_offset

    def checkpoint(self) -> None:
        self.recovery_point, self.log_start = self.log.recovery_point, self.log.log_start_offset

    def border(self) -> int:
        """Return an offset that is not committed before, where a batch begins or the log ends."""
        borders = [batch.base_offset for batch in self.batches()] + [self.log.log_end_offset]
        return self.chance.choice([offset for offset in borders if offset >= self.log.high_watermark])

    # --- How it ends

    def stop(self) -> None:
        self.log.close()
        self.checkpoint()
        check_stored_logs(self.disk, "/data", "the disk")
        self.open(is_clean=True)
        assert self.log.log_end_offset == len(self.written)

    def crash(self) -> None:
        self.open(is_clean=False)
        assert self.log.log_end_offset == len(self.written), "what was written is in the page cache"

    def lose_power(self) -> None:
        self.disk.lose_power()
        self.open(is_clean=False)
        assert self.recovery_point <= self.log.log_end_offset <= len(self.written)
        del self.written[self.log.log_end_offset :]
        self.begin_epoch()

    # --- What must hold

    def check(self) -> None:
        log = self.log
        batches = self.batches()
        found = {record.offset: (batch.leader_epoch, record.value) for batch in batches for record in batch.records()}
        wanted = dict(enumerate(self.written))
        assert all(found[offset] == wanted[offset] for offset in range(log.log_start_offset, log.log_end_offset))
        for batch in batches:
            assert log.epoch_of(max(batch.base_offset, log.log_start_offset)) == batch.leader_epoch
        if batches:
            (producer,) = log.active_producers()
            last = batches[-1]
            assert (producer.producer_epoch, producer.last_sequence) == (last.producer_epoch, last.last_sequence)
            assert log.end_offset_for_epoch(last.leader_epoch) in {
                OffsetAndEpoch(log.log_end_offset, last.leader_epoch),
                OffsetAndEpoch(last.end_offset, last.leader_epoch),
            }

    def batches(self) -> list[RecordBatch]:
        log, offset, batches = self.log, self.log.log_start_offset, []
        while offset < log.log_end_offset:
            records = log.read(offset, 10_000, FetchIsolation.LOG_END, is_one_batch_needed=True).records
            batches += read_batches(records)
            assert batches[-1].end_offset > offset
            offset = batches[-1].end_offset
        return batches


STEP = [World.append] * 8 + [World.flush, World.commit, World.commit, World.checkpoint, World.truncate, World.delete]
END = [World.stop, World.crash, World.lose_power, World.lose_power]


def play(seed: int) -> None:
    chance = random.Random(seed)
    disk = SimulatedDisk(random.Random(f"disk {seed}"))
    disk.make_directory("/data")
    world = World(chance, disk)
    world.open(is_clean=False)
    for _ in range(STEPS):
        world.now_ms += 1
        act = chance.choice(END if chance.random() < 0.1 else STEP)
        act(world)
        if act in END:
            world.check()
    world.stop()
    world.check()


@pytest.mark.slow
def test_what_is_flushed_survives_and_what_is_left_is_a_beginning():
    for seed in range(RUNS):
        try:
            play(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
