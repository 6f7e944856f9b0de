"""A log that we compact is what the Cleaner of a real release leaves of it."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "storage" / "log"))

from compacted_logs import NOW, batches_of, open_log, random_log
from storage_judge import ask

from falkirk.protocol.record_batch import HEADER_BYTES
from falkirk.storage.log.compaction import Compaction
from falkirk.storage.log.log_cleaner import cleanable_range
from falkirk.storage.memory_disk import MemoryDisk

pytestmark = pytest.mark.interop

RELEASE = "4.3.1"
DIRECTORY = "/d1/c-0"
DELETE_RETENTION_MS = 60_000
MIB = 1 << 20


@pytest.mark.parametrize(
    ("first_seed", "count"), [(0, 12), pytest.param(1000, 150, marks=pytest.mark.full)], ids=["some", "many"]
)
def test_any_log_is_compacted_as_kafka_does_it(tmp_path, first_seed, count):
    seeds = range(first_seed, first_seed + count)
    disks = {seed: MemoryDisk() for seed in seeds}
    configs = {}
    for seed, disk in disks.items():
        log = random_log(
            disk, seed, delete_retention_ms=DELETE_RETENTION_MS, min_compaction_lag_ms=(0, 0, 5000)[seed % 3]
        )
        configs[seed] = log.config
        log.close()
        write_files(disk, tmp_path / str(seed) / "c-0")
    checkpoints = dict.fromkeys(seeds, -1)
    # Tombstones and markers that the first round leaves are removed by the last.
    for now_ms in (NOW + 61_000, NOW + 70_000, NOW + 10 * DELETE_RETENTION_MS):
        for path in tmp_path.glob("*/c-0/*"):
            # By this Kafka tells the age of a segment that has become empty.
            os.utime(path, (NOW / 1000, NOW / 1000))
        lines = [requested(tmp_path / str(seed) / "c-0", configs[seed], checkpoints[seed], now_ms) for seed in seeds]
        answers = ask("CleanerJudge", RELEASE, lines)
        for seed, answer in zip(seeds, answers, strict=True):
            log = reopened(disks[seed], configs[seed])
            kafkas = tuple(map(int, answer.split()))
            assert compacted(log, checkpoints[seed], now_ms) == kafkas, seed
            assert contents(log) == contents(reopened(read_files(tmp_path / str(seed) / "c-0"), configs[seed])), seed
            log.close()
            # Every other log is compacted from its beginning again.
            if seed % 2:
                checkpoints[seed] = kafkas[2]


def requested(directory, config, checkpoint, now_ms):
    configs = {
        "cleanup.policy": "compact",
        "internal.segment.bytes": config.segment_bytes,
        "index.interval.bytes": config.index_interval_bytes,
        "delete.retention.ms": config.delete_retention_ms,
        "min.compaction.lag.ms": config.min_compaction_lag_ms,
    }
    return " ".join(
        [str(directory), str(now_ms), str(checkpoint), str(MIB), *(f"{key}={value}" for key, value in configs.items())]
    )


def compacted(log, checkpoint, now_ms):
    cleanable = cleanable_range(log, None if checkpoint < 0 else checkpoint, now_ms)
    compaction = Compaction(log, cleanable, map_bytes_max=MIB, now_ms=now_ms)
    while not compaction.step():
        pass
    return cleanable.first_dirty_offset, cleanable.first_uncleanable_offset, compaction.end_offset


def reopened(disk, config):
    log = open_log(disk, config, is_clean=True)
    log.update_high_watermark(log.log_end_offset)
    return log


def contents(log):
    """Segments with their contents, independent of codecs."""
    bases = [(segment.base_offset, tuple(segment.aborted)) for segment in log.segments]
    return bases, [
        (bytes(batch.data[:8]), bytes(batch.data[12:17]), bytes(batch.data[21:HEADER_BYTES]), batch.uncompressed())
        for batch in batches_of(log)
    ]


def write_files(disk, directory):
    directory.mkdir(parents=True)
    for name in disk.list(DIRECTORY):
        (directory / name).write_bytes(disk.read(f"{DIRECTORY}/{name}"))


def read_files(directory):
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    for path in directory.iterdir():
        disk.write(f"{DIRECTORY}/{path.name}", [path.read_bytes()])
    return disk
