import errno
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kraft_batches import (
    CLUSTERS,
    copied,
    data_batch,
    files_of,
    kafka_metadata,
    leader_change,
    voters,
    voters_batch,
)
from raised import raised

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batch, read_batches
from falkirk.raft.output import ElectionState
from falkirk.storage import segment
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.metadata_log import MetadataLog, MetadataLogRecovery, MetadataLogSettings
from falkirk.storage.snapshot_writer import write_snapshot

if TYPE_CHECKING:
    from falkirk.raft.replicated_log import ReplicatedLog

DIRECTORY = "/d0/__cluster_metadata-0"
FIRST_SEGMENT = f"{DIRECTORY}/00000000000000000000.log"


def opened(disk=None, **settings) -> MetadataLog:
    return MetadataLog(disk or MemoryDisk(), "/d0", MetadataLogSettings(**settings))


def filled(disk, *batches, **settings):
    log = opened(disk, **settings)
    for batch in batches:
        log.append(batch)
    return log


def snapshot_bytes(epoch, values=(b"v",), *, kraft_version=0, voters=None, timestamp=500):
    return b"".join(
        write_snapshot(
            values,
            epoch=epoch,
            last_contained_log_timestamp=timestamp,
            clock=lambda: 77,
            kraft_version=kraft_version,
            voters=voters,
        )
    )


def begin_snapshot(log, offset, epoch, values=(b"v",), *, timestamp=500, level=0, kraft_version=0, voters=None):
    return log.begin_snapshot(
        OffsetAndEpoch(offset, epoch),
        values,
        level=level,
        kraft_version=kraft_version,
        voters=voters,
        last_contained_log_timestamp=timestamp,
        clock=lambda: 77,
    )


def create_snapshot(log, offset, epoch, values=(b"v",), **settings):
    creation = begin_snapshot(log, offset, epoch, values, **settings)
    while creation is not None and not creation.step():
        pass
    return creation is not None


def install(log, offset, epoch, data, chunk=100):
    snapshot = OffsetAndEpoch(offset, epoch)
    for position in range(0, len(data), chunk):
        log.write_snapshot_chunk(snapshot, position, data[position : position + chunk])
    log.install_snapshot(snapshot)


def shape(log):
    """All that raft may ask, but for the bytes."""
    return (
        log.start_offset,
        log.end_offset,
        log.last_epoch,
        log.latest_snapshot,
        log.earliest_snapshot,
        [log.end_offset_for_epoch(epoch) for epoch in range(-1, log.last_epoch + 2)],
        list(log.voters_changes()),
    )


THREE_EPOCHS = (
    leader_change(0, 1),
    data_batch(1, 1, [b"a", b"b"]),
    leader_change(3, 4),
    data_batch(4, 4, [b"c"]),
    leader_change(5, 6),
)


def test_raft_can_read_it():
    reader: ReplicatedLog = opened()
    assert (reader.start_offset, reader.end_offset, reader.last_epoch) == (0, 0, 0)
    assert (reader.latest_snapshot, reader.earliest_snapshot) == (None, None)
    assert reader.read(0, 100) == b""
    assert reader.end_offset_for_epoch(7) == (0, 0)
    assert list(reader.voters_changes()) == []
    assert reader.read_snapshot(OffsetAndEpoch(1, 1), 0, 10) is None


def test_a_new_log_has_the_files_of_kafkas():
    disk = MemoryDisk()
    opened(disk)
    assert files_of(disk, DIRECTORY) == {
        "leader-epoch-checkpoint": b"0\n0\n",
        "partition.metadata": b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
    }


