import json

import pytest
from dump_files import answers, disk_with, dump_file, extract_files

from falkirk.dump.document_dump import DocumentDump
from falkirk.dump.dump_source import dump_source
from falkirk.dump.options import DumpOptions, record_decoder
from falkirk.dump.tool import DecoderKind, dump_tool
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.producer_state import ProducerEntry, format_producer_snapshot
from falkirk.storage.transaction_index import AbortedTransaction, format_transaction_index

LOG = "d/00000000000000000007.log"


def document(files, *paths, kind=DecoderKind.STRINGS, release="4.4", **options):
    """Dump files of a disk in memory; return the parsed document and the dumper."""
    tool = dump_tool(release)
    shown = DumpOptions(decoder=record_decoder(tool, kind), **options)
    dump = DocumentDump(tool, shown)
    disk = disk_with(files)
    return json.loads(b"".join(dump.dump(dump_source(disk, path, str) for path in paths))), dump


def only_file(files, *paths, **options):
    [file] = document(files, *paths, **options)[0]["files"]
    return file


def test_a_log_has_its_batches_and_records():
    headers = (("h", b"v"), ("none", None), ("raw", b"\xff"))
    records = [Record(7, 1000, b"key", "wört".encode(), headers), Record(9, 1005, None, b"\xff\x00")]
    data = build_batch(records, base_offset=7, leader_epoch=4, producer_id=5, producer_epoch=2, base_sequence=30)
    file = only_file({LOG: data}, LOG, is_deep=True, shows_contents=True)
    assert file["problems"] == []
    assert (file["file"], file["kind"], file["startOffset"]) == (LOG, "log", 7)
    assert file["batches"] == [
        {
            "position": 0,
            "baseOffset": 7,
            "lastOffset": 9,
            "count": 2,
            "baseSequence": 30,
            "lastSequence": 32,
            "producerId": 5,
            "producerEpoch": 2,
            "partitionLeaderEpoch": 4,
            "isTransactional": False,
            "isControl": False,
            "deleteHorizonMs": None,
            "timestampType": "CreateTime",
            "maxTimestamp": 1005,
            "size": len(data),
            "magic": 2,
            "compression": "none",
            "crc": int.from_bytes(data[17:21], "big"),
            "isValid": True,
            "records": [
                {
                    "offset": 7,
                    "timestamp": 1000,
                    "keySize": 3,
                    "valueSize": 5,
                    "sequence": 30,
                    "headers": [
                        {"key": "h", "value": "v"},
                        {"key": "none", "value": None},
                        {"key": "raw", "value": {"base64": "/w=="}},
                    ],
                    "key": "key",
                    "value": "wört",
                },
                {
                    "offset": 9,
                    "timestamp": 1005,
                    "keySize": -1,
                    "valueSize": 2,
                    "sequence": 32,
                    "headers": [],
                    "key": None,
                    "value": {"base64": "/wA="},
                },
            ],
        }
    ]


def test_records_are_shown_as_far_as_they_are_asked_for():
    data = build_batch([Record(7, 1000, b"key", b"value")], base_offset=7)
    [batch] = only_file({LOG: data}, LOG)["batches"]
    assert "records" not in batch
    [batch] = only_file({LOG: data}, LOG, is_deep=True)["batches"]
    [record] = batch["records"]
    assert (record["keySize"], "key" in record, "value" in record) == (3, False, False)


@pytest.mark.parametrize(
    ("path", "kind", "decoded"),
    [
        (
            "4.3.1/meta/00000000000000000000.log",
            DecoderKind.METADATA,
            {"type": "FEATURE_LEVEL_RECORD", "version": 0, "data": {"name": "group.version", "featureLevel": 1}},
        ),
        (
            "4.3.1/__transaction_state-0/00000000000000000000.log",
            DecoderKind.TRANSACTIONS,
            {
                "type": 0,
                "name": "TransactionLog",
                "key": {"transactionalId": "tx-1-1"},
                "version": 1,
                "data": {
                    "producerId": 6,
                    "previousProducerId": 6,
                    "producerEpoch": 0,
                    "transactionTimeoutMs": 60000,
                    "transactionStatus": 0,
                    "transactionPartitions": None,
                    "transactionLastUpdateTimestampMs": 1795247231784,
                    "transactionStartTimestampMs": -1,
                },
            },
        ),
        (
            "3.7.2/__consumer_offsets-0/00000000000000000000.log",
            DecoderKind.OFFSETS,
            {
                "type": 1,
                "name": "OffsetCommit",
                "key": {"group": "cg-deleted-1", "topic": "codec-none-1", "partition": 0},
                "version": None,
                "data": None,
            },
        ),
    ],
)
def test_decoded_records_have_type_version_and_data(path, kind, decoded):
    release = path.partition("/")[0]
    file = only_file({path: dump_file(path)}, path, kind=kind, release=release, is_deep=True, shows_contents=True)
    found = [record["decoded"] for batch in file["batches"] for record in batch["records"] if "decoded" in record]
    assert decoded in found
    assert file["problems"] == []


