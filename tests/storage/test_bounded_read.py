import pytest

from falkirk.storage.bounded_read import SMALL_FILE_BYTES_MAX, read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.memory_disk import MemoryDisk


def test_a_file_is_read_up_to_its_bound_and_refused_by_name_beyond():
    disk = MemoryDisk()
    disk.make_directory("/d")
    for size in (SMALL_FILE_BYTES_MAX, SMALL_FILE_BYTES_MAX + 1):
        disk.write(f"/d/{size}", [bytes(size)])
    assert len(read_bounded(disk, f"/d/{SMALL_FILE_BYTES_MAX}")) == SMALL_FILE_BYTES_MAX
    with pytest.raises(CorruptFileError, match=r"^s3://d/x: longer than 1048576 bytes"):
        read_bounded(disk, f"/d/{SMALL_FILE_BYTES_MAX + 1}", file="s3://d/x")


def test_no_more_than_the_bound_is_read():
    class Counting(MemoryDisk):
        def read(self, path, position=0, length=None):
            assert length == 11
            return super().read(path, position, length)

    disk = Counting()
    disk.make_directory("/d")
    disk.write("/d/x", [bytes(1000)])
    with pytest.raises(CorruptFileError):
        read_bounded(disk, "/d/x", 10)