def test_what_is_appended_is_on_the_disk_and_read_again_by_offset():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS)
    assert disk.read(FIRST_SEGMENT) == b"".join(THREE_EPOCHS)
    assert disk.read(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n3\n1 0\n4 3\n6 5\n"
    assert log.end_offset == 6
    assert log.last_epoch == 6
    for reader in (log, opened(disk)):
        assert reader.read(2, 1) == THREE_EPOCHS[1]
        assert reader.read(3, len(THREE_EPOCHS[2]) + len(THREE_EPOCHS[3])) == THREE_EPOCHS[2] + THREE_EPOCHS[3]
        assert reader.read(0, 1 << 20) == b"".join(THREE_EPOCHS)
        assert reader.read(6, 100) == b""
        assert [batch.base_offset for batch in reader.batches(1, 4)] == [1, 3]


def test_an_append_is_one_write_and_a_new_epoch_one_more():
    disk = CountingDisk()
    log = opened(disk)
    disk.writes.clear()
    log.append(THREE_EPOCHS[0])
    assert disk.writes == [FIRST_SEGMENT, f"{DIRECTORY}/leader-epoch-checkpoint"]
    disk.writes.clear()
    log.append(data_batch(1, 1) + data_batch(2, 1))
    assert disk.writes == [FIRST_SEGMENT]


def test_followers_and_the_image_read_recent_batches_from_memory():
    disk = CountingDisk()
    log = filled(disk, *THREE_EPOCHS)
    disk.reads.clear()
    assert log.read(0, 1 << 20) == b"".join(THREE_EPOCHS)
    assert len(list(log.batches(0, 6))) == 5
    assert disk.reads == []


def test_older_batches_are_read_from_the_disk_in_pieces():
    batches = [data_batch(offset, 1, [bytes(offset % 900)]) for offset in range(300)]
    batches[150] = data_batch(150, 1, [bytes(20_000)])
    disk = MemoryDisk()
    log = filled(disk, *batches, tail_bytes=1000, segment_bytes=30_000)
    assert len([name for name in disk.list(DIRECTORY) if name.endswith(".log")]) == 4
    assert b"".join(bytes(batch.data) for batch in log.batches(0, 300)) == b"".join(batches)
    for offset in range(300):
        assert log.read(offset, 1) == batches[offset]
    assert log.read(10, len(batches[10]) + len(batches[11]) + 1) == batches[10] + batches[11]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (data_batch(7, 6), "batch begins at offset 7, 6 was expected"),
        (data_batch(5, 6), "batch begins at offset 5, 6 was expected"),
        (data_batch(6, 5), "batch of offset 6 has leader epoch 5 after 6"),
        (data_batch(6, 6) + data_batch(8, 6), "batch begins at offset 8, 7 was expected"),
        (data_batch(6, 6) + data_batch(7, 6)[:-1], "takes 73 bytes, 72 are left"),
        (data_batch(6, 6)[:-2] + b"xx", "CRC of the batch"),
        (
            build_batch([Record(6, 0, b"\0\0\0\6", b"\0\0")], base_offset=6, leader_epoch=6, is_control=True),
            "ends",
        ),
    ],
)
def test_bytes_that_do_not_fit_are_refused_and_nothing_is_written(data, reason):
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS)
    before = files_of(disk, DIRECTORY), shape(log)
    with pytest.raises(RemoteProtocolError, match=reason):
        log.append(data)
    assert (files_of(disk, DIRECTORY), shape(log)) == before


def test_segments_roll_by_size_and_by_the_age_of_what_is_in_them():
    disk = MemoryDisk()
    batch = len(data_batch(0, 1))
    log = opened(disk, segment_bytes=batch * 2, segment_ms=10)
    for offset, timestamp in enumerate((100, 100, 100, 110, 110, 121)):
        log.append(data_batch(offset, 1, timestamp_ms=timestamp))
    logs = {name: disk.size(f"{DIRECTORY}/{name}") for name in disk.list(DIRECTORY) if name.endswith(".log")}
    assert logs == {
        "00000000000000000000.log": batch * 2,
        "00000000000000000002.log": batch * 2,
        "00000000000000000004.log": batch,
        "00000000000000000005.log": batch,
    }


