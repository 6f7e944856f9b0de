import pytest
from storage_files import SNAPSHOTS, STORAGE, label

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.leader_change_message import LeaderChangeMessage
from falkirk.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from falkirk.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.snapshot_file import (
    SnapshotId,
    SnapshotName,
    SnapshotState,
    format_snapshot_name,
    parse_snapshot_name,
    read_snapshot,
)

FORMATTED = STORAGE / "4.4.0-formatted/d0/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
REAL = STORAGE / "4.3.1/n1/__cluster_metadata-0/00000000000000000354-0000000001.checkpoint"


@pytest.mark.parametrize("path", SNAPSHOTS, ids=label)
def test_snapshots_of_kafka_are_complete(path):
    snapshot = read_snapshot(path.read_bytes(), file=path.name)
    assert snapshot.is_complete
    assert snapshot.torn is None
    values = sum(len(batch.values()) for batch in snapshot.data_batches)
    control = 2 + (snapshot.kraft_version is not None) + (snapshot.voters is not None)
    assert snapshot.end_offset == values + control
    name = parse_snapshot_name(path.name)
    assert snapshot.leader_epoch == (name.id.epoch if name else 0)


def test_a_snapshot_tells_its_time_its_kraft_version_and_its_voters():
    snapshot = read_snapshot(REAL.read_bytes(), file=REAL.name)
    assert (snapshot.last_contained_log_timestamp, snapshot.kraft_version) == (1795246757267, 1)
    assert [voter.voter_id for voter in snapshot.voters.voters] == [1]
    assert snapshot.voters.voters[0].endpoints[0].name == "CONTROLLER"
    older = read_snapshot(
        (STORAGE / "image-writes/mv-7" / "00000000000000000778-0000000005.checkpoint").read_bytes(), file="x"
    )
    assert (older.kraft_version, older.voters, older.leader_epoch) == (None, None, 5)


def test_every_truncation_is_incomplete_and_told():
    data = FORMATTED.read_bytes()
    whole = read_snapshot(data, file="x")
    borders = {batch.position for batch in whole.data_batches} | {batch.end_position for batch in whole.data_batches}
    for size in range(len(data)):
        snapshot = read_snapshot(data[:size], file="x")
        assert not snapshot.is_complete
        assert (snapshot.torn is None) == (size == 0 or size in borders)


def test_a_flipped_bit_is_named_with_file_and_batch():
    data = bytearray(REAL.read_bytes())
    data[3000] ^= 1
    with pytest.raises(CorruptFileError, match=f"{REAL.name}: CRC of the batch of offset 3 "):
        read_snapshot(data, file=REAL.name)


def control(offset, *messages):
    records = [
        Record(offset + i, 7, *encode_control_record(kind, message)) for i, (kind, message) in enumerate(messages)
    ]
    return build_batch(records, base_offset=offset, leader_epoch=1, is_control=True)


def values(offset, *contents):
    records = [Record(offset + index, 7, None, value) for index, value in enumerate(contents)]
    return build_batch(records, base_offset=offset, leader_epoch=1)


HEADER = (ControlRecordType.SNAPSHOT_HEADER, SnapshotHeaderRecord(last_contained_log_timestamp=5))
FOOTER = (ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord())
KRAFT = (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (values(0, b"v"), "does not begin with a header, batch of offset 0"),
        (control(0, FOOTER), "does not begin with a header"),
        (control(0, KRAFT, HEADER), "does not begin with a header"),
        (control(0, HEADER, HEADER), "type 3 does not belong into a snapshot"),
        (control(0, HEADER, (ControlRecordType.LEADER_CHANGE, LeaderChangeMessage())), "type 2 does not belong"),
        (control(0, HEADER) + control(1, FOOTER) + values(2, b"v"), "batch follows the snapshot's footer"),
        (control(0, HEADER) + values(2, b"v"), "begins at offset 2, 1 was expected"),
        (control(0, HEADER).replace(b"\0\0\0\3", b"\0\0\0\x63"), "CRC"),
    ],
)
def test_what_is_no_snapshot_is_named(data, reason):
    with pytest.raises(CorruptFileError, match=reason) as caught:
        read_snapshot(data, file="a.checkpoint")
    assert caught.value.file == "a.checkpoint"


def test_a_control_record_that_does_not_parse_is_named_with_its_batch():
    key, _ = encode_control_record(*HEADER)
    data = build_batch([Record(0, 7, key, b"\0\0\0")], base_offset=0, is_control=True)
    with pytest.raises(CorruptFileError, match=r"a\.checkpoint: .* wanted, .*batch of offset 0"):
        read_snapshot(data, file="a.checkpoint")


def test_a_footer_may_stand_with_others_and_nothing_may_be_between():
    snapshot = read_snapshot(control(0, HEADER, KRAFT, FOOTER), file="x")
    assert (snapshot.is_complete, snapshot.data_batches, snapshot.kraft_version) == (True, (), 1)


NAMES = [
    ("00000000000000000354-0000000001.checkpoint", SnapshotName(id=SnapshotId(end_offset=354, epoch=1))),
    (
        "00000000000000000000-0000000012.checkpoint.deleted",
        SnapshotName(id=SnapshotId(end_offset=0, epoch=12), state=SnapshotState.DELETED),
    ),
    (
        "00000000000000000354-0000000001-7130986143263287545.checkpoint.part",
        SnapshotName(
            id=SnapshotId(end_offset=354, epoch=1), state=SnapshotState.PARTIAL, unique_id="7130986143263287545"
        ),
    ),
]


@pytest.mark.parametrize(("name", "parsed"), NAMES)
def test_names_are_read_and_written(name, parsed):
    assert parse_snapshot_name(name) == parsed
    assert format_snapshot_name(parsed) == name


@pytest.mark.parametrize(
    "name",
    [
        "bootstrap.checkpoint",
        "0-0.checkpoint",
        "00000000000000000354-0000000001-5.checkpoint",
        "00000000000000000354-0000000001.checkpoint.part",
        "00000000000000000354-0000000001.checkpoint.tmp",
        "00000000000000000354-9999999999.checkpoint",
        "99999999999999999999-0000000001.checkpoint",
    ],
)
def test_other_names_are_none(name):
    assert parse_snapshot_name(name) is None


def test_ids_are_ordered_by_epoch_first():
    assert max(SnapshotId(end_offset=900, epoch=1), SnapshotId(end_offset=5, epoch=2)).epoch == 2
