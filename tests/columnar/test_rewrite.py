"""Snapshots at another level, against the row path: each record decoded, changed and encoded."""

from functools import cache
from itertools import pairwise

import pytest
from columnar_cases import log_of, metadata_files, metadata_values
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import archive

from falkirk.columnar import rewritten_batches
from falkirk.columnar.rewrite import PASSED_TYPES, RecordToConvert, RewriteReport, RewriteTarget, rewrite_snapshot
from falkirk.metadata.batch import MetadataBatch
from falkirk.metadata.elr_conversion import without_elr
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.image.partition import Partition
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.writer import WriterOptions, write_image
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import (
    METADATA_RECORDS,
    FeatureLevelRecord,
    PartitionRecord,
    TopicRecord,
    message_class,
)
from falkirk.protocol.metadata_record import decode_metadata_record, encode_frame, encode_metadata_record
from falkirk.protocol.record import Record, encode_record
from falkirk.protocol.record_batch import read_batches
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion

LEVELS = {0: "3.7-IV1", 1: "3.9-IV0", 2: "4.3-IV0"}


def target(version, *, elr_enabled=True, **options):
    options = {"base_offset": 0, **options}
    return RewriteTarget(
        metadata_version=MetadataVersion.parse(LEVELS[version]), elr_enabled=elr_enabled and version == 2, **options
    )


def rewrite(data, to, convert=lambda _: None, **options):
    return b"".join(rewrite_snapshot(data, to, convert, **options))


def values_of(data):
    """The values of batches that are as KRaft writes them, from the offset of the first on."""
    found = []
    offset = None
    for batch in read_batches(data):
        assert offset in {None, batch.base_offset}
        offset = batch.end_offset
        assert batch.attributes == 0
        records = batch.records()
        assert [record.offset for record in records] == list(range(batch.base_offset, batch.end_offset))
        assert {record.timestamp for record in records} == {batch.base_timestamp}
        assert {(record.key, record.headers) for record in records} == {(None, ())}
        found += [record.value for record in records]
    return found


def by_row(value, version, *, elr_enabled):
    """What the row path writes for a PartitionRecord: directories and replicas that no version holds are dropped."""
    record, _ = decode_metadata_record(value)
    keeps_elr = elr_enabled and version == 2
    if not keeps_elr and (record.eligible_leader_replicas or record.last_known_elr):
        record = converted(record)
    if version < 1:
        record.directories = ()
    if not keeps_elr:
        record.eligible_leader_replicas = record.last_known_elr = None
    return encode_metadata_record(record, version)


def converted(record):
    partition = Partition((), (), record.isr, record.leader, 0, 0, record.leader_recovery_state,
                          eligible_leader_replicas=record.eligible_leader_replicas or (),
                          last_known_elr=record.last_known_elr or ())  # fmt: skip
    changed = without_elr(partition)
    record.isr, record.leader = changed.isr, changed.leader
    record.leader_recovery_state = changed.leader_recovery_state
    return record


def partition_values(draw, versions):
    drawn = draw(st.lists(metadata_values(["PartitionRecord"]), min_size=1, max_size=10))
    return [encode_metadata_record(record, version) for record, version in drawn if version in versions]


@pytest.mark.slow
@given(st.data(), st.sampled_from([0, 1, 2]), st.booleans())
def test_any_partitions_are_written_as_by_the_row_path(data, version, elr_enabled):
    values = partition_values(data.draw, range(version, 3))
    topics = [encode_metadata_record(TopicRecord(f"t{index}"), 0) for index in range(len(values))]
    mixed = [value for pair in zip(topics, values, strict=True) for value in pair]
    if not mixed:
        return
    to = target(version, elr_enabled=elr_enabled)
    wanted = [by_row(value, version, elr_enabled=elr_enabled) if value[1] == 3 else value for value in mixed]

    def convert(record):
        assert record.record_type == 3
        return [by_row(record.value, version, elr_enabled=elr_enabled)]

    for jit in (False, True):
        found = values_of(rewrite(log_of(mixed), to, convert, jit=jit))
        assert [decode_metadata_record(value) for value in found] == [decode_metadata_record(value) for value in wanted]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_only_what_cannot_be_cut_goes_through_the_callback(jit, version):
    plain = PartitionRecord(1, replicas=(1, 2), isr=(1,), eligible_leader_replicas=(2,), leader_recovery_state=1)
    no_isr = PartitionRecord(2, replicas=(1, 2), eligible_leader_replicas=(2, 1), last_known_elr=(1,), leader=1)
    empty = PartitionRecord(3, replicas=(1, 2))
    last_known = PartitionRecord(4, replicas=(1, 2), last_known_elr=(1,))
    tagged = PartitionRecord(5, isr=(1,), unknown_tagged_fields=((50, b"x"),))
    data = log_of([encode_metadata_record(record, 2) for record in (plain, no_isr, empty, last_known, tagged)])
    seen = []

    def convert(record):
        seen.append(decode_metadata_record(record.value)[0].partition_id)
        return [record.value]

    report = RewriteReport()
    rewrite(data, target(version), convert, jit=jit, report=report)
    assert seen == ([] if version == 2 else [4, 5])
    assert (report.cut, report.passed) == ((0, 5) if version == 2 else (3, 0))