def test_truncation_cuts_whole_batches_segments_and_epochs():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS, segment_bytes=1)
    log.truncate(5)
    assert log.end_offset == 5
    assert log.last_epoch == 4
    # A batch that the offset divides goes as a whole.
    log.truncate(2)
    assert (log.end_offset, log.last_epoch) == (1, 1)
    assert disk.read(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n1\n1 0\n"
    log.truncate(9)
    log.append(leader_change(1, 7))
    assert shape(opened(disk)) == shape(log)
    assert log.read(0, 1) == THREE_EPOCHS[0]
    assert log.read(1, 1000) == leader_change(1, 7)


def test_epochs_end_where_the_next_begins():
    log = filled(None, *THREE_EPOCHS)
    assert [log.end_offset_for_epoch(epoch) for epoch in range(8)] == [
        (0, 0),
        (3, 1),
        (3, 1),
        (3, 1),
        (5, 4),
        (5, 4),
        (6, 6),
        (6, 6),
    ]


def test_epochs_before_the_log_end_at_its_snapshot():
    log = filled(None, *THREE_EPOCHS)
    assert create_snapshot(log, 5, 4)
    log.delete_before(OffsetAndEpoch(5, 4))
    assert log.end_offset_for_epoch(2) == OffsetAndEpoch(5, 4)
    install(log, 20, 8, snapshot_bytes(8))
    assert log.end_offset_for_epoch(9) == OffsetAndEpoch(20, 8)
    assert (log.end_offset, log.last_epoch) == (20, 8)


def test_a_snapshot_that_is_made_can_be_read_and_loaded():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS)
    assert create_snapshot(log, 5, 4, [b"one", b"two"])
    assert log.latest_snapshot == log.earliest_snapshot == OffsetAndEpoch(5, 4)
    data = disk.read(f"{DIRECTORY}/00000000000000000005-0000000004.checkpoint")
    assert data == snapshot_bytes(4, [b"one", b"two"])
    assert log.read_snapshot(OffsetAndEpoch(5, 4), 10, 20) == (data[10:30], len(data))
    assert log.read_snapshot(OffsetAndEpoch(5, 3), 0, 20) is None
    [batch] = log.load_snapshot(OffsetAndEpoch(5, 4)).data_batches
    assert batch.values() == [b"one", b"two"]


def test_no_snapshot_is_made_twice_or_before_a_newer_one():
    log = filled(None, *THREE_EPOCHS)
    assert create_snapshot(log, 5, 4)
    assert not create_snapshot(log, 5, 4)
    assert not create_snapshot(log, 3, 1)


def test_the_log_starts_at_a_snapshot_once_what_is_before_it_is_deleted():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS, segment_bytes=1)
    create_snapshot(log, 3, 1)
    create_snapshot(log, 5, 4)
    assert log.delete_before(OffsetAndEpoch(4, 4)) == ()
    assert log.delete_before(OffsetAndEpoch(3, 1)) == ("00000000000000000000.log", "00000000000000000001.log")
    assert log.earliest_snapshot == OffsetAndEpoch(3, 1)
    removed = log.delete_before(OffsetAndEpoch(5, 4))
    assert removed[-1] == "00000000000000000003-0000000001.checkpoint"
    assert (log.start_offset, log.earliest_snapshot) == (5, (5, 4))
    assert disk.list(DIRECTORY) == [
        "00000000000000000005-0000000004.checkpoint",
        "00000000000000000005.log",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert disk.read(f"{DIRECTORY}/leader-epoch-checkpoint") == b"0\n1\n6 5\n"
    assert shape(opened(disk)) == shape(log)


def test_a_segment_that_a_snapshot_divides_stays():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS)
    create_snapshot(log, 4, 4)
    assert log.delete_before(OffsetAndEpoch(4, 4)) == ()
    assert log.start_offset == 4
    # As in Kafka, the file decides where a log that is opened again begins.
    assert opened(disk).start_offset == 0


def retained(log, now_ms=0):
    log.clean(now_ms)
    return log.earliest_snapshot.offset


def three_snapshots(**settings):
    log = filled(None, *THREE_EPOCHS, segment_bytes=1, **settings)
    for offset, epoch, timestamp in ((1, 1, 1000), (3, 1, 2000), (5, 4, 3000)):
        create_snapshot(log, offset, epoch, timestamp=timestamp)
    return log