def test_what_cannot_be_decoded_is_shown_with_the_reason():
    records = [Record(7, 1, b"\x00\x63k", b"\x00\x00v"), Record(8, 1, None, b"v"), Record(9, 1, b"\x00\x02\x00", b"")]
    data = build_batch(records, base_offset=7)
    file = only_file({LOG: data}, LOG, kind=DecoderKind.OFFSETS, is_deep=True, shows_contents=True)
    shown = [{key: record[key] for key in ("error", "key", "value")} for record in file["batches"][0]["records"]]
    assert shown == [
        {"error": "unknown record type 99", "key": "\x00ck", "value": "\x00\x00v"},
        {"error": "record of a coordinator's topic has no key", "key": None, "value": "v"},
        {
            "error": "key: int16 is cut off (byte 2)",
            "key": "\x00\x02\x00",
            "value": "",
        },
    ]


def test_a_batch_that_does_not_parse_is_shown_with_what_stands_before():
    data = bytearray(build_batch([Record(7, 1, b"k", b"v"), Record(8, 1, b"k", b"v")], base_offset=7))
    data[70] = 0x7E
    whole = build_batch([Record(9, 1, b"k", b"v")], base_offset=9)
    parsed, dump = document({LOG: bytes(data) + whole}, LOG, is_deep=True, shows_contents=True)
    [file] = parsed["files"]
    assert [[record["offset"] for record in batch["records"]] for batch in file["batches"]] == [[7]]
    assert [(problem["position"], problem["message"]) for problem in file["problems"]] == [
        (0, "CRC of the batch of offset 7 does not fit"),
        (70, "record declares 63 bytes where 8 are left, batch of offset 7"),
    ]
    assert dump.is_failure


def test_a_torn_tail_is_a_problem_and_no_failure():
    data = build_batch([Record(7, 1, b"k", b"v")], base_offset=7)
    parsed, dump = document({LOG: data + data[:30]}, LOG)
    [file] = parsed["files"]
    [problem] = file["problems"]
    size = len(data)
    assert (problem["position"], len(file["batches"]), dump.is_failure) == (size, 1, False)
    assert problem["message"].startswith(f"torn at byte {size} of {size + 30}")


def test_snapshots_say_what_their_names_say():
    folder = "4.3.1/meta"
    snapshot, bootstrap = f"{folder}/00000000000000000190-0000000001.checkpoint", "4.3.1/bootstrap.checkpoint"
    files = {path: dump_file(path) for path in (snapshot, bootstrap)}
    parsed, _ = document(files, snapshot, bootstrap, kind=DecoderKind.METADATA, is_deep=True, shows_contents=True)
    first, second = parsed["files"]
    assert (first["kind"], first["endOffset"], first["epoch"]) == ("snapshot", 190, 1)
    assert (second["kind"], "endOffset" in second) == ("snapshot", False)
    controls = [record["control"] for record in first["batches"][0]["records"]]
    assert [control["type"] for control in controls] == ["SNAPSHOT_HEADER", "KRAFT_VERSION", "KRAFT_VOTERS"]
    assert controls[1]["data"] == {"version": 0, "kRaftVersion": 1}


def test_a_file_without_an_offset_in_its_name_is_a_problem():
    data = build_batch([Record(0, 1, b"k", b"v")], base_offset=0)
    for path, said in (("d/x.log", "does not begin with an offset"), ("d/x.checkpoint", "neither that of a snapshot")):
        [problem] = only_file({path: data}, path)["problems"]
        assert said in problem["message"]


def indexed_files():
    path = "4.3.1/indexed-0/00000000000000000000"
    return path, {f"{path}.{name}": dump_file(f"{path}.{name}") for name in ("log", "index", "timeindex")}


def test_indexes_have_their_entries():
    path, files = indexed_files()
    parsed, _ = document(files, f"{path}.index", f"{path}.timeindex")
    offsets, times = parsed["files"]
    assert (offsets["kind"], times["kind"]) == ("offset-index", "time-index")
    assert offsets["baseOffset"] == times["baseOffset"] == 0
    assert offsets["entries"]
    assert times["entries"]
    assert set(offsets["entries"][0]) == {"offset", "position"}
    assert set(times["entries"][0]) == {"timestamp", "offset"}
    assert offsets["problems"] == times["problems"] == []