@pytest.mark.parametrize("count", [1, 2, 126, 127, 200])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_eligible_leader_replicas_become_the_isr_where_it_is_empty(jit, version, count):
    """Every partition of the last broker that was stopped is one; lists of 127 and more are left to the row path."""
    records = [
        PartitionRecord(
            index,
            bytes([index]) * 16,
            tuple(range(count)),
            (),
            (7,) * (index % 3),
            (8, 9),
            leader=index,
            leader_recovery_state=index % 2,
            leader_epoch=4,
            partition_epoch=5,
            directories=(b"d" * 16,) * count,
            eligible_leader_replicas=tuple(range(count, 0, -1)),
            last_known_elr=(3,),
        )
        for index in range(5)
    ]
    values = [encode_metadata_record(record, 2) for record in records]
    to = target(version, elr_enabled=False)
    report = RewriteReport()
    found = values_of(
        rewrite(log_of([*TOPICS, *values]), to, lambda each: by_path(each, version), jit=jit, report=report)
    )
    assert found == [*TOPICS, *(by_row(value, version, elr_enabled=False) for value in values)]
    assert (report.cut, report.converted) == ((5, 0) if count < 127 else (0, 5))


def by_path(record, version):
    return [by_row(record.value, version, elr_enabled=False)]


def test_eligible_leader_replicas_are_cut_off_where_they_are_switched_off(jit):
    elr = PartitionRecord(1, replicas=(1, 2), isr=(1,), directories=(b"d" * 16,) * 2, eligible_leader_replicas=(2,))
    plain = PartitionRecord(2, replicas=(1, 2), isr=(1,), directories=(b"d" * 16,) * 2)
    data = log_of([encode_metadata_record(record, 2) for record in (elr, plain)])
    report = RewriteReport()
    found = values_of(rewrite(data, target(2, elr_enabled=False), jit=jit, report=report))
    elr.eligible_leader_replicas = None
    assert found == [encode_metadata_record(record, 2) for record in (elr, plain)]
    assert (report.cut, report.passed) == (1, 1)


def snapshot_of(*batches, **arguments):
    """Batches of values, offsets counted through, a control batch before them."""
    out = build_batch([Record(0, 5, bytes(4), bytes(6))], base_offset=0, leader_epoch=7, is_control=True)
    offset = 1
    for values in batches:
        out += (
            log_of(values, base_offset=offset, leader_epoch=7)
            if offset == 0
            else build_batch(
                [Record(offset + index, 5, None, value) for index, value in enumerate(values)],
                base_offset=offset,
                leader_epoch=7,
                **arguments,
            )
        )
        offset += len(values)
    return out


TOPICS = [encode_metadata_record(TopicRecord(f"topic-{index}"), 0) for index in range(5)]
FEATURE = encode_metadata_record(FeatureLevelRecord("metadata.version", 30), 0)
PARTITION = encode_metadata_record(PartitionRecord(0, replicas=(1,), isr=(1,), directories=(b"d" * 16,)), 2)


def test_batches_without_a_change_are_passed_but_for_offset_and_epoch(jit):
    data = snapshot_of([FEATURE], TOPICS, [*TOPICS, PARTITION])
    report = RewriteReport()
    found = rewrite(data, target(2, base_offset=100, epoch=9), jit=jit, report=report)
    before = [batch for batch in read_batches(data) if not batch.is_control]
    after = list(read_batches(found))
    assert [batch.base_offset for batch in after] == [100, 101, 106]
    assert {batch.leader_epoch for batch in after} == {9}
    assert [bytes(batch.data[16:]) for batch in after] == [bytes(batch.data[16:]) for batch in before]
    assert (report.passed, report.converted, report.converted_to, report.end_offset) == (11, 1, 1, 112)