def test_old_snapshots_go_by_their_age_but_the_newest_stays():
    assert retained(three_snapshots(retention_ms=1000), 2000) == 1
    assert retained(three_snapshots(retention_ms=1000), 2001) == 3
    assert retained(three_snapshots(retention_ms=1000), 3000) == 3
    assert retained(three_snapshots(retention_ms=1000), 1 << 40) == 5
    assert retained(three_snapshots(retention_ms=-1), 1 << 40) == 1


def test_old_snapshots_go_by_the_size_of_all_but_the_newest_stays():
    snapshot = len(snapshot_bytes(1))
    whole = sum(map(len, THREE_EPOCHS)) + 3 * snapshot
    assert retained(three_snapshots(retention_bytes=whole)) == 1
    assert retained(three_snapshots(retention_bytes=whole - 1)) == 3
    first = snapshot + len(THREE_EPOCHS[0] + THREE_EPOCHS[1])
    assert retained(three_snapshots(retention_bytes=whole - first)) == 3
    assert retained(three_snapshots(retention_bytes=whole - first - 1)) == 5
    assert retained(three_snapshots(retention_bytes=0)) == 5
    assert retained(three_snapshots(retention_bytes=-1)) == 1


def test_a_fetched_snapshot_replaces_the_log():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS, segment_bytes=1)
    create_snapshot(log, 3, 1)
    data = snapshot_bytes(6, [b"x" * 300], kraft_version=1, voters=voters(1, 2))
    snapshot = OffsetAndEpoch(40, 6)
    log.write_snapshot_chunk(snapshot, 0, b"a first try that was given up")
    log.write_snapshot_chunk(snapshot, 0, data[:100])
    assert "00000000000000000040-0000000006-0.checkpoint.part" in disk.list(DIRECTORY)
    log.write_snapshot_chunk(snapshot, 100, data[100:])
    log.install_snapshot(snapshot)
    assert disk.list(DIRECTORY) == [
        "00000000000000000040-0000000006.checkpoint",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert (log.start_offset, log.end_offset, log.last_epoch) == (40, 40, 6)
    assert list(log.voters_changes()) == [(40, 1, voters(1, 2))]
    assert log.read(40, 100) == b""
    log.append(data_batch(40, 6))
    assert shape(opened(disk)) == shape(log)


@pytest.mark.source
def test_a_fetched_snapshot_is_checked_while_it_comes_and_not_when_all_of_it_is_there(monkeypatch):
    log = filled(MemoryDisk(), *THREE_EPOCHS)
    data = snapshot_bytes(6, [b"x" * 300])
    sizes = [batch.size for batch in read_batches(data)]
    checked = []

    def counted(buffer, position, *, check_crc=True):
        checked.append(check_crc)
        return read_batch(buffer, position, check_crc=check_crc)

    snapshot = OffsetAndEpoch(40, 6)
    log.write_snapshot_chunk(snapshot, 0, data[:-1])
    log.write_snapshot_chunk(snapshot, len(data) - 1, data[-1:])
    monkeypatch.setattr(segment, "read_batch", counted)
    log.install_snapshot(snapshot)
    log.load_snapshot(snapshot)
    assert checked == [False] * len(sizes) * 2


@pytest.mark.parametrize("position", range(len(snapshot_bytes(6))))
def test_a_flipped_bit_of_a_fetched_snapshot_is_found_in_whatever_chunks_it_comes(position):
    data = bytearray(snapshot_bytes(6))
    data[position] ^= 1

    def outcome(chunk):
        log = filled(MemoryDisk(), *THREE_EPOCHS)
        return raised(CorruptFileError, lambda: install(log, 40, 6, bytes(data), chunk))

    # No CRC covers the epoch of the last batch.
    assert str(outcome(7)) == str(outcome(100)) == str(outcome(len(data)))


@pytest.mark.parametrize(
    "data",
    [
        snapshot_bytes(6)[:-1],
        snapshot_bytes(6)[:200],
        b"",
        data_batch(0, 6),
        bytearray(snapshot_bytes(6)[:-3]) + b"xyz",
    ],
    ids=["torn", "no footer", "empty", "no snapshot", "damaged"],
)
def test_a_fetched_file_that_is_no_snapshot_is_removed_and_the_log_stays(data):
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS)
    before = files_of(disk, DIRECTORY), shape(log)
    log.write_snapshot_chunk(OffsetAndEpoch(40, 6), 0, bytes(data))
    with pytest.raises(CorruptFileError):
        log.install_snapshot(OffsetAndEpoch(40, 6))
    assert (files_of(disk, DIRECTORY), shape(log)) == before
    install(log, 40, 6, snapshot_bytes(6))


