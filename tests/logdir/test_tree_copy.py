import errno
import os

import pytest

from falkirk.logdir import tree_copy
from falkirk.logdir.errors import OutputError
from falkirk.logdir.tree_copy import check_space, copying, plan_copy


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "t-0" / "deeper").mkdir(parents=True)
    (folder / "t-0" / "00000000000000000000.log").write_bytes(b"records" * 1000)
    (folder / "t-0" / "deeper" / "empty").touch()
    with (folder / "t-0" / "00000000000000000000.index").open("wb") as file:
        file.write(b"begin")
        file.seek(5_000_000)
        file.write(b"middle")
        file.truncate(10_485_760)
    os.utime(folder / "t-0" / "00000000000000000000.log", ns=(1_000_000_001, 2_000_000_003))
    (folder / "t-0" / "00000000000000000000.log").chmod(0o640)
    (folder / "linked").symlink_to(folder / "t-0" / "00000000000000000000.log")
    (folder / "left-out").mkdir()
    (folder / "left-out" / "secret").touch()
    return folder


def copy(source, target):
    done = []
    plan = plan_copy(source, target, leave_out={source / "left-out"})
    with copying([plan], advance=done.append):
        pass
    return sum(done)


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_reflinks(monkeypatch):
    monkeypatch.setattr(tree_copy, "_clone", lambda *_: False)


@pytest.mark.parametrize("reflinks", [True, False])
def test_a_copy_has_the_same_contents_modes_and_times(source, tmp_path, monkeypatch, reflinks):
    if not reflinks:
        without_reflinks(monkeypatch)
    copy(source, tmp_path / "out")
    expected = files(source)
    del expected["left-out/secret"]
    assert files(tmp_path / "out") == expected
    status = (tmp_path / "out" / "t-0" / "00000000000000000000.log").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o640, 2_000_000_003)


def test_holes_stay_holes(source, tmp_path, monkeypatch):
    without_reflinks(monkeypatch)
    copied = copy(source, tmp_path / "out")
    assert (tmp_path / "out" / "t-0" / "00000000000000000000.index").stat().st_blocks * 512 < 1_000_000
    assert copied < 1_000_000


def test_no_file_is_shared_with_the_source_not_even_through_a_link(source, tmp_path):
    copy(source, tmp_path / "out")
    assert not (tmp_path / "out" / "linked").is_symlink()
    inodes = {path.stat().st_ino for path in source.rglob("*") if path.is_file()}
    assert not inodes & {path.stat().st_ino for path in (tmp_path / "out").rglob("*") if path.is_file()}


def test_kernels_without_copy_file_range_copy_all_the_same(source, tmp_path, monkeypatch):
    without_reflinks(monkeypatch)

    def refuse(*_):
        raise OSError(errno.EXDEV, "other file system")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    copy(source, tmp_path / "out")
    assert files(tmp_path / "out")["t-0/00000000000000000000.log"] == b"records" * 1000


def test_too_little_space_is_refused_before_anything_is_written(source, tmp_path, monkeypatch):
    without_reflinks(monkeypatch)
    monkeypatch.setattr(tree_copy.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1024})())
    with pytest.raises(OutputError, match="MiB to copy, 0 MiB free"):
        check_space([plan_copy(source, tmp_path / "out", leave_out=frozenset())], tmp_path / "out")
    assert not (tmp_path / "out").exists()
