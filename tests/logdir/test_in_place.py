import contextlib
import errno
import os
from pathlib import Path

import pytest
from stopped_clusters import MadeContents

from falkirk.logdir import changes, in_place
from falkirk.logdir.changes import LogDirChanges, NodeChanges, with_files
from falkirk.logdir.errors import InterruptedChangeError, NotALogDirError, OutputError
from falkirk.logdir.in_place import Ending, change_in_place, finish_interrupted, places_of
from falkirk.logdir.locate import find_nodes


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
    return LogDirChanges(path, {"t-0/changes": b"new", "u-0/made": b"made", "t-0/goes": None})


@pytest.fixture
def log_dirs(tmp_path):
    return [make_log_dir(tmp_path / name) for name in ("d0", "d1")]


def as_nodes(log_dirs):
    return [NodeChanges(1, tuple(changes_of(path) for path in log_dirs))]


RESULT = {"undo-bundle.zip": b"bundle", "ledger.json": b"ledger"}


def change(log_dirs):
    return change_in_place(as_nodes(log_dirs), log_dirs[0].with_name("undo"), RESULT)


def assert_nothing_changed(log_dirs):
    assert [contents(path) for path in log_dirs] == [old_contents(path) for path in log_dirs]
    assert {path.name for path in log_dirs[0].parent.iterdir() if path.name.startswith(("d0", "d1", "undo"))} <= {
        "d0", "d1", "d1.falkirk-backup",
    }  # fmt: skip


def test_files_are_swapped_and_what_was_replaced_is_kept(log_dirs):
    backups = change(log_dirs)
    for path, backup in zip(log_dirs, backups, strict=True):
        assert contents(path) == new_contents(path)
        assert contents(backup) == {"t-0/changes": "old", "t-0/goes": "gone"}
        assert not places_of(path).new.exists()
    assert contents(log_dirs[0].with_name("undo")) == {"undo-bundle.zip": "bundle", "ledger.json": "ledger"}


def test_a_backup_in_the_way_is_refused_and_nothing_changes(log_dirs):
    places_of(log_dirs[1]).backup.mkdir()
    with pytest.raises(OutputError, match=r"d1\.falkirk-backup: the backup of an earlier change"):
        change(log_dirs)
    assert_nothing_changed(log_dirs)


def test_an_earlier_result_is_not_written_over(log_dirs):
    undo = log_dirs[0].with_name("undo")
    undo.mkdir()
    (undo / "undo-bundle.zip").write_text("precious")
    with pytest.raises(OutputError, match="undo: not empty"):
        change(log_dirs)
    assert contents(undo) == {"undo-bundle.zip": "precious"}
    assert [contents(path) for path in log_dirs] == [old_contents(path) for path in log_dirs]


def test_a_result_inside_a_log_directory_is_refused(log_dirs):
    with pytest.raises(OutputError, match=r"d1/undo: inside the log directory .*d1; name a place outside"):
        change_in_place(as_nodes(log_dirs), log_dirs[1] / "undo", RESULT)
    assert_nothing_changed(log_dirs)


def test_a_mount_point_is_refused_since_nothing_can_be_swapped_with_files_beside_it(log_dirs, monkeypatch):
    real = Path.stat

    def stat(path, **options):
        found = real(path, **options)
        return os.stat_result((*found[:2], found.st_dev + (path.name == "d1"), *found[3:10]))

    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(OutputError, match=r"d1: a mount point.*use --out"):
        change(log_dirs)


def test_a_folder_that_cannot_be_written_to_is_refused(log_dirs, monkeypatch):
    monkeypatch.setattr(in_place.os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=f"{log_dirs[0].parent}: cannot write there"):
        change(log_dirs)
    assert_nothing_changed(log_dirs)


def test_contents_that_cannot_be_made_leave_nothing_behind(log_dirs):
    nodes = with_files(as_nodes(log_dirs), {log_dirs[1]: {"x": MadeContents(lambda: 1 / 0)}})
    with pytest.raises(ZeroDivisionError):
        change_in_place(nodes, log_dirs[0].with_name("undo"), RESULT)
    assert_nothing_changed(log_dirs)


def test_no_space_for_the_bundle_changes_nothing_and_names_the_place(log_dirs):
    def fail():
        yield b"begun"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match=r"undo and beside .*d0: No space left on device; nothing was changed"):
        change_in_place(as_nodes(log_dirs), log_dirs[0].with_name("undo"), {"ledger.json": MadeContents(fail)})
    assert_nothing_changed(log_dirs)


def test_new_files_belong_to_the_nodes_own_user_when_root_makes_them(log_dirs, monkeypatch):
    owners = {}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: owners.update({path.name: (uid, gid)}))
    change(log_dirs)
    status = log_dirs[0].stat()
    assert owners == dict.fromkeys(("changes", "made"), (status.st_uid, status.st_gid))


class PowerCut(BaseException):
    """The machine stops here."""