def test_voters_are_told_from_the_latest_snapshot_on():
    disk = MemoryDisk()
    log = filled(disk, leader_change(0, 1), voters_batch(1, 1, 1, 2), data_batch(3, 1), voters_batch(4, 1, 1, 2, 3))
    first = [(1, 1, None), (2, None, voters(1, 2))]
    second = [(4, 1, None), (5, None, voters(1, 2, 3))]
    assert list(log.voters_changes()) == first + second
    assert create_snapshot(log, 3, 1, [], kraft_version=1, voters=voters(1, 2))
    assert list(log.voters_changes()) == [(3, 1, voters(1, 2)), *second]
    assert list(opened(disk).voters_changes()) == [(3, 1, voters(1, 2)), *second]
    log.truncate(4)
    assert list(log.voters_changes()) == [(3, 1, voters(1, 2))]


def test_an_election_is_remembered_in_the_form_of_its_kraft_version():
    disk = MemoryDisk()
    log = opened(disk)
    path = f"{DIRECTORY}/quorum-state"
    assert log.quorum_state is None
    log.write_election_state(ElectionState(epoch=3, voted_id=2, voted_directory_id=bytes(16), voters=(1, 2)))
    assert disk.read(path) == (
        b'{"clusterId":"","leaderId":-1,"leaderEpoch":3,"votedId":2,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    log.write_election_state(ElectionState(epoch=4, leader_id=0, kraft_version=1))
    assert disk.read(path) == (
        b'{"leaderId":0,"leaderEpoch":4,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    assert opened(disk).quorum_state == log.quorum_state
    assert log.quorum_state.leader_epoch == 4


# Opening


@pytest.mark.parametrize("path", sorted(CLUSTERS.glob("*.tar.gz")), ids=lambda path: path.name.split(".tar")[0])
def test_logs_of_kafka_are_opened_and_left_as_they_are(path):
    for files in kafka_metadata(path.name.removesuffix(".tar.gz")).values():
        disk = MemoryDisk()
        disk.make_directory(DIRECTORY)
        for name, data in files.items():
            disk.write(f"{DIRECTORY}/{name}", [data])
        log = opened(disk)
        assert log.recovery == MetadataLogRecovery()
        added = files_of(disk, DIRECTORY).keys() - files.keys()
        assert {name: data for name, data in files_of(disk, DIRECTORY).items() if name not in added} == files
        assert added <= {"leader-epoch-checkpoint", "partition.metadata"}
        logs = b"".join(data for name, data in sorted(files.items()) if name.endswith(".log"))
        assert b"".join(bytes(batch.data) for batch in log.batches(log.start_offset, log.end_offset)) == logs
        if log.latest_snapshot is not None:
            assert log.load_snapshot(log.latest_snapshot).is_complete


def test_a_torn_write_is_cut_off_and_told():
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS)
    whole = files_of(disk, DIRECTORY)
    last = len(THREE_EPOCHS[-1])
    good = disk.size(FIRST_SEGMENT) - last
    for cut in range(1, last):
        damaged = copied(disk, DIRECTORY)
        damaged.truncate(FIRST_SEGMENT, good + cut)
        log = opened(damaged)
        assert log.recovery.torn.file == FIRST_SEGMENT
        assert (log.recovery.torn.tail.position, log.recovery.torn.tail.size) == (good, good + cut)
        assert (log.end_offset, log.last_epoch) == (5, 4)
        log.append(THREE_EPOCHS[-1])
        assert files_of(damaged, DIRECTORY) == whole


def test_a_write_whose_end_is_still_zero_is_cut_off_however_few_the_zeros():
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS)
    whole = disk.read(FIRST_SEGMENT)
    good = len(whole) - len(THREE_EPOCHS[-1])
    for zeros in range(1, len(THREE_EPOCHS[-1]) + 1):
        content = whole[:-zeros] + bytes(zeros)
        damaged = copied(disk, DIRECTORY)
        damaged.write(FIRST_SEGMENT, [content])
        log = opened(damaged)
        if content == whole:
            assert log.recovery.torn is None
        else:
            assert (log.recovery.torn.tail.position, log.end_offset) == (good, 5)


