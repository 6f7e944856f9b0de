import pytest
from storage_files import STORAGE

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.partition_log import list_partition, read_segments
from falkirk.storage.posix_disk import PosixDisk


def batch(base_offset):
    return build_batch([Record(base_offset, 0, None, b"v")], base_offset=base_offset, leader_epoch=1)


def disk_with(**segments):
    disk = MemoryDisk()
    disk.make_directory("/t-0")
    for name, data in segments.items():
        disk.write(f"/t-0/{int(name[1:]):020d}.log", [data])
    return disk


def read(disk, **options):
    offsets = []
    for reader in read_segments(disk, "/t-0", **options):
        offsets += [item.base_offset for item in reader]
    return offsets, reader


def test_a_directory_of_kafka_is_sorted_by_kind():
    files = list_partition(PosixDisk(), str(STORAGE / "4.3.1/n1/__cluster_metadata-0"))
    assert files.segments == (0,)
    assert [file.kind for file in files.segment_files] == ["index", "log", "timeindex", "snapshot"]
    assert [(name.id.end_offset, name.id.epoch) for name in files.metadata_snapshots] == [(0, 0), (354, 1)]
    assert files.other_files == ("leader-epoch-checkpoint", "partition.metadata", "quorum-state")
    assert files.marked_files == ()


def test_files_with_markers_are_kept_apart():
    disk = disk_with(_0=batch(0))
    disk.write("/t-0/00000000000000000005.log.swap", [b""])
    disk.write("/t-0/00000000000000000009.log.deleted", [b""])
    files = list_partition(disk, "/t-0")
    assert (files.segments, [file.marker for file in files.marked_files]) == ((0,), ["swap", "deleted"])


def test_segments_are_read_in_order():
    offsets, reader = read(disk_with(_0=batch(0) + batch(1), _2=batch(2), _7=batch(7) + batch(9)))
    assert offsets == [0, 1, 2, 7, 9]
    assert (reader.base_offset, reader.end_offset, reader.file) == (7, 10, "/t-0/00000000000000000007.log")


def test_the_last_segment_may_be_torn():
    offsets, reader = read(disk_with(_0=batch(0), _1=batch(1) + batch(2)[:-1]))
    assert offsets == [0, 1]
    assert reader.torn.position == len(batch(1))


def test_another_segment_may_not_be_torn():
    with pytest.raises(CorruptFileError, match=r"00.log: torn at byte 0 of 68: .*, and a segment follows"):
        read(disk_with(_0=batch(0)[:-1], _1=batch(1)))


def test_segments_do_not_overlap():
    with pytest.raises(CorruptFileError, match=r"01.log: segment begins at offset 1, 2 was expected after /t-0/0+.log"):
        read(disk_with(_0=batch(0) + batch(1), _1=batch(1)))


def test_a_metadata_log_has_no_gap_between_segments():
    disk = disk_with(_0=batch(0), _5=batch(5))
    assert read(disk)[0] == [0, 5]
    with pytest.raises(CorruptFileError, match="segment begins at offset 5, 1 was expected"):
        read(disk, contiguous=True)
