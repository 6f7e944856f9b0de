import errno
import random

import pytest

from falkirk.simulation.machine.disk import CrashOutcome, SimulatedCrashError, SimulatedDisk


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


def test_of_a_full_disk_nothing_is_usable():
    disk = disk_with(b"before")
    assert disk.usage("/").usable_bytes > 0
    disk.error = errno.ENOSPC
    assert disk.usage("/").usable_bytes == 0


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


def log_file_with(data: bytes, seed: int = 0):
    """A file whose name and first bytes are durable."""
    disk = SimulatedDisk(random.Random(seed))
    file = disk.open_log_file("/log")
    file.append(data)
    file.sync()
    disk.sync_directory("/")
    return disk, file


def after_power_loss(change) -> set[bytes]:
    """What the file holds when the host has lost power, over many seeds."""
    found = set()
    for seed in range(200):
        disk, file = log_file_with(b"durable", seed)
        change(disk, file)
        disk.lose_power()
        found.add(disk.read("/log"))
    return found


def test_a_crash_of_the_process_takes_nothing_that_was_appended_to_a_log_file():
    found = set()
    for seed in range(100):
        disk, file = log_file_with(b"durable", seed)
        file.append(b" written")
        disk.changes_until_crash = 1
        with pytest.raises(SimulatedCrashError):
            file.append(b" in part")
        found.add(disk.read("/log"))
    assert {b"durable written", b"durable written in part"} < found
    assert all(b"durable written in part".startswith(data) and len(data) >= 15 for data in found)


def test_a_loss_of_power_takes_any_end_of_what_was_not_synced_or_leaves_zeros():
    written = bytes(range(1, 256)) * 8
    found = after_power_loss(lambda _, file: file.append(written))
    assert all(data.startswith(b"durable") for data in found)
    assert any(b"\0" not in data and 7 < len(data) < 7 + len(written) for data in found)
    assert any(b"\0" * 512 in data and data.rstrip(b"\0") != data for data in found)
    assert any(b"\0" * 512 in data and not data.endswith(b"\0") for data in found)


def test_a_loss_of_power_takes_nothing_that_was_synced():
    def change(_, file):
        file.append(b" and more")
        file.sync()

    assert after_power_loss(change) == {b"durable and more"}


def test_a_loss_of_power_may_bring_back_what_was_cut_off():
    def change(_, file):
        file.truncate(3)
        file.append(b"X")

    assert after_power_loss(change) == {b"durable", b"dur", b"durX", b"dur\0"}


def test_each_file_loses_by_itself():
    found = set()
    for seed in range(100):
        disk, file = log_file_with(b"", seed)
        other = disk.open_log_file("/other")
        disk.sync_directory("/")
        for each in (file, other):
            each.append(b"x")
        disk.lose_power()
        found.add((len(disk.read("/log")), len(disk.read("/other"))))
    assert found == {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize(
    ("sync", "is_safe"),
    [
        (lambda _: None, False),
        (lambda disk: disk.open_log_file("/new").sync(), False),
        (lambda disk: disk.sync_directory("/"), True),
        (lambda disk: disk.write("/other", [b""]), True),
        (lambda disk: disk.append("/other", b""), True),
        (lambda disk: disk.remove("/log"), True),
        (lambda disk: disk.rename("/log", "/log.deleted"), True),
    ],
)
def test_the_name_of_a_new_log_file_may_go_until_its_directory_is_synced(sync, is_safe):
    found = set()
    for seed in range(50):
        disk, _ = log_file_with(b"", seed)
        disk.open_log_file("/new")
        sync(disk)
        disk.lose_power()
        found.add(disk.exists("/new"))
    assert found == ({True} if is_safe else {False, True})


def test_what_was_not_synced_may_go_though_its_directory_was_renamed():
    def lost(seed: int) -> tuple[bool, int]:
        disk = SimulatedDisk(random.Random(seed))
        disk.make_directory("/topic")
        disk.open_log_file("/topic/log").append(b"x")
        disk.rename("/topic", "/topic-delete")
        disk.lose_power()
        exists = disk.exists("/topic-delete/log")
        return exists, disk.size("/topic-delete/log") if exists else 0

    assert {lost(seed) for seed in range(50)} == {(False, 0), (True, 0), (True, 1)}