def test_a_bad_batch_that_a_good_one_follows_is_no_torn_write():
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS)
    whole = disk.read(FIRST_SEGMENT)
    end = len(whole) - len(THREE_EPOCHS[-1])
    disk.write(FIRST_SEGMENT, [whole[: end - 2] + bytes(2) + whole[end:]])
    error = raised(CorruptFileError, lambda: opened(disk))
    assert error is not None
    assert "CRC" in str(error)
    assert disk.size(FIRST_SEGMENT) == len(whole)


def test_an_epoch_begins_where_the_log_was_cut_at_its_end():
    log = filled(MemoryDisk(), *THREE_EPOCHS)
    assert create_snapshot(log, 6, 6)
    log.delete_before(OffsetAndEpoch(6, 6))
    log.append(data_batch(6, 7))
    assert log.last_epoch == 7
    assert log.end_offset_for_epoch(6) == OffsetAndEpoch(6, 6)


@given(position=st.integers(0, 1 << 20), bit=st.integers(0, 7), is_rolled=st.booleans())
def test_damage_is_refused_by_file_and_position_and_nothing_is_changed(position, bit, is_rolled):
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS, segment_bytes=1 if is_rolled else 1 << 20)
    disk.append(f"{DIRECTORY}/00000000000000000009-0000000001-5.checkpoint.part", b"x")
    logs = [f"{DIRECTORY}/{name}" for name in disk.list(DIRECTORY) if name.endswith(".log")]
    # Not the last batch, whose damage may look like a write that did not finish.
    protected = logs[:-1] if is_rolled else logs
    sizes = [disk.size(path) - (0 if is_rolled else len(THREE_EPOCHS[-1])) for path in protected]
    position %= sum(sizes)
    at = 0
    while position >= sizes[at]:
        position -= sizes[at]
        at += 1
    data = bytearray(disk.read(protected[at]))
    data[position] ^= 1 << bit
    disk.write(protected[at], [bytes(data)])
    before = files_of(disk, DIRECTORY)
    error = raised(CorruptFileError, lambda: opened(disk))
    if error is None:
        # The CRC does not cover the epoch, and it still fits between its neighbours.
        assert 12 <= _position_in_batch(data, position) < 16
        return
    assert files_of(disk, DIRECTORY) == before
    assert error.file in logs


def _position_in_batch(data, position):
    start = 0
    while True:
        size = int.from_bytes(data[start + 8 : start + 12], "big") + 12
        if position < start + size:
            return position - start
        start += size


def test_what_a_crash_left_behind_is_removed_and_told():
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS)
    whole = files_of(disk, DIRECTORY)
    leftovers = [
        "00000000000000000003-0000000001-8812.checkpoint.part",
        "00000000000000000003-0000000001.checkpoint.deleted",
        "00000000000000000003.log.deleted",
        "quorum-state.falkirk-aside",
    ]
    for name in leftovers:
        disk.write(f"{DIRECTORY}/{name}", [b"x"])
    log = opened(disk)
    assert sorted(log.recovery.removed) == [f"{DIRECTORY}/{name}" for name in leftovers]
    assert files_of(disk, DIRECTORY) == whole


def test_a_lost_or_wrong_epochs_file_is_written_anew():
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS)
    path = f"{DIRECTORY}/leader-epoch-checkpoint"
    whole = disk.read(path)
    for content in (b"0\n0\n", b"0\n1\n9 9\n", b"nonsense", b""):
        disk.write(path, [content])
        assert opened(disk).last_epoch == 6
        assert disk.read(path) == whole


