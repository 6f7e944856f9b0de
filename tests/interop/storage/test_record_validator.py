"""Produced records are accepted, refused and rewritten as by the LogValidator of real releases."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from produced_records import produced_records
from validator_judge import Produced, Verdict, judge

from falkirk.node.handlers.parts.produced_records import UnreadableBatchError, batch_error, batch_heads
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.record_batch import HEADER_BYTES, read_batches
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError
from falkirk.storage.log.record_validator import validate_produced

pytestmark = pytest.mark.interop

# From 4.0 on no broker serves what old clients produce with.
VERSIONS = {"3.9.1": (-1, 0, 1, 2, 2, 3, 6, 7, 11), "4.3.1": (-1, 3, 6, 7, 9, 13)}
# What we refuse and Kafka does not, see `record_validator`.
STRICTER = re.compile(
    r"Offset deltas|field of -|value of a header has -|more than 64 bits|in topic partition t-0: |offset range"
    r"|reported count"
)
# Where Kafka has no answer of its own: it cannot write anew what it takes as it is (and we can).
MISHAP = re.compile(r"Invalid negative |Cannot write transactional |key is skipped")


@pytest.mark.parametrize("release", ["3.9.1", pytest.param("4.3.1", marks=pytest.mark.full)])
def test_any_records_get_kafkas_verdict(release):
    agree(release, seed=1, count=3000)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("release", VERSIONS)
def test_many_more_records_get_kafkas_verdict(release, seed):
    agree(release, seed=seed, count=10_000)


def agree(release, *, seed, count):
    produced = list(produced_records(seed, count, versions=VERSIONS[release]))
    kafkas = judge(release, produced)
    taken = [each for each in kafkas if each.written is not None]
    assert count // 4 < len(taken) < count * 3 // 4
    differing = [
        (each, ours, theirs)
        for each, theirs in zip(produced, kafkas, strict=True)
        if not is_same(each, ours := validated(each), theirs)
    ]
    assert not differing, differing[:3]
    assert {each.code for each in kafkas} >= {
        "CORRUPT_MESSAGE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "MESSAGE_TOO_LARGE",
        "UNSUPPORTED_COMPRESSION_TYPE",
    }


def validated(produced: Produced) -> Verdict:
    try:
        refused = (
            batch_error(batch_heads(produced.records), produced.version) if produced.version >= 0 else ErrorCode.NONE
        )
    except UnreadableBatchError as error:
        return Verdict(code="CORRUPT_MESSAGE", message=str(error))
    if refused is not ErrorCode.NONE:
        return Verdict(code=refused.name)
    try:
        written = validate_produced(
            produced.records,
            topic="t-0",
            config=produced.config,
            first_offset=produced.first_offset,
            leader_epoch=produced.leader_epoch,
            now_ms=produced.now_ms,
            origin=AppendOrigin.CLIENT if produced.version >= 0 else AppendOrigin.COORDINATOR,
        )
    except AppendRefusedError as error:
        indexes = tuple(each.batch_index for each in error.record_errors)
        return Verdict(code=error.error_code.name, indexes=indexes, message=str(error))
    return Verdict(written=bytes(written.data))


def is_same(produced: Produced, ours: Verdict, theirs: Verdict) -> bool:
    if STRICTER.search(ours.message) and ours.code == "INVALID_RECORD" and not ours.indexes:
        return True
    if theirs.code == "UNKNOWN_SERVER_ERROR":
        return ours.written is None or MISHAP.search(theirs.message) is not None
    if ours.code == "CORRUPT_MESSAGE" and "Found invalid wrapper offset" in theirs.message:
        # Both are wrong: Kafka looks into an old compressed message before it looks at the CRC, we after it.
        return produced.records[16] == 1
    if theirs.written is None or ours.written is None:
        # What Kafka says of a whole record is not repeated.
        is_text_same = not theirs.indexes or " LegacyRecordBatch(" in theirs.message or ours.message == theirs.message
        return is_text_same and (ours.code, ours.indexes) == (theirs.code, theirs.indexes)
    if is_control(ours.written) and not is_control(theirs.written) and produced.records[:8] != bytes(8):
        # Coordinators' control batches begin at offset 0. Of any other Kafka makes data where the topic is compressed.
        return contents(ours.written)[-1] == contents(theirs.written)[-1]
    return ours.written == theirs.written or contents(ours.written) == contents(theirs.written)


def is_control(data: bytes) -> bool:
    (batch,) = read_batches(data)
    return batch.is_control


def contents(data: bytes) -> tuple[object, ...]:
    """A written batch without what re-encoding may change.

    Codecs differ, odd varints and attributes stay with us, Kafka replaces what is not UTF-8 in header keys.
    """
    (batch,) = read_batches(data)
    fields = bytes(batch.data[:HEADER_BYTES])
    records = [
        (
            record.offset,
            record.timestamp,
            record.key,
            record.value,
            [(legible(key), value) for key, value in record.headers],
        )
        for record in batch.records()
    ]
    return fields[:8], fields[12:17], fields[21:], records


def legible(key: str) -> str:
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