def test_epochs_stay_unless_another_one_is_wanted(jit):
    found = rewrite(snapshot_of([FEATURE], TOPICS), target(1), jit=jit)
    assert {batch.leader_epoch for batch in read_batches(found)} == {7}


def test_the_callback_may_drop_keep_change_and_multiply_records(jit):
    data = snapshot_of([FEATURE, TOPICS[0], FEATURE], [FEATURE], [FEATURE, PARTITION, FEATURE])
    answers = iter([[], [b"\x01\x0c\x00one", b"\x01\x0c\x00two"], [], None, [b"\x01\x0c\x00last"]])
    seen: list[RecordToConvert] = []

    def convert(record):
        seen.append(record)
        return next(answers)

    report = RewriteReport()
    found = values_of(rewrite(data, target(1, base_offset=3), convert, jit=jit, report=report))
    assert found == [
        TOPICS[0],
        b"\x01\x0c\x00one",
        b"\x01\x0c\x00two",
        FEATURE,
        by_row(PARTITION, 1, elr_enabled=False),
        b"\x01\x0c\x00last",
    ]
    assert seen == [RecordToConvert(offset, 12, 0, FEATURE) for offset in (1, 3, 4, 5, 7)]
    assert (report.converted, report.converted_to, report.cut, report.passed) == (5, 4, 1, 1)
    assert report.end_offset == 3 + 6


def test_which_types_pass_is_the_callers_choice(jit):
    seen = []
    to = target(2, passed_types=frozenset({12}))
    rewrite(snapshot_of([FEATURE, *TOPICS]), to, lambda record: seen.append(record.record_type), jit=jit)
    assert seen == [2] * 5


def test_types_that_pass_have_one_version_at_every_level():
    assert {METADATA_RECORDS[type_] for type_ in PASSED_TYPES} == {
        "TopicRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "AccessControlEntryRecord",
    }
    for type_ in PASSED_TYPES:
        assert list(message_class(METADATA_RECORDS[type_]).SCHEMA.info.versions) == [0]


def test_unknown_types_go_through_the_callback(jit):
    seen = []
    value = encode_frame(99, 4) + b"body"
    rewrite(snapshot_of([value]), target(2), lambda record: seen.append(record[1:]), jit=jit)
    assert seen == [(99, 4, value)]


