import os
from pathlib import Path

import pytest

from falkirk.logdir import in_place
from falkirk.logdir.changes import LogDirChanges, NodeChanges
from falkirk.logdir.errors import OutputError
from falkirk.logdir.in_place import change_in_place, finish_interrupted, places_of


def make_log_dir(path):
    """A log directory with a file that changes, one that goes, and one that stays."""
    (path / "t-0").mkdir(parents=True)
    (path / "meta.properties").write_text(f"who={path.name}")
    (path / "t-0" / "changes").write_text("old")
    (path / "t-0" / "goes").write_text("gone")
    (path / "stays").write_text("same")
    return path


def contents(path):
    return {file.relative_to(path).as_posix(): file.read_text() for file in path.rglob("*") if file.is_file()}


def old_contents(path):
    return {"meta.properties": f"who={path.name}", "t-0/changes": "old", "t-0/goes": "gone", "stays": "same"}


def new_contents(path):
    return {"meta.properties": f"who={path.name}", "t-0/changes": "new", "u-0/made": "made", "stays": "same"}


def changes_of(path):
    changes = LogDirChanges(path)
    changes.write_bytes("t-0/changes", b"new")
    changes.write_bytes("u-0/made", b"made")
    changes.remove("t-0/goes")
    return changes


@pytest.fixture
def log_dirs(tmp_path):
    return [make_log_dir(tmp_path / name) for name in ("d0", "d1")]


def as_nodes(log_dirs):
    return [NodeChanges(1, [changes_of(path) for path in log_dirs])]


def test_files_are_swapped_and_what_was_replaced_is_kept(log_dirs):
    backups = change_in_place(as_nodes(log_dirs))
    for path, backup in zip(log_dirs, backups, strict=True):
        assert contents(path) == new_contents(path)
        assert contents(backup) == {"meta.properties": f"who={path.name}", "t-0/changes": "old", "t-0/goes": "gone"}
        assert not places_of(path).new.exists()


def test_a_backup_in_the_way_is_refused_and_nothing_changes(log_dirs):
    places_of(log_dirs[1]).backup.mkdir()
    with pytest.raises(OutputError, match=r"d1\.falkirk-backup: the backup of an earlier change"):
        change_in_place(as_nodes(log_dirs))
    assert [contents(path) for path in log_dirs] == [old_contents(path) for path in log_dirs]
    assert not places_of(log_dirs[0]).new.exists()


def test_contents_that_cannot_be_made_leave_nothing_behind(log_dirs):
    nodes = as_nodes(log_dirs)
    nodes[0].log_dirs[1].write("x", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        change_in_place(nodes)
    assert [contents(path) for path in log_dirs] == [old_contents(path) for path in log_dirs]
    assert not any(places_of(path).new.exists() for path in log_dirs)


class PowerCut(BaseException):
    """The machine stops here."""


def cut_power_at(monkeypatch, step):
    """Let the `step`-th rename, sync or removal of the change be its last."""
    left = [step]

    def counted(real):
        def call(*arguments, **options):
            if left[0] == 0:
                raise PowerCut
            left[0] -= 1
            return real(*arguments, **options)

        return call

    monkeypatch.setattr(Path, "rename", counted(Path.rename))
    monkeypatch.setattr(in_place.shutil, "copy2", counted(in_place.shutil.copy2))
    monkeypatch.setattr(in_place, "_sync", counted(in_place._sync))
    monkeypatch.setattr(os, "sync", lambda: None)


def test_a_power_cut_at_any_step_leaves_the_old_state_or_one_that_finishes_as_the_new(tmp_path, monkeypatch):
    outcomes = set()
    for step in range(100):
        log_dirs = [make_log_dir(tmp_path / str(step) / name) for name in ("d0", "d1")]
        with monkeypatch.context() as patch:
            cut_power_at(patch, step)
            try:
                change_in_place(as_nodes(log_dirs))
                done = True
            except PowerCut:
                done = False
        if done:
            break
        for path in log_dirs:  # a node starts only where meta.properties is, and then all must be old or all new
            if (path / "meta.properties").exists():
                assert contents(path) in (old_contents(path), new_contents(path))
        for path in reversed(log_dirs):
            finish_interrupted(path)
        found = [contents(path) for path in log_dirs]
        assert found in ([old_contents(path) for path in log_dirs], [new_contents(path) for path in log_dirs])
        assert not any(places_of(path).new.exists() for path in log_dirs)
        outcomes.add(found == [new_contents(path) for path in log_dirs])
    assert outcomes == {True, False}
    assert step > 10


def test_there_is_nothing_to_finish_where_nothing_was_begun(log_dirs):
    assert not finish_interrupted(log_dirs[0])
