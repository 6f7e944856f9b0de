import pytest

from falkirk.protocol.control_record import (
    CONTROL_MESSAGES,
    ControlRecordType,
    control_record_type,
    decode_control_record,
    encode_control_record,
)
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.snapshot_header_record import SnapshotHeaderRecord


@pytest.mark.parametrize("record_type", ControlRecordType)
def test_decode_is_the_inverse_of_encode(record_type):
    message = CONTROL_MESSAGES[record_type]()
    record = decode_control_record(*encode_control_record(record_type, message))
    assert (record.record_type, record.version, record.message) == (record_type, 0, message)


def test_bytes_are_those_of_kafka():
    assert encode_control_record(ControlRecordType.COMMIT, EndTxnMarker(coordinator_epoch=7)) == (
        bytes.fromhex("00000001"),
        bytes.fromhex("000000000007"),
    )
    assert encode_control_record(ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)) == (
        bytes.fromhex("00000005"),
        bytes.fromhex("0000000100"),
    )
    header = SnapshotHeaderRecord(last_contained_log_timestamp=1)
    assert encode_control_record(ControlRecordType.SNAPSHOT_HEADER, header)[1].hex() == "0000" + "0" * 15 + "100"


def test_an_unknown_type_is_given_as_its_number():
    record = decode_control_record(bytes.fromhex("00000063"), b"\x00\x05rest")
    assert (record.record_type, record.version, record.message) == (99, 5, None)


def test_markers_of_later_versions_are_read_as_version_0():
    record = decode_control_record(bytes.fromhex("00000000"), bytes.fromhex("0009" + "00000003" + "ffff"))
    assert (record.version, record.message) == (9, EndTxnMarker(coordinator_epoch=3))


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", bytes.fromhex("ffff0001")])
def test_keys_that_are_no_control_keys_are_errors(key):
    with pytest.raises(RemoteProtocolError, match="control record has"):
        control_record_type(key)


@pytest.mark.parametrize(
    ("record_type", "value", "reason"),
    [
        (0, None, "value of no bytes"),
        (1, b"\0", "value of 1 bytes"),
        (1, bytes.fromhex("ffff00000000"), "version -1"),
        (1, bytes.fromhex("0000000000"), "4 bytes wanted, 3 left"),
        (3, bytes.fromhex("0001" + "00" * 9), "SNAPSHOT_HEADER record has unknown version 1"),
        (5, bytes.fromhex("000000010000"), "1 bytes left over"),
    ],
)
def test_values_that_do_not_parse_are_errors(record_type, value, reason):
    with pytest.raises(RemoteProtocolError, match=reason):
        decode_control_record(bytes([0, 0, 0, record_type]), value)
