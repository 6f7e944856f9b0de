import errno
import random

import pytest

from falkirk.simulation.disk import CrashOutcome, SimulatedCrashError, SimulatedDisk


def disk_with(data: bytes, seed: int = 0) -> SimulatedDisk:
    disk = SimulatedDisk(random.Random(seed))
    disk.append("/log", data)
    return disk


def outcomes(crash) -> set[bytes]:
    """What the file holds after a crash in the middle of a call, over many seeds."""
    found = set()
    for seed in range(200):
        disk = disk_with(b"before", seed)
        disk.changes_until_crash = 1
        with pytest.raises(SimulatedCrashError):
            crash(disk)
        found.add(disk.read("/log"))
    return found


def test_a_crash_in_an_append_leaves_nothing_a_part_zeros_or_all_of_it():
    found = outcomes(lambda disk: disk.append("/log", b"x" * 2000))
    assert {b"before", b"before" + b"x" * 2000} < found
    assert any(b"\0" in data for data in found)
    assert any(len(data) < 2006 and data.endswith(b"x") for data in found)
    assert all(data.startswith(b"before") for data in found)


def test_a_crash_in_a_replacement_leaves_the_old_file_or_the_new_one():
    assert outcomes(lambda disk: disk.write("/log", [b"after"])) == {b"before", b"after"}


def test_the_crash_comes_at_the_change_that_was_planned():
    disk = disk_with(b"")
    disk.changes_until_crash = 3
    disk.append("/log", b"1")
    disk.append("/log", b"2")
    with pytest.raises(SimulatedCrashError):
        disk.append("/log", b"3")
    disk.append("/log", b"4")
    assert disk.read("/log").startswith(b"12")


def test_a_crash_comes_even_in_a_call_that_would_have_failed():
    disk = disk_with(b"")
    disk.changes_until_crash, disk.crash_outcome = 1, CrashOutcome.AFTER
    with pytest.raises(SimulatedCrashError):
        disk.remove("/nothing")


def test_a_failing_disk_raises_and_may_leave_a_part():
    disk = disk_with(b"before")
    disk.error = errno.ENOSPC
    with pytest.raises(OSError, match="No space left") as raised:
        disk.append("/log", b"after")
    assert raised.value.errno == errno.ENOSPC
    disk.error = None
    assert disk.read("/log").startswith(b"before")


def test_a_wiped_disk_is_empty():
    disk = disk_with(b"before")
    disk.wipe()
    assert disk.list("/") == []
