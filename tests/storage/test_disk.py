"""One behaviour suite, run on the real disk and on the fake."""

import errno
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.posix_disk import PosixDisk


@pytest.fixture(params=["posix", "memory"])
def disk(request):
    return PosixDisk() if request.param == "posix" else MemoryDisk()


@pytest.fixture
def root(disk, tmp_path):
    disk.make_directory(str(tmp_path))
    return str(tmp_path)


def test_what_is_written_is_read(disk, root):
    disk.write(f"{root}/file", [b"one", bytearray(b"two"), memoryview(b"three")])
    assert disk.read(f"{root}/file") == b"onetwothree"
    assert bytes(disk.view(f"{root}/file")) == b"onetwothree"
    assert disk.size(f"{root}/file") == 11
    assert disk.exists(f"{root}/file")
    assert not disk.is_directory(f"{root}/file")
    assert disk.list(root) == ["file"]


def test_the_space_of_the_file_system_is_told(disk, root):
    disk.write(f"{root}/file", [b"x"])
    usage = disk.usage(root)
    assert 0 < usage.usable_bytes < usage.total_bytes
    with pytest.raises(FileNotFoundError):
        disk.usage(f"{root}/none")


def test_ranges_end_where_the_file_does(disk, root):
    disk.write(f"{root}/file", [b"0123456789"])
    assert disk.read(f"{root}/file", 3, 4) == b"3456"
    assert disk.read(f"{root}/file", 8, 40) == b"89"
    assert disk.read(f"{root}/file", 8) == b"89"
    assert disk.read(f"{root}/file", 10, 1) == b""
    assert disk.read(f"{root}/file", 99) == b""
    assert disk.read(f"{root}/file", 3, 0) == b""


def test_an_empty_file_has_an_empty_view(disk, root):
    disk.write(f"{root}/file", [])
    assert (disk.size(f"{root}/file"), bytes(disk.view(f"{root}/file"))) == (0, b"")


def test_a_view_can_not_be_written_to(disk, root):
    disk.write(f"{root}/file", [b"data"])
    with pytest.raises(TypeError):
        disk.view(f"{root}/file")[0] = 1


def test_a_write_replaces_the_whole_file(disk, root):
    disk.write(f"{root}/file", [b"a long content"])
    disk.write(f"{root}/file", [b"short"])
    assert disk.read(f"{root}/file") == b"short"


def test_a_write_that_fails_leaves_what_was_there(disk, root):
    def chunks():
        yield b"half"
        raise RuntimeError

    disk.write(f"{root}/old", [b"old"])
    for name in ("old", "new"):
        with pytest.raises(RuntimeError):
            disk.write(f"{root}/{name}", chunks())
    assert disk.list(root) == ["old"]
    assert disk.read(f"{root}/old") == b"old"


def test_append_lengthens_or_makes_a_file(disk, root):
    disk.append(f"{root}/file", b"one")
    disk.append(f"{root}/file", memoryview(b"two"))
    assert disk.read(f"{root}/file") == b"onetwo"


def test_append_goes_to_the_file_that_has_the_name_now(disk, root):
    for change in (
        lambda: disk.remove(f"{root}/file"),
        lambda: disk.rename(f"{root}/file", f"{root}/moved"),
        lambda: disk.write(f"{root}/file", [b"new "]),
        lambda: disk.truncate(f"{root}/file", 2),
    ):
        disk.append(f"{root}/file", b"one")
        change()
        before = disk.read(f"{root}/file") if disk.exists(f"{root}/file") else b""
        disk.append(f"{root}/file", b"two")
        assert disk.read(f"{root}/file") == before + b"two"
    assert disk.read(f"{root}/moved") == b"twoone"


def test_append_takes_any_number_of_files_by_turns(disk, root):
    for _ in range(2):
        for index in range(100):
            disk.append(f"{root}/{index}", str(index).encode())
    assert {name: disk.read(f"{root}/{name}").decode() for name in disk.list(root)} == {
        str(index): f"{index}{index}" for index in range(100)
    }


