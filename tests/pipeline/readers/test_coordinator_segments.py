from made_clusters import data_batches, make_partition

from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.readers.coordinator_segments import end_offset, segments_of
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record


def partition(path, batches):
    make_partition(path, bytes(16), batches)
    return open_location(str(path))


def test_a_partition_ends_behind_its_last_whole_batch(tmp_path):
    directory = partition(tmp_path / "t-0", data_batches(3))
    assert end_offset(directory) == 3
    [log] = segments_of(directory)
    data = log.disk.read(log.path)
    (tmp_path / "t-0" / "00000000000000000000.log").write_bytes(data[:-1])
    assert end_offset(directory) == 2


def test_a_batch_ends_where_it_was_made_to_end(tmp_path):
    batch = build_batch([Record(4, 0, b"k", b"v")], base_offset=4, last_offset=9)
    assert end_offset(partition(tmp_path / "t-0", [batch])) == 10


def test_a_segment_that_is_still_empty_says_nothing_of_the_end(tmp_path):
    directory = partition(tmp_path / "t-0", data_batches(3))
    (tmp_path / "t-0" / "00000000000000000003.log").touch()
    assert [log.path[-6:] for log in segments_of(directory)] == ["00.log", "03.log"]
    assert end_offset(directory) == 3


def test_a_partition_without_batches_ends_at_zero(tmp_path):
    assert end_offset(partition(tmp_path / "t-0", [])) == 0