def cut_power_at(monkeypatch, step):
    """Let the `step`-th change to the file system, or wait for it, be the last."""
    left = [step]

    def counted(real):
        def call(*arguments, **options):
            if left[0] == 0:
                raise PowerCut
            left[0] -= 1
            return real(*arguments, **options)

        return call

    for owner, name in [
        (Path, "rename"), (Path, "mkdir"), (Path, "write_bytes"), (in_place, "_sync"),
        (in_place, "write_file"), (changes, "write_file"), (os, "unlink"), (os, "rmdir"),
    ]:  # fmt: skip
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
    # What a power cut leaves is not tidied up by the program that it ended.
    roll_back = in_place._roll_back
    monkeypatch.setattr(in_place, "_roll_back", lambda *arguments: left[0] and roll_back(*arguments))
    monkeypatch.setattr(os, "sync", lambda: None)


def state_after(log_dirs, monkeypatch, step):
    """Cut the change off at a step; give None if it was done before."""
    with monkeypatch.context() as patch:
        cut_power_at(patch, step)
        try:
            change(log_dirs)
        except PowerCut:
            return [contents(path) for path in log_dirs]
    return None


@pytest.mark.slow
def test_a_power_cut_at_any_step_leaves_the_old_state_or_one_that_finishes_as_the_new(tmp_path, monkeypatch):
    endings = []
    for step in range(1000):
        log_dirs = [make_log_dir(tmp_path / str(step) / name) for name in ("d0", "d1")]
        old, new = [old_contents(path) for path in log_dirs], [new_contents(path) for path in log_dirs]
        found = state_after(log_dirs, monkeypatch, step)
        if found is None:
            break
        # A node starts where meta.properties is, and writes: there the change is done, or will be taken back.
        startable = {path: is_now for path, is_now in zip(log_dirs, found, strict=True) if "meta.properties" in is_now}
        finished = [finish_interrupted(path) for path in reversed(log_dirs)]
        found = [contents(path) for path in log_dirs]
        assert all(contents(path) == is_now for path, is_now in startable.items())
        result = log_dirs[0].with_name("undo")
        ending = {each.ending for each in finished if each is not None}
        if found == new:
            assert ending <= {Ending.ROLLED_FORWARD}
            assert contents(result) == {"undo-bundle.zip": "bundle", "ledger.json": "ledger"}
        else:
            assert found == old
            assert ending <= {Ending.ROLLED_BACK}
            assert not result.exists()
            change(log_dirs)  # it can be done anew
            found = new
        assert not any(places_of(path).new.exists() for path in log_dirs)
        assert contents(places_of(log_dirs[0]).backup).keys() == {"t-0/changes", "t-0/goes"}
        endings.append(ending)
    # First it is taken back, from the commit on carried through.
    assert {Ending.ROLLED_BACK} in endings
    assert {Ending.ROLLED_FORWARD} in endings
    assert endings.index({Ending.ROLLED_FORWARD}) > max(
        step for step, ending in enumerate(endings) if ending == {Ending.ROLLED_BACK}
    )


@pytest.mark.parametrize("again", range(3))
def test_a_power_cut_while_it_is_finished_does_no_harm(tmp_path, monkeypatch, again):
    for step in range(0, 1000, 7):
        log_dirs = [make_log_dir(tmp_path / str(step) / name) for name in ("d0", "d1")]
        if state_after(log_dirs, monkeypatch, step) is None:
            break
        for more in range(again * 5, again * 5 + 5):
            with monkeypatch.context() as patch, contextlib.suppress(PowerCut):
                cut_power_at(patch, more)
                finish_interrupted(log_dirs[0])
        for path in log_dirs:
            finish_interrupted(path)
        found = [contents(path) for path in log_dirs]
        assert found in ([old_contents(path) for path in log_dirs], [new_contents(path) for path in log_dirs])
        assert not any(places_of(path).new.exists() for path in log_dirs)


def test_there_is_nothing_to_finish_where_nothing_was_begun(log_dirs):
    assert finish_interrupted(log_dirs[0]) is None


@pytest.mark.parametrize("named", ["d0", "d1", ".", "..", "server.properties"])
def test_an_unfinished_change_is_told_whatever_path_names_it(log_dirs, monkeypatch, named):
    folder = log_dirs[0].parent
    (folder / "server.properties").write_text("log.dirs=d0,d1\n")
    with monkeypatch.context() as patch:
        patch.delattr(in_place, "_swap_files")
        with pytest.raises(NameError):  # after the commit
            change(log_dirs)
    assert not (log_dirs[0] / "meta.properties").exists()
    with pytest.raises(InterruptedChangeError, match=r"d[01]: a downgrade in place was cut off here; run .*--in-place"):
        find_nodes([folder / named])


def test_neither_backup_nor_new_files_are_taken_for_log_directories(log_dirs):
    change(log_dirs)
    for path in log_dirs:
        (path / "meta.properties").unlink()
    with pytest.raises(NotALogDirError, match="no Kafka log directory here"):
        find_nodes([log_dirs[0].parent])
