import pytest
from hypothesis import given
from hypothesis import strategies as st
from kraft_batches import data_batch

from falkirk.mirror import partition_mirror
from falkirk.mirror.partition_mirror import PartitionMirror
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.storage.snapshot_file import SnapshotId

# Four batches: offsets 0-1, 2, 3-5, 6.
SIZES = (2, 1, 3, 1)


def batches(sizes=SIZES, start=0, epoch=1) -> list[bytes]:
    made, offset = [], start
    for size in sizes:
        made.append(data_batch(offset, epoch, [b"value"] * size))
        offset += size
    return made


def segments(mirror: PartitionMirror) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(mirror.directory.glob("*.log"))}


def name(offset: int) -> str:
    return f"{offset:020d}.log"


def test_nothing_is_written_that_is_not_committed_or_not_whole(tmp_path):
    log = batches()
    mirror = PartitionMirror(tmp_path / "t-0")
    assert mirror.append(b"".join(log)[:-1], 7)
    assert (mirror.end_offset, mirror.last_epoch) == (6, 1)
    assert not mirror.append(log[3], 6)
    assert segments(mirror) == {name(0): b"".join(log[:3])}
    assert mirror.append(log[3], 7)
    assert segments(mirror) == {name(0): b"".join(log)}


def test_a_batch_whose_beginning_is_there_already_is_not_written_twice(tmp_path):
    log = batches()
    mirror = PartitionMirror(tmp_path / "t-0")
    mirror.append(b"".join(log[:2]), 7)
    mirror.append(b"".join(log), 7)
    assert segments(mirror) == {name(0): b"".join(log)}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_however_it_comes_and_wherever_a_run_was_cut_off_the_log_is_the_same(tmp_path_factory, sizes, data):
    whole = b"".join(batches(sizes))
    directory = tmp_path_factory.mktemp("mirror") / "t-0"
    mirror = PartitionMirror(directory)
    for _ in range(data.draw(st.integers(0, 4))):
        mirror.append(whole[: data.draw(st.integers(0, len(whole)))], data.draw(st.integers(0, sum(sizes))))
        if data.draw(st.booleans()) and mirror.end_offset:
            file = directory / name(0)
            file.write_bytes(whole[: data.draw(st.integers(0, file.stat().st_size))])
            mirror = PartitionMirror(directory)
        fetched = segments(mirror).get(name(0), b"")
        assert whole.startswith(fetched)
    mirror.append(whole, sum(sizes))
    assert segments(mirror) == {name(0): whole}
    again = PartitionMirror(directory)
    assert (again.end_offset, again.last_epoch) == (sum(sizes), 1)


def test_what_is_no_batch_is_an_error_and_is_not_written(tmp_path):
    mirror = PartitionMirror(tmp_path / "t-0")
    damaged = bytearray(b"".join(batches()))
    damaged[-1] ^= 1
    with pytest.raises(RemoteProtocolError):
        mirror.append(bytes(damaged), 7)
    assert PartitionMirror(tmp_path / "t-0").end_offset == 0


def test_segments_end_at_a_size_and_behind_a_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(partition_mirror, "SEGMENT_BYTES_MAX", 1)
    log = batches()
    mirror = PartitionMirror(tmp_path / "t-0")
    for batch in log[:2]:
        mirror.append(batch, 7)
    mirror.skip_to(6)
    mirror.append(log[3], 7)
    assert segments(mirror) == {name(0): log[0], name(2): log[1], name(6): log[3]}
    assert PartitionMirror(tmp_path / "t-0").end_offset == 7


def test_a_snapshot_takes_the_place_of_all_that_was_there(tmp_path):
    mirror = PartitionMirror(tmp_path / "__cluster_metadata-0")
    for older in (SnapshotId(end_offset=2, epoch=1), SnapshotId(end_offset=30, epoch=4)):
        mirror.append(b"".join(batches()), 7)
        mirror.begin_snapshot(older).write_bytes(b"snapshot")
        mirror.install_snapshot(older)
    assert (mirror.end_offset, mirror.last_epoch) == (30, 4)
    mirror.append(b"".join(batches((2,), start=30, epoch=5)), 32)
    assert sorted(path.name for path in mirror.directory.iterdir()) == [
        f"{30:020d}-{4:010d}.checkpoint",
        name(30),
    ]
    again = PartitionMirror(mirror.directory)
    assert (again.end_offset, again.last_epoch) == (32, 5)


def test_a_snapshot_that_was_not_fetched_to_its_end_is_none(tmp_path):
    mirror = PartitionMirror(tmp_path / "m-0")
    mirror.append(b"".join(batches()), 7)
    mirror.begin_snapshot(SnapshotId(end_offset=30, epoch=4)).write_bytes(b"half")
    again = PartitionMirror(mirror.directory)
    assert again.end_offset == 7
    assert [path.name for path in mirror.directory.iterdir()] == [name(0)]


def test_segments_that_a_cut_off_run_left_before_a_snapshot_are_not_written_to(tmp_path):
    mirror = PartitionMirror(tmp_path / "m-0")
    mirror.append(b"".join(batches()), 7)
    (mirror.directory / f"{30:020d}-{4:010d}.checkpoint").write_bytes(b"snapshot")
    again = PartitionMirror(mirror.directory)
    again.append(b"".join(batches((1,), start=30, epoch=5)), 31)
    assert segments(again).keys() == {name(0), name(30)}


def test_a_topic_that_was_made_anew_is_fetched_anew(tmp_path):
    mirror = PartitionMirror(tmp_path / "t-0")
    for topic_id, end_offset in ((b"1" * 16, 0), (b"1" * 16, 7), (b"2" * 16, 0)):
        mirror.set_topic_id(topic_id)
        assert mirror.end_offset == end_offset
        mirror.append(b"".join(batches()), 7)