@pytest.mark.parametrize("limit", [61 + 3 * 40, 61, 200, 10_000])
def test_a_batch_that_gets_too_large_is_cut(jit, monkeypatch, limit):
    monkeypatch.setattr(rewritten_batches, "BATCH_BYTES_MAX", limit)
    values = [encode_metadata_record(TopicRecord("x" * (index % 20)), 0) for index in range(300)]
    found = rewrite(snapshot_of([FEATURE, *values[:150]], [FEATURE, *values[150:]]), target(1), jit=jit)
    assert values_of(found) == [FEATURE, *values[:150], FEATURE, *values[150:]]
    sizes = [(batch.size, batch.record_count) for batch in read_batches(found)]
    assert all(size <= limit or count == 1 for size, count in sizes)
    # No more batches than the limit asks for: two of them would not fit into one.
    assert all(one + other - 61 > limit for (one, _), (other, _) in pairwise(sizes) if limit < len(found) // 2)


@pytest.mark.parametrize("size", [0, 30, 63, 64, 8191, 8192, 70_000])
def test_values_of_any_size_and_offsets_of_any_size_are_written(jit, size):
    values = [FEATURE, encode_frame(12, 0) + b"x" * size, *([PARTITION] * 200), encode_frame(12, 0) + b"y" * size]
    found = values_of(rewrite(snapshot_of(values), target(0), jit=jit))
    assert found[1] == values[1]
    assert found[-1] == values[-1]
    assert set(found[2:-1]) == {by_row(PARTITION, 0, elr_enabled=False)}


def test_compressed_batches_are_written_uncompressed(jit):
    data = snapshot_of(TOPICS, [PARTITION] * 3, compression=Compression.ZSTD)
    assert values_of(rewrite(data, target(2), jit=jit)) == [*TOPICS, *[PARTITION] * 3]


@pytest.mark.parametrize(
    "odd", [Record(1, 5, b"key", FEATURE), Record(1, 5, None, FEATURE, (("h", b""),)), Record(1, 5)]
)
def test_records_that_no_metadata_log_holds_are_refused(jit, odd):
    data = build_batch([odd], base_offset=1)
    with pytest.raises(RemoteProtocolError):
        rewrite(TOPICS_BATCH + data, target(2), jit=jit)


TOPICS_BATCH = build_batch([Record(0, 5, None, TOPICS[0])], base_offset=0)


def test_gaps_between_offsets_are_refused(jit):
    data = build_batch([Record(0, 5, None, TOPICS[0]), Record(3, 5, None, TOPICS[1])], base_offset=0)
    with pytest.raises(RemoteProtocolError, match="gaps"):
        rewrite(data, target(2), jit=jit)


def test_damage_ends_the_rewriting(jit):
    data = snapshot_of([FEATURE], TOPICS)
    for broken in (data[:-1], data[:-3] + b"\xff" + data[-2:]):
        with pytest.raises(RemoteProtocolError):
            rewrite(broken, target(2), jit=jit)
    # A record that is longer than it says, in a batch whose CRC is right.
    record = encode_record(Record(0, 0, None, TOPICS[0]), base_offset=0, base_timestamp=0)
    from falkirk.protocol.batch_builder import assemble_batch

    body = bytes([record[0] - 2]) + record[1:]
    bad = assemble_batch(
        body, base_offset=0, last_offset_delta=0, leader_epoch=0, attributes=0, base_timestamp=0, max_timestamp=0,
        producer_id=-1, producer_epoch=-1, base_sequence=-1, record_count=1,
    )  # fmt: skip
    with pytest.raises(RemoteProtocolError):
        rewrite(bad, target(2), jit=jit)


@cache
def snapshots():
    found = {}
    for name in metadata_files():
        for path, data in archive(name).items():
            if path.endswith(".checkpoint") and data:
                found[f"{name}/{path}"] = data
    return found


@pytest.mark.slow
def test_real_snapshots_are_written_as_by_the_row_path(jit):
    assert len(snapshots()) > 60
    for name, data in snapshots().items():
        before = [record.value for batch in read_batches(data) if not batch.is_control for record in batch.records()]
        highest = max((value[2] for value in before if value[1] == 3), default=0)
        for version in range(highest + 1):
            found = values_of(
                rewrite(data, target(version), lambda record: by_hand(record, version), jit=jit)  # noqa: B023 - at once
            )
            wanted = [
                by_hand(RecordToConvert(0, value[1], value[2], value), version)[0]
                if value[1] == 3 and value[2] >= version
                else value
                for value in before
            ]
            assert found == wanted, name


def by_hand(record, version):
    if record.record_type != 3 or record.version < version:
        return [record.value]
    return [by_row(record.value, version, elr_enabled=True)]


def test_every_level_has_a_partition_version():
    for level in METADATA_VERSIONS:
        to = RewriteTarget(metadata_version=level, elr_enabled=True, base_offset=0)
        assert to.keeps_elr == level.elr_supported


@pytest.mark.slow
@pytest.mark.parametrize("level", ["3.7-IV0", "3.9-IV0", "4.0-IV3", "4.3-IV0"])
def test_real_snapshots_have_the_topics_that_the_image_writer_writes(level):
    at = MetadataVersion.parse(level)
    for path, data in snapshots().items():
        image = loaded(values_of_snapshot(data))
        written = write_image(image, WriterOptions(metadata_version=at), on_loss=lambda _: None)
        wanted = loaded([encode_metadata_record(record, version) for record, version in written])
        elr_enabled = at.elr_supported and wanted.features.levels().get("eligible.leader.replicas.version", 0) > 0
        to = RewriteTarget(metadata_version=at, elr_enabled=elr_enabled, base_offset=0)
        found = loaded(values_of(rewrite(data, to, partition_writer(at, elr_enabled=elr_enabled))))
        assert found.topics == wanted.topics, path


def partition_writer(at, *, elr_enabled):
    def convert(asked):
        if asked.record_type != PartitionRecord.SCHEMA.info.key:
            return None
        record, _ = decode_metadata_record(asked.value)
        partition = Partition.from_record(record)
        changed = partition if elr_enabled else without_elr(partition)
        written, version = changed.to_record(record.topic_id, record.partition_id, at, elr_enabled=elr_enabled)
        return [encode_metadata_record(written, version)]

    return convert


def values_of_snapshot(data):
    return [record.value for batch in read_batches(data) if not batch.is_control for record in batch.records()]


def loaded(values):
    batch = MetadataBatch(base_offset=0, end_offset=len(values), epoch=0, timestamp=0, values=values)
    return MetadataLoader().load_snapshot([batch], Provenance(len(values), 0, 0))
