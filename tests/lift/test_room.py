"""A disk that is full, or will be, is one sentence that says what to do."""

import errno
import shutil
from pathlib import Path

import pytest

from falkirk.lift.errors import LiftError
from falkirk.lift.room import check_room, named_if_full

LOG_BYTES = 1 << 20


def with_free(monkeypatch, free):
    asked = []

    def usage(path):
        asked.append(path)
        return shutil._ntuple_diskusage(1 << 40, 0, free)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    return asked


def test_a_disk_with_room_is_enough_whether_or_not_the_directory_exists(tmp_path, monkeypatch):
    asked = with_free(monkeypatch, 100 << 20)
    check_room([tmp_path / "not" / "yet"], LOG_BYTES)
    assert asked == [tmp_path]


def test_a_disk_with_too_little_room_is_named_before_anything_is_done(tmp_path, monkeypatch):
    with_free(monkeypatch, 60 << 20)
    with pytest.raises(LiftError) as refused:
        check_room([tmp_path], LOG_BYTES)
    assert str(refused.value) == (
        f"{tmp_path}: {60 << 20} bytes are free on its disk, and the lift may need {68 << 20}"
    )


def test_a_disk_that_is_full_is_named_with_what_to_do():
    with pytest.raises(LiftError) as refused, named_if_full(Path("state")):
        raise OSError(errno.ENOSPC, "No space left on device", "state/journal.jsonl")
    way_back = "nothing was given back; make room, and run the same command again"
    assert str(refused.value) == f"state/journal.jsonl: No space left on device: {way_back}"


def test_other_errors_of_the_system_are_none_of_its_business():
    with pytest.raises(PermissionError), named_if_full(Path("state")):
        raise PermissionError(errno.EACCES, "Permission denied", "state")