def test_a_disk_can_be_sent_to_another_process(disk, root):
    disk.append(f"{root}/file", b"one")
    copy = pickle.loads(pickle.dumps(disk))  # noqa: S301 - our own bytes
    copy.append(f"{root}/file", b"two")
    assert copy.read(f"{root}/file") == b"onetwo"


def test_truncate_only_shortens(disk, root):
    disk.write(f"{root}/file", [b"0123456789"])
    disk.truncate(f"{root}/file", 4)
    disk.truncate(f"{root}/file", 4)
    assert disk.read(f"{root}/file") == b"0123"
    with pytest.raises(ValueError, match="has 4 bytes, it can not be cut down to 5"):
        disk.truncate(f"{root}/file", 5)


def test_rename_replaces_a_file(disk, root):
    disk.write(f"{root}/a", [b"a"])
    disk.write(f"{root}/b", [b"b"])
    disk.rename(f"{root}/a", f"{root}/b")
    assert disk.list(root) == ["b"]
    assert disk.read(f"{root}/b") == b"a"


def test_rename_moves_a_directory_with_all_in_it(disk, root):
    disk.make_directory(f"{root}/a/deep")
    disk.make_directory(f"{root}/other")
    disk.write(f"{root}/a/deep/file", [b"x"])
    disk.rename(f"{root}/a", f"{root}/other/b")
    assert disk.list(root) == ["other"]
    assert disk.read(f"{root}/other/b/deep/file") == b"x"
    assert not disk.exists(f"{root}/a/deep")


def test_remove_takes_files_and_empty_directories(disk, root):
    disk.make_directory(f"{root}/d")
    disk.write(f"{root}/d/file", [b"x"])
    with pytest.raises(OSError, match="not empty"):
        disk.remove(f"{root}/d")
    disk.remove(f"{root}/d/file")
    disk.remove(f"{root}/d")
    assert disk.list(root) == []


def test_names_are_sorted_and_only_those_of_the_directory_itself(disk, root):
    for name in ("b", "a", "c"):
        disk.make_directory(f"{root}/{name}/below")
    disk.write(f"{root}/aa", [b""])
    assert disk.list(root) == ["a", "aa", "b", "c"]
    assert disk.list(f"{root}/b/") == ["below"]


def test_making_a_directory_twice_is_no_error(disk, root):
    disk.make_directory(f"{root}/a/b")
    disk.make_directory(f"{root}/a/b")
    assert disk.is_directory(f"{root}/a/b")
    disk.sync_directory(f"{root}/a")


@pytest.mark.parametrize(
    "operation",
    [
        lambda disk, path: disk.read(path),
        lambda disk, path: disk.view(path),
        lambda disk, path: disk.size(path),
        lambda disk, path: disk.list(path),
        lambda disk, path: disk.remove(path),
        lambda disk, path: disk.truncate(path, 0),
        lambda disk, path: disk.rename(path, path + "2"),
        lambda disk, path: disk.sync_directory(path),
        lambda disk, path: disk.write(path + "/below", [b""]),
        lambda disk, path: disk.append(path + "/below", b""),
    ],
)
def test_what_is_missing_is_an_error(disk, root, operation):
    with pytest.raises(FileNotFoundError):
        operation(disk, f"{root}/missing")
    assert disk.list(root) == []


@pytest.mark.parametrize(
    "operation",
    [
        lambda disk, path: disk.read(path),
        lambda disk, path: disk.view(path),
        lambda disk, path: disk.size(path),
        lambda disk, path: disk.write(path, [b""]),
        lambda disk, path: disk.append(path, b""),
        lambda disk, path: disk.truncate(path, 0),
    ],
)
def test_a_directory_is_no_file(disk, root, operation):
    disk.make_directory(f"{root}/d")
    with pytest.raises(IsADirectoryError):
        operation(disk, f"{root}/d")
    assert disk.list(root) == ["d"]


