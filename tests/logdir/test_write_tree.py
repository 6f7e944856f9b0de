"""Where a result is put, under which names, and that it is there as a whole or not at all."""

import os
from pathlib import Path

import pytest
from stopped_clusters import MadeContents, hashes

from falkirk.logdir.changes import LogDirChanges, NodeChanges, with_files
from falkirk.logdir.write_tree import Progress, out_names, write_tree


def make_log_dir(path):
    (path / "t-0").mkdir(parents=True)
    (path / "t-0" / "data").write_bytes(b"records" * 100)
    (path / "changes").write_text("old")
    (path / "goes").write_text("gone")
    (path / ".lock").touch()
    return path


def changes_of(path):
    return LogDirChanges(path, {"changes": b"new", "u-0/made": b"made", "goes": None})


@pytest.fixture
def nodes(tmp_path):
    return [NodeChanges(3, tuple(changes_of(make_log_dir(tmp_path / "source" / name)) for name in ("a", "b")))]


class RecordedProgress(Progress):
    def __init__(self):
        self.told = []

    def begin(self, total_bytes):
        self.told.append(total_bytes)

    def advance(self, copied_bytes):
        self.told.append(copied_bytes)


def write(nodes, out, *, beside=None):
    progress = RecordedProgress()
    write_tree(nodes, out, beside=beside or {}, progress=progress)
    return progress.told


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


RESULT = [f"node-3/{name}/{file}" for name in ("a", "b") for file in ("changes", "t-0/data", "u-0/made")]


def test_a_result_has_every_directory_with_its_changes(nodes, tmp_path):
    before = hashes(tmp_path / "source")
    write(nodes, tmp_path / "out", beside={"ledger": b"x"})
    assert names(tmp_path / "out") == ["ledger", *RESULT]
    assert (tmp_path / "out" / "node-3" / "a" / "changes").read_text() == "new"
    assert hashes(tmp_path / "source") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source"]


def test_the_bytes_that_are_told_add_up(nodes, tmp_path):
    total, *parts = write(nodes, tmp_path / "out")
    assert sum(parts) == total > 0


@pytest.mark.parametrize("form", ["empty folder", "link to one", "here"])
def test_an_empty_folder_is_taken(nodes, tmp_path, monkeypatch, form):
    (tmp_path / "out").mkdir()
    place = tmp_path / "out"
    if form == "link to one":
        place = tmp_path / "link"
        place.symlink_to(tmp_path / "out")
    elif form == "here":
        monkeypatch.chdir(tmp_path / "out")
        place = Path()
    write(nodes, place)
    assert names(tmp_path / "out") == RESULT


def test_directories_of_one_name_get_numbers(tmp_path):
    paths = [tmp_path / disk / "data" for disk in ("x", "y", "z")]
    for path in paths:
        path.mkdir(parents=True)
    places = out_names([NodeChanges(1, tuple(LogDirChanges(path, {}) for path in paths)), NodeChanges(2, ())])
    assert list(places.values()) == ["node-1/data", "node-1/data-2", "node-1/data-3"]


def test_new_files_have_the_owner_and_mode_of_those_they_replace(nodes, tmp_path, monkeypatch):
    source = tmp_path / "source" / "a"
    (source / "changes").chmod(0o600)
    owners = {}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: owners.update({Path(path).name: (uid, gid)}))
    write(nodes, tmp_path / "out")
    assert (tmp_path / "out" / "node-3" / "a" / "changes").stat().st_mode & 0o777 == 0o600
    status = source.stat()
    assert owners["changes"] == owners["made"] == owners["data"] == (status.st_uid, status.st_gid)


@pytest.mark.parametrize("step", ["contents", "beside", "rename"])
def test_what_ends_it_leaves_nothing_at_out(nodes, tmp_path, monkeypatch, step):
    class PowerCut(BaseException):
        pass

    def fail(*_):
        raise PowerCut

    if step == "contents":
        nodes = with_files(nodes, {nodes[0].log_dirs[1].log_dir: {"x": MadeContents(fail)}})
    elif step == "rename":
        monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(PowerCut):
        write(nodes, tmp_path / "out", beside={"ledger": MadeContents(fail)} if step == "beside" else {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source"]


def test_the_result_is_synced_before_it_gets_its_name(nodes, tmp_path, monkeypatch):
    order = []
    real = Path.rename
    monkeypatch.setattr(os, "sync", lambda: order.append("sync"))
    monkeypatch.setattr(Path, "rename", lambda path, to: (order.append("rename"), real(path, to)))
    write(nodes, tmp_path / "out", beside={"ledger": MadeContents(lambda: order.append("beside") or [])})
    assert order == ["beside", "sync", "rename"]
