"""Logs to compact: keyed records, tombstones, transactions, several producers, from a seed."""

import random
from dataclasses import dataclass, field

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.record import Record
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.log.unified_log import UnifiedLog

NOW = 1_700_000_000_000
COMPACTED = frozenset(("compact",))
ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"
DIRECTORY = "/d1/c-0"
PARTITION = TopicPartition("c", 0)


def open_log(disk, config, *, is_clean=False):
    disk.make_directory(DIRECTORY)
    return LogOpening(
        disk=disk,
        directory=DIRECTORY,
        config=config,
        topic_partition=PARTITION,
        topic_id=b"t" * 16,
        recovery_point=0,
        log_start_offset=0,
        had_clean_shutdown=is_clean,
        now_ms=NOW,
    ).run()


def put(log, *records, now_ms=NOW, **fields):
    """Append one batch of (key, value) pairs as a leader sends it, all of it replicated."""
    start = log.log_end_offset
    batch = [Record(start + index, now_ms, key, value) for index, (key, value) in enumerate(records)]
    log.append_as_follower(build_batch(batch, base_offset=start, leader_epoch=0, **fields))
    log.update_high_watermark(log.log_end_offset)


def end_transaction(log, producer_id, kind, *, now_ms=NOW):
    put(
        log,
        (kind, b"\0\0\0\0\0\0"),
        now_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


@dataclass
class Writer:
    """Appends at random; `sequences` are those that come next."""

    log: UnifiedLog
    chance: random.Random
    sequences: dict[int, int] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)

    def write(self, batches):
        for at in range(batches):
            now_ms = NOW + at * 1000
            producer_id = self.chance.choice((-1, -1, 1, 2, 3, 4))
            is_transactional = producer_id > 2
            if is_transactional and producer_id in self.opened and self.chance.random() < 0.4:
                end_transaction(self.log, producer_id, self.chance.choice((ABORT, COMMIT)), now_ms=now_ms)
                self.opened.discard(producer_id)
                continue
            self._write_data(producer_id, now_ms, is_transactional=is_transactional)
        for producer_id in sorted(self.opened):
            end_transaction(self.log, producer_id, COMMIT, now_ms=NOW + batches * 1000)
        self.opened.clear()

    def _write_data(self, producer_id, now_ms, *, is_transactional):
        records = [
            (
                b"k%d" % self.chance.randrange(12) * self.chance.choice((1, 1, 20)),
                self.chance.choice((None, b"v" * self.chance.randint(1, 60), b"w" * 200)),
            )
            for _ in range(self.chance.choice((1, 1, 2, 6)))
        ]
        fields = {}
        if producer_id >= 0:
            sequence = self.sequences.get(producer_id, 0)
            self.sequences[producer_id] = sequence + len(records)
            fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        if is_transactional:
            self.opened.add(producer_id)
            fields["is_transactional"] = True
        put(self.log, *records, now_ms=now_ms, compression=self.chance.choice(tuple(Compression)), **fields)


def random_log(disk, seed, *, batches=60, **config):
    """A log of many small segments, the last of which is empty."""
    chance = random.Random(seed)
    values = {
        "segment_bytes": chance.choice((400, 800, 2000)),
        "cleanup_policy": COMPACTED,
        "index_interval_bytes": 200,
    }
    log = open_log(disk, LogConfig(**values | config))
    Writer(log, chance).write(batches)
    return log


def batches_of(log):
    """All batches, in offset order."""
    return [batch for segment in log.segments for _, batch in segment.batches(0, segment.size, check_crc=True)]