def test_a_file_is_no_directory(disk, root):
    disk.write(f"{root}/file", [b""])
    for operation in (disk.list, disk.sync_directory):
        with pytest.raises(NotADirectoryError):
            operation(f"{root}/file")
    with pytest.raises(FileExistsError):
        disk.make_directory(f"{root}/file")
    with pytest.raises(NotADirectoryError):
        disk.write(f"{root}/file/below", [b""])
    for operation in (disk.read, disk.size, disk.view, disk.remove):
        with pytest.raises(NotADirectoryError):
            operation(f"{root}/file/below")
        with pytest.raises(NotADirectoryError):
            operation(f"{root}/file/below/deep")
    assert not disk.exists(f"{root}/file/below")


def test_renames_between_files_and_directories_are_refused(disk, root):
    disk.write(f"{root}/file", [b""])
    disk.make_directory(f"{root}/empty")
    disk.make_directory(f"{root}/full/below")
    with pytest.raises(IsADirectoryError):
        disk.rename(f"{root}/file", f"{root}/empty")
    with pytest.raises(NotADirectoryError):
        disk.rename(f"{root}/empty", f"{root}/file")
    with pytest.raises(OSError, match="not empty"):
        disk.rename(f"{root}/empty", f"{root}/full")
    disk.rename(f"{root}/full", f"{root}/empty")
    assert disk.list(f"{root}/empty") == ["below"]


def test_a_path_may_be_written_in_more_than_one_way(disk, root):
    disk.write(f"{root}//./file", [b"x"])
    assert disk.read(f"{root}/file") == b"x"


@pytest.mark.parametrize("goes_away", ["remove", "rename"])
def test_a_file_that_goes_away_is_not_kept_open_so_that_its_space_is_free_again(tmp_path, goes_away):
    disk, path = PosixDisk(), str(tmp_path / "file")
    disk.append(path, b"one")
    handle = disk._appended.get(path)
    assert os.fstat(handle).st_size == 3

    if goes_away == "remove":
        disk.remove(path)
    else:
        disk.rename(path, str(tmp_path / "other"))

    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)


def test_what_is_appended_to_a_log_file_is_read_from_it_at_once(disk, root):
    file = disk.open_log_file(f"{root}/log")
    for data in (b"one", bytearray(b"two"), memoryview(b"three"), b""):
        file.append(data)
    assert file.size == 11
    assert file.read(0, 99) == b"onetwothree"
    assert file.read(2, 5) == b"etwot"
    assert file.read(9, 5) == b"ee"
    assert file.read(11, 5) == file.read(99, 5) == file.read(3, 0) == b""
    assert disk.read(f"{root}/log") == b"onetwothree"
    file.sync()


def test_a_view_of_a_log_file_is_what_is_read_from_it(disk, root):
    file = disk.open_log_file(f"{root}/log")
    file.append(bytes(range(256)) * 1024)
    before = file.view(3, 200_000)
    file.append(b"more" * 50_000)
    for position, length in (
        (3, 200_000),
        (0, 2**30),
        (300_000, 2**30),
        (462_140, 9),
        (462_144, 9),
        (2**30, 9),
        (5, 0),
    ):
        assert file.view(position, length) == file.read(position, length), (position, length)
    file.truncate(70_000)
    assert file.view(1, 2**30) == file.read(1, 2**30)
    file.append(b"anew" * 50_000)
    assert file.view(1, 2**30) == file.read(1, 2**30)
    disk.remove(f"{root}/log")
    view = file.view(1, 2**30)
    file.close()
    assert view[-4:] == b"anew"
    assert before[:60_000] == (bytes(range(256)) * 1024)[3:60_003]


def test_a_log_file_is_made_or_taken_as_it_stands(disk, root):
    disk.open_log_file(f"{root}/log").close()
    assert disk.list(root) == ["log"]
    disk.write(f"{root}/log", [b"old"])
    file = disk.open_log_file(f"{root}/log")
    file.append(b"new")
    assert (file.size, file.read(0, 9)) == (6, b"oldnew")