def test_a_log_that_begins_behind_every_snapshot_is_refused():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS, segment_bytes=1)
    create_snapshot(log, 3, 1)
    disk.remove(FIRST_SEGMENT)
    assert opened(disk).start_offset == 1
    disk.remove(f"{DIRECTORY}/00000000000000000001.log")
    assert opened(disk).start_offset == 3
    disk.remove(f"{DIRECTORY}/00000000000000000003.log")
    before = files_of(disk, DIRECTORY)
    with pytest.raises(CorruptFileError, match="log begins at offset 4, and there is no snapshot"):
        opened(disk)
    assert files_of(disk, DIRECTORY) == before


def test_snapshots_before_the_log_are_removed():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS, segment_bytes=1)
    create_snapshot(log, 1, 1)
    create_snapshot(log, 5, 4)
    for name in ("00000000000000000000.log", "00000000000000000001.log"):
        disk.remove(f"{DIRECTORY}/{name}")
    assert opened(disk).earliest_snapshot == OffsetAndEpoch(5, 4)
    assert "00000000000000000001-0000000001.checkpoint" not in disk.list(DIRECTORY)


@pytest.mark.parametrize("snapshot", [(40, 6), (5, 7), (7, 6)])
def test_a_log_is_emptied_where_a_crash_came_between_fetching_a_snapshot_and_that(snapshot):
    disk = MemoryDisk()
    filled(disk, *THREE_EPOCHS, segment_bytes=1)
    offset, epoch = snapshot
    disk.write(f"{DIRECTORY}/{offset:020d}-{epoch:010d}.checkpoint", [snapshot_bytes(epoch)])
    log = opened(disk)
    assert log.recovery.truncated_to == snapshot
    assert (log.start_offset, log.end_offset, log.last_epoch) == (offset, offset, epoch)
    assert not [name for name in disk.list(DIRECTORY) if name.endswith(".log")]


def test_a_damaged_newest_snapshot_is_refused():
    disk = MemoryDisk()
    log = filled(disk, *THREE_EPOCHS)
    create_snapshot(log, 5, 4)
    path = f"{DIRECTORY}/00000000000000000005-0000000004.checkpoint"
    disk.truncate(path, disk.size(path) - 1)
    before = files_of(disk, DIRECTORY)
    with pytest.raises(CorruptFileError, match=r"0004\.checkpoint: snapshot has no footer"):
        opened(disk)
    assert files_of(disk, DIRECTORY) == before


def test_the_directory_of_another_topic_is_refused():
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.write(f"{DIRECTORY}/partition.metadata", [b"version: 0\ntopic_id: 3TQbjDA5Qe-bHSNTcpJmkg"])
    with pytest.raises(CorruptFileError, match="topic_id is not that of the metadata topic"):
        opened(disk)


# Writes that fail


def test_after_a_failed_write_the_log_takes_no_more_until_it_is_opened_again():
    disk = FailingDisk()
    log = filled(disk, *THREE_EPOCHS)
    disk.is_full = True
    with pytest.raises(OSError, match="disk full"):
        log.append(data_batch(6, 6))
    disk.is_full = False
    # Half of the batch stands there now: nothing may follow it.
    with pytest.raises(OSError, match="disk full"):
        log.append(data_batch(6, 6))
    with pytest.raises(OSError, match="disk full"):
        log.truncate(3)
    assert log.end_offset == 6
    assert log.read(0, 1 << 20) == b"".join(THREE_EPOCHS)
    again = opened(disk)
    assert again.recovery.torn is not None
    again.append(data_batch(6, 6))
    assert again.end_offset == 7


# Any history


