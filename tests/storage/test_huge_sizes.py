"""Sizes in files that no file can have: one error that names the place, and no memory for what is not there."""

from __future__ import annotations

import json
import struct
import tracemalloc
import zipfile
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from falkirk.metadata.undo.undo_bundle import BundleFormatError, parse_bundle
from falkirk.protocol.batch_builder import assemble_batch, build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import SnapshotHeaderRecord
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.snapshot_file import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
LENGTH_AT = 8
INT_MAX = (1 << 31) - 1
HUGE = b"\xff\xff\xff\xff\x0f"
"""An unsigned varint of 2^32 - 1."""
HUGE_ZIGZAG = b"\xfe\xff\xff\xff\x0f"
"""A varint of 2^31 - 1."""
HEADER = build_batch(
    [Record(0, 7, *encode_control_record(ControlRecordType.SNAPSHOT_HEADER, SnapshotHeaderRecord()))],
    base_offset=0,
    leader_epoch=1,
    is_control=True,
)


@contextmanager
def little_memory() -> Iterator[None]:
    """Fail if the block takes more than 8 MiB."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB


def batch(body: bytes, *, record_count: int = 1, codec: Compression = Compression.NONE, attributes: int = 0) -> bytes:
    return assemble_batch(
        body if codec is Compression.NONE else compress(codec, body),
        base_offset=1,
        last_offset_delta=max(0, record_count - 1),
        leader_epoch=1,
        attributes=attributes | int(codec),
        base_timestamp=7,
        max_timestamp=7,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=record_count,
    )


@pytest.mark.parametrize("length", [INT_MAX, 1 << 30, 1 << 20])
def test_a_snapshots_batch_that_is_longer_than_its_file_is_named_and_nothing_is_made_for_it(length: int) -> None:
    data = bytearray(HEADER + batch(b"\x0c\0\0\0\1\0\0"))
    struct.pack_into(">i", data, len(HEADER) + LENGTH_AT, length)
    with (
        little_memory(),
        pytest.raises(CorruptFileError, match=f"takes {length + 12} bytes, .* the length is wrong") as raised,
    ):
        read_snapshot(data, file="a.checkpoint")
    assert raised.value.file == "a.checkpoint"


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("is_control", [False, True])
def test_a_count_of_2_147_483_647_records_is_refused_where_they_end(codec: Compression, is_control: bool) -> None:
    data = HEADER + batch(b"\x0c\0\0\0\1\0\0", record_count=INT_MAX, codec=codec, attributes=0x20 if is_control else 0)
    with (
        little_memory(),
        pytest.raises((CorruptFileError, RemoteProtocolError), match=r"offset 1|2147483647 records"),
    ):
        [each.values() for each in read_snapshot(data, file="a.checkpoint").data_batches]


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(HUGE_ZIGZAG + bytes(20), id="record"),
        pytest.param(b"\x30\0\0\0" + HUGE_ZIGZAG + bytes(20), id="key"),
        pytest.param(b"\x30\0\0\0\1" + HUGE_ZIGZAG + bytes(20), id="value"),
        pytest.param(b"\x30\0\0\0\1\0" + HUGE_ZIGZAG + bytes(20), id="headers"),
        pytest.param(b"\xff" * 24, id="varint without end"),
    ],
)
def test_a_size_inside_a_record_that_no_file_has_is_an_error_of_its_batch(codec: Compression, body: bytes) -> None:
    (found,) = read_snapshot(HEADER + batch(body, codec=codec), file="a.checkpoint").data_batches
    for read in (found.records, found.values, found.key_values):
        with little_memory(), pytest.raises(RemoteProtocolError, match="batch of offset 1"):
            read()


def bundle_of(objects: bytes = b"", batches: bytes | None = None) -> bytes:
    """Return the bytes of an undo bundle, with one line of objects or one group."""
    groups = [] if batches is None else ["__consumer_offsets-0"]
    head = {
        "format": 1,
        "cluster_id": "c",
        "level_before": 33,
        "level_after": 15,
        "release_after": "3.7.2",
        "features_before": {},
        "kraft_version_before": 0,
        "kraft_version_after": 0,
        "voters": None,
        "objects": len(objects.splitlines()),
        "groups": groups,
    }
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bundle.json", json.dumps(head))
        file.writestr("objects.jsonl", objects)
        for name in groups:
            file.writestr(f"groups/{name}.json", '{"offsets": [0]}')
            file.writestr(f"groups/{name}.batches", batches or b"")
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "before"),
    [
        # Frame, broker id, epoch, incarnation, then the array of endpoints.
        ("array", b"\1\x1b\0" + bytes(4 + 1 + 16 + 8) + HUGE),
        ("array of strings", b"\1\2\0" + HUGE),
        ("tagged fields", b"\1\2\0\2t" + bytes(16) + HUGE),
        ("size of a tagged field", b"\1\2\0\2t" + bytes(16) + b"\1\x09" + HUGE),
        ("api key", HUGE * 2),
    ],
)
def test_an_undo_bundle_whose_record_has_a_huge_size_is_refused(kind: str, before: bytes) -> None:
    line = json.dumps({"kind": kind, "key": "k", "before": before.hex(), "written": None, "unknown_tags": []})
    with little_memory(), pytest.raises(BundleFormatError, match="not an undo bundle, or a damaged one"):
        parse_bundle(bundle_of(line.encode()))


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param(b"\0" * 8 + struct.pack(">i", INT_MAX) + bytes(60), id="length"),
        pytest.param(batch(b"\x0c\0\0\0\1\0\0", record_count=INT_MAX, codec=Compression.GZIP), id="count"),
        pytest.param(batch(HUGE_ZIGZAG + bytes(20)), id="record"),
        pytest.param(batch(b"\x30\0\0\0" + HUGE_ZIGZAG + bytes(20), codec=Compression.ZSTD), id="key"),
    ],
)
def test_an_undo_bundle_whose_batches_have_a_huge_size_is_refused(batches: bytes) -> None:
    with little_memory(), pytest.raises(BundleFormatError, match="not an undo bundle, or a damaged one"):
        parse_bundle(bundle_of(batches=batches))
