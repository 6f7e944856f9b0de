"""That the text is that of Kafka's tools is held by the answers in tests/cli/test_dump_log.py; this is the rest."""

from functools import partial

import pytest
from dump_files import disk_with, dump_file
from hypothesis import given
from hypothesis import strategies as st
from raised import raised

from falkirk.dump.dump_source import dump_source
from falkirk.dump.options import DumpOptions, record_decoder
from falkirk.dump.text_dump import Message, TextDump
from falkirk.dump.tool import DecoderKind, dump_tool
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError
from falkirk.versions.errors import VersionsError

LOG = "d/00000000000000000000.log"
# Kind, a real file, a decoder.
REAL = [
    ("4.3.1/meta/00000000000000000000.log", DecoderKind.METADATA),
    ("4.4.0/__consumer_offsets-0/00000000000000000000.log", DecoderKind.OFFSETS),
    ("4.0.0/__transaction_state-0/00000000000000000000.log", DecoderKind.TRANSACTIONS),
    ("4.3.1/__share_group_state-0/00000000000000000000.log", DecoderKind.SHARE_STATE),
    ("remote/__remote_log_metadata-0/00000000000000000000.log", DecoderKind.REMOTE_LOG),
    ("4.0.0/codec-zstd-0/00000000000000000000.log", DecoderKind.STRINGS),
]


def dump(files, *paths, kind=DecoderKind.STRINGS, release=None, **options):
    """Return the text and the messages."""
    tool = dump_tool(release)
    shown = DumpOptions(decoder=record_decoder(tool, kind), **options)
    disk = disk_with(files)
    text, messages = "", []
    for piece in TextDump(tool, shown).dump(dump_source(disk, path, lambda path: f"/abs/{path}") for path in paths):
        if isinstance(piece, Message):
            messages.append(piece)
        else:
            assert piece == "" or piece.endswith("\n")
            text += piece
    return text, messages


@pytest.mark.parametrize("release", ["3.7", "3.9", "4.0", "4.3"])
@pytest.mark.parametrize(("path", "kind"), REAL)
@given(data=st.data())
def test_damaged_logs_are_dumped_or_refused_with_one_clear_error(path, kind, release, data):
    if kind not in dump_tool(release).text.decoders:
        kind = DecoderKind.STRINGS
    damaged = bytearray(dump_file(path)[:4000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        match data.draw(st.sampled_from(["set", "cut", "insert"])):
            case "set":
                damaged[at] = data.draw(st.integers(0, 255))
            case "cut":
                del damaged[at : at + data.draw(st.integers(1, 20))]
            case "insert":
                damaged[at:at] = data.draw(st.binary(max_size=5))
        if not damaged:
            return
    shown = {"kind": kind, "release": release, "is_deep": True, "shows_contents": True}
    error = raised(CorruptFileError, lambda: dump({LOG: bytes(damaged)}, LOG, **shown))
    assert error is None or (error.file, 0 <= error.offset <= len(damaged)) == (LOG, True)


@given(index=st.binary(max_size=60), times=st.binary(max_size=60), size=st.integers(0, 500))
def test_damaged_indexes_are_dumped_or_refused_with_one_clear_error(index, times, size):
    name = "d/00000000000000000000"
    log = dump_file("4.3.1/txn-0/00000000000000000000.log")[:size]
    files = {f"{name}.log": log, f"{name}.index": index, f"{name}.timeindex": times}
    for path in (f"{name}.index", f"{name}.timeindex"):
        for options in ({}, {"index_sanity_only": True}):
            error = raised(CorruptFileError, partial(dump, files, path, **options))
            assert error is None or error.file.startswith(name)


@given(st.binary(max_size=200))
def test_small_files_of_chance_are_dumped_or_refused_with_one_clear_error(data):
    for path in ("d/00000000000000000000.snapshot", "d/00000000000000000000.txnindex"):
        text, messages = dump({path: data}, path)
        assert text.startswith(f"Dumping {path}\n")
        assert all(path in message.text for message in messages)


def test_findings_come_at_the_end_by_file():
    records = [Record(offset, 1, b"k", b"v") for offset in (3, 5, 6, 9)]
    other = "d/00000000000000000010.log"
    data = build_batch(records, base_offset=3)
    files = {LOG: data, other: build_batch([Record(10, 1), Record(12, 1)], base_offset=10)}
    _, messages = dump(files, LOG, other, is_deep=True, release="4.0")
    assert [message.text for message in messages] == [
        f"Non-consecutive offsets in /abs/{LOG}",
        "  6 is followed by 9",
        "  3 is followed by 5",
        f"Non-consecutive offsets in /abs/{other}",
        "  10 is followed by 12",
    ]
    assert not any(message.is_failure for message in messages)
    # The first tool in Java takes every log for one that begins at 0, and sorts.
    _, messages = dump(files, LOG, is_deep=True, release="4.3")
    assert [message.text for message in messages][1:] == [
        "  -1 is followed by 3",
        "  3 is followed by 5",
        "  6 is followed by 9",
    ]


def test_paths_are_shown_as_java_shows_them():
    text, messages = dump({}, "a//b/c.what/", "./x")
    assert text == "Dumping a/b/c.what\nDumping ./x\n"
    assert [message.text for message in messages] == ["Ignoring unknown file a/b/c.what", "Ignoring unknown file ./x"]


def test_a_damaged_producer_snapshot_does_not_end_the_dump():
    path = "d/00000000000000000009.snapshot"
    text, [message] = dump({path: b"\x00\x01"}, path, path.replace("d/", "d//"))[0], dump({path: b"\x00\x01"}, path)[1]
    assert text == f"Dumping {path}\n" * 2
    assert message.is_failure
    assert message.text.startswith(f"{path}: file has 2 bytes")


@pytest.mark.parametrize("release", ["3.6", "2.8", "5.0"])
def test_tools_of_other_releases_are_not_known(release):
    with pytest.raises(VersionsError, match=release):
        dump_tool(release)


def test_the_tool_of_4_4_decodes_what_4_4_brought():
    # An UnregisterControllerRecord, type 29.
    value = b"\x01\x1d\x00" + (7).to_bytes(4, "big") + bytes(1)
    data = build_batch([Record(0, 1, None, value)], base_offset=0)
    shown = {"kind": DecoderKind.METADATA, "is_deep": True, "shows_contents": True}
    assert "UNREGISTER_CONTROLLER_RECORD" in dump({LOG: data}, LOG, release="4.4", **shown)[0]
    assert "Error at 0, skipping. record type 29 is not known (byte 0)" in dump({LOG: data}, LOG, **shown)[0]