class History:
    """A log beside a list of its batches; each step is done to both."""

    def __init__(self, **settings):
        self.settings = settings
        self.disk = MemoryDisk()
        self.log = opened(self.disk, **settings)
        self.batches: list[bytes] = []
        self.base = self.committed = 0
        self.epoch = 1

    @property
    def headers(self):
        return [next(iter(read_batches(batch))) for batch in self.batches]

    @property
    def end(self):
        return self.headers[-1].end_offset if self.batches else self.base

    def append(self, number):
        self.add(data_batch(self.end, self.epoch, [bytes(number % 40)] * (1 + number % 3)))

    def elect(self, number):
        self.epoch += 1 + number % 2
        self.add(leader_change(self.end, self.epoch))

    def add(self, batch):
        self.log.append(batch)
        self.batches.append(batch)

    def truncate(self, number):
        at = number % (len(self.batches) + 1)
        end = self.headers[at - 1].end_offset if at else self.base
        if end >= max(self.committed, self.log.start_offset):
            self.log.truncate(end)
            del self.batches[at:]
            self.epoch += 1

    def snapshot(self, number):
        latest = self.log.latest_snapshot
        newer = [header for header in self.headers if latest is None or header.end_offset > latest.offset]
        if newer:
            header = newer[number % len(newer)]
            assert create_snapshot(self.log, header.end_offset, header.leader_epoch)
            self.committed = header.end_offset

    def delete(self, _number):
        if self.log.latest_snapshot is not None:
            self.log.delete_before(self.log.latest_snapshot)

    def install(self, number):
        self.base = self.committed = self.end + number
        self.batches.clear()
        install(self.log, self.base, self.epoch, snapshot_bytes(self.epoch))

    def reopen(self, _number):
        before = self.log.end_offset, self.log.last_epoch, self.log.latest_snapshot
        self.log = opened(self.disk, **self.settings)
        assert self.log.recovery == MetadataLogRecovery()
        assert (self.log.end_offset, self.log.last_epoch, self.log.latest_snapshot) == before

    def check(self):
        log = self.log
        assert log.end_offset == self.end
        pairs = zip(self.headers, self.batches, strict=True)
        readable = [(header, batch) for header, batch in pairs if header.end_offset > log.start_offset]
        ends = {header.leader_epoch: header.end_offset for header, _ in readable}
        assert log.last_epoch == (max(ends) if ends else self.last_snapshot_epoch)
        assert {epoch: log.end_offset_for_epoch(epoch) for epoch in ends} == {
            epoch: OffsetAndEpoch(end, epoch) for epoch, end in ends.items()
        }
        for header, batch in readable:
            assert log.read(max(header.base_offset, log.start_offset), 1) == batch
        found = b"".join(bytes(batch.data) for batch in log.batches(log.start_offset, log.end_offset))
        assert found == b"".join(batch for _, batch in readable)
        assert log.read(log.end_offset, 100) == b""

    @property
    def last_snapshot_epoch(self):
        latest = self.log.latest_snapshot
        return latest.epoch if latest is not None else 0


STEPS = [History.append] * 3 + [
    History.elect,
    History.truncate,
    History.snapshot,
    History.delete,
    History.install,
    History.reopen,
]


@given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1000)), max_size=25),
    segment_bytes=st.sampled_from([1, 250, 1 << 20]),
    tail_bytes=st.sampled_from([0, 200, 9999]),
)
def test_any_history_leaves_what_a_list_of_batches_says(steps, segment_bytes, tail_bytes):
    history = History(segment_bytes=segment_bytes, tail_bytes=tail_bytes)
    for step, number in steps:
        step(history, number)
        history.check()


class CountingDisk(MemoryDisk):
    """Records which files were read and written."""

    def __init__(self):
        super().__init__()
        self.reads: list[str] = []
        self.writes: list[str] = []

    def read(self, path, position=0, length=None):
        self.reads.append(path)
        return super().read(path, position, length)

    def view(self, path):
        self.reads.append(path)
        return super().view(path)

    def write(self, path, chunks):
        self.writes.append(path)
        super().write(path, chunks)

    def append(self, path, data):
        self.writes.append(path)
        super().append(path, data)


class FailingDisk(MemoryDisk):
    """Takes half of what is appended when it is full."""

    is_full = False

    def append(self, path, data):
        if self.is_full:
            super().append(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "disk full")
        super().append(path, data)