def test_a_log_file_is_cut_and_goes_on(disk, root):
    file = disk.open_log_file(f"{root}/log")
    file.append(b"0123456789")
    file.append(b"abc")
    file.truncate(12)
    file.truncate(12)
    file.truncate(4)
    file.append(b"x")
    assert (file.size, file.read(0, 99)) == (5, b"0123x")
    with pytest.raises(ValueError, match="has 5 bytes, it can not be cut down to 6"):
        file.truncate(6)
    file.truncate(0)
    assert (file.size, disk.read(f"{root}/log")) == (0, b"")


def test_a_log_file_may_be_synced_piece_by_piece(disk, root):
    file = disk.open_log_file(f"{root}/log")
    file.append(bytes(range(250)) * 100)
    for position in range(0, 30_000, 7000):
        file.sync_ahead(position, 7000)
    file.append(b"more")
    file.sync_ahead(4096, 1 << 20)
    file.sync()
    assert file.read(24_998, 100) == b"\xf8\xf9more"


def test_a_log_file_stays_open_when_its_name_goes(disk, root):
    file = disk.open_log_file(f"{root}/log")
    file.append(b"one")
    disk.rename(f"{root}/log", f"{root}/moved")
    file.append(b"two")
    assert disk.read(f"{root}/moved") == b"onetwo"
    disk.remove(f"{root}/moved")
    file.append(b"three")
    assert file.read(0, 99) == b"onetwothree"
    assert disk.list(root) == []


def test_a_log_file_stays_open_when_its_directory_is_renamed(disk, root):
    disk.make_directory(f"{root}/d")
    file = disk.open_log_file(f"{root}/d/log")
    disk.rename(f"{root}/d", f"{root}/e")
    file.append(b"one")
    assert disk.read(f"{root}/e/log") == b"one"


def test_a_closed_log_file_takes_and_gives_nothing(disk, root):
    file = disk.open_log_file(f"{root}/log")
    file.append(b"one")
    file.close()
    file.close()
    for operation in (
        lambda: file.append(b"two"),
        lambda: file.read(0, 3),
        lambda: file.view(0, 3),
        lambda: file.truncate(0),
        file.sync,
        lambda: file.sync_ahead(0, 3),
        lambda: file.size,
    ):
        with pytest.raises(ValueError, match="is closed"):
            operation()
    assert disk.read(f"{root}/log") == b"one"


def test_a_log_file_needs_its_directory_and_is_none_itself(disk, root):
    disk.make_directory(f"{root}/d")
    with pytest.raises(IsADirectoryError):
        disk.open_log_file(f"{root}/d")
    with pytest.raises(FileNotFoundError):
        disk.open_log_file(f"{root}/missing/log")


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.tuples(st.just("cut"), st.integers(0, 200)),
            st.tuples(st.integers(0, 200), st.integers(0, 60)),
        ),
        max_size=40,
    )
)
def test_a_file_in_memory_is_what_one_string_of_bytes_would_be(changes):
    disk, expected = MemoryDisk(), b""
    file = disk.open_log_file("/log")
    for change in changes:
        if isinstance(change, bytes):
            file.append(change)
            expected += change
        elif change[0] == "cut":
            size = min(change[1], len(expected))
            file.truncate(size)
            expected = expected[:size]
        else:
            position, length = change
            assert file.read(position, length) == expected[position : position + length]
            assert disk.read("/log", position, length) == expected[position : position + length]
        assert file.size == disk.size("/log") == len(expected)
    assert disk.read("/log") == bytes(disk.view("/log")) == expected


def test_a_descriptor_that_fails_to_be_closed_is_not_closed_again(tmp_path, monkeypatch):
    """It is gone all the same, and its number may be another file's."""
    closed, close = [], os.close

    def failing(handle):
        closed.append(handle)
        close(handle)
        raise OSError(errno.EIO, "Input/output error")

    file = PosixDisk().open_log_file(str(tmp_path / "file"))
    monkeypatch.setattr(os, "close", failing)
    with pytest.raises(OSError, match="Input/output error"):
        file.close()
    file.close()
    assert len(closed) == 1
