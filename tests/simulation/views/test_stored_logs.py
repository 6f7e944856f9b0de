"""What is left on a disk is read as nobody but a stranger reads it."""

import pytest

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.views.stored_logs import check_stored_logs
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.log_opening import LogOpening
from falkirk.storage.memory_disk import MemoryDisk

DIRECTORY = "/data/a-0"
LOG = f"{DIRECTORY}/{0:020d}.log"


@pytest.fixture
def disk() -> MemoryDisk:
    """A log of two records of 500 bytes, an index entry between them, closed."""
    disk = MemoryDisk()
    disk.make_directory("/data")
    log = LogOpening(
        disk=disk,
        directory=DIRECTORY,
        config=LogConfig(index_interval_bytes=100),
        topic_partition=TopicPartition("a", 0),
        topic_id=bytes(15) + b"\x01",
        recovery_point=0,
        log_start_offset=0,
        had_clean_shutdown=True,
        now_ms=0,
    ).run()
    for number in range(2):
        batch = build_batch([Record(0, number, None, b"x" * 500)], base_offset=0)
        log.append_as_leader(batch, 1, 0, origin=AppendOrigin.CLIENT)
    log.close()
    return disk


def problem(disk: MemoryDisk) -> str:
    with pytest.raises(InvariantViolatedError) as raised:
        check_stored_logs(disk, "/data", "broker-1")
    return str(raised.value)


def test_a_log_that_was_closed_is_whole(disk):
    assert check_stored_logs(disk, "/data", "broker-1") == 1


def test_a_torn_batch(disk):
    disk.truncate(LOG, disk.size(LOG) - 1)
    assert "torn" in problem(disk)


def test_an_index_entry_that_points_at_no_batch(disk):
    index = f"{DIRECTORY}/{0:020d}.index"
    data = disk.read(index)
    disk.write(index, [data[:-1] + bytes([data[-1] + 1])])
    assert "says that offset 1 is at byte" in problem(disk)


def test_a_checkpoint_beyond_the_log(disk):
    disk.write("/data/replication-offset-checkpoint", [b"0\n1\na 0 3\n"])
    assert "has 3 for a-0, whose log ends at 2" in problem(disk)


def test_a_recovery_point_before_the_end_after_an_orderly_stop(disk):
    disk.write("/data/recovery-point-offset-checkpoint", [b"0\n1\na 0 1\n"])
    assert "has 1 for a-0, whose log ends at 2" in problem(disk)


def test_an_epoch_that_begins_behind_the_end(disk):
    disk.write(f"{DIRECTORY}/leader-epoch-checkpoint", [b"0\n1\n1 3\n"])
    assert "an epoch begins at 3" in problem(disk)


def test_a_file_that_cannot_be_read(disk):
    disk.write(f"{DIRECTORY}/partition.metadata", [b"nonsense"])
    assert "broker-1" in problem(disk)