def test_an_index_that_does_not_fit_its_log_says_where():
    path, files = indexed_files()
    index, times = bytearray(files[f"{path}.index"]), bytearray(files[f"{path}.timeindex"])
    index[3] ^= 1
    times[7] ^= 1
    files |= {f"{path}.index": bytes(index), f"{path}.timeindex": bytes(times)}
    parsed, dump = document(files, f"{path}.index", f"{path}.timeindex")
    messages = [file["problems"][0]["message"] for file in parsed["files"]]
    assert messages[0].startswith("entry of offset ")
    assert messages[1].startswith("entry of timestamp ")
    assert not dump.is_failure


def test_an_index_can_be_checked_as_a_broker_does():
    path, files = indexed_files()
    files[f"{path}.timeindex"] += bytes(12)
    parsed, dump = document(files, f"{path}.timeindex", index_sanity_only=True)
    [problem] = parsed["files"][0]["problems"]
    assert "the file was not trimmed" in problem["message"]
    assert dump.is_failure


def test_producer_snapshots_have_their_producers():
    entries = [
        ProducerEntry(producer_id=1, producer_epoch=2, timestamp=5),
        ProducerEntry(producer_id=3, producer_epoch=0, last_sequence=1, last_offset=9, offset_delta=4, timestamp=6),
    ]
    path = "d/00000000000000000010.snapshot"
    file = only_file({path: format_producer_snapshot(entries)}, path)
    empty, used = file["producers"]
    assert (empty["lastOffset"], empty["firstSequence"], empty["lastTimestamp"]) == (None, None, 5)
    # Sequence numbers begin at 0 again behind 2^31 - 1.
    assert (used["lastOffset"], used["firstSequence"], used["lastSequence"]) == (9, 2**31 - 3, 1)
    damaged = only_file({path: format_producer_snapshot(entries)[:-1]}, path)
    assert "producers" not in damaged
    assert len(damaged["problems"]) == 1


def test_transaction_indexes_have_their_transactions():
    entries = [AbortedTransaction(producer_id=1, first_offset=2, last_offset=3, last_stable_offset=4)]
    path = "d/00000000000000000000.txnindex"
    transaction = {"producerId": 1, "firstOffset": 2, "lastOffset": 3, "lastStableOffset": 4}
    file = only_file({path: format_transaction_index(entries)}, path)
    assert (file["abortedTransactions"], file["problems"]) == ([transaction], [])
    file = only_file({path: format_transaction_index(entries) + b"\0\0\0"}, path)
    [problem] = file["problems"]
    assert (file["abortedTransactions"], problem["position"]) == ([transaction], 34)
    assert problem["message"] == "3 bytes are left over, an entry takes 34"


@pytest.mark.slow
def test_the_document_has_what_the_text_has(tmp_path, monkeypatch):
    extract_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    kinds = {kind.value: kind for kind in DecoderKind}
    compared = 0
    for answer in answers():
        kind = next((kinds[word] for word in answer.arguments if word in kinds), None)
        if answer.status or kind is None or len(answer.arguments) != 3:
            continue
        tool = dump_tool(answer.tool)
        options = DumpOptions(decoder=record_decoder(tool, kind), is_deep=True, shows_contents=True)
        sources = (dump_source(PosixDisk(), path, str) for path in answer.arguments[-1].split(","))
        files = json.loads(b"".join(DocumentDump(tool, options).dump(sources)))["files"]
        batches = [batch for file in files for batch in file["batches"]]
        assert len(batches) == answer.stdout.count("\nbaseOffset: ")
        assert sum(len(batch["records"]) for batch in batches) == answer.stdout.count("\n| offset: ")
        if answer.tool == "4.3.1" and kind is not DecoderKind.REMOTE_LOG:
            records = [record for batch in batches for record in batch["records"]]
            decoded = [record["decoded"]["data"] for record in records if "decoded" in record]
            payloads = [line.partition(" payload: {")[2] for line in answer.stdout.split("\n")]
            texts = [json.loads("{" + payload)["data"] for payload in payloads if payload]
            assert [data for data in decoded if data is not None] == texts
            compared += len(texts)
    assert compared > 500


def test_no_more_than_a_batch_is_written_at_once():
    batches = [build_batch([Record(offset, 1, b"k", b"v" * 500)], base_offset=offset) for offset in range(7, 207)]
    disk = disk_with({LOG: b"".join(batches)})
    options = DumpOptions(
        decoder=record_decoder(dump_tool(None), DecoderKind.STRINGS), is_deep=True, shows_contents=True
    )
    pieces = list(DocumentDump(dump_tool(None), options).dump([dump_source(disk, LOG, str)]))
    assert len(pieces) > 200
    assert max(map(len, pieces)) < 1200
