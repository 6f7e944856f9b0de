from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import batch_of
from metadata_histories import HistoryMaker, values

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.image.snapshot_builder import read_image_slices
from falkirk.metadata.levels.writer import WriterOptions, write_image
from falkirk.metadata.records.errors import RecordError
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.messages import ClearElrRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.slices import exhaust

HERE = Provenance(end_offset=1, epoch=1, timestamp=1)
A, B = b"a" * 16, b"b" * 16


def build(batches):
    return exhaust(read_image_slices(batches, HERE))


def replay(batches):
    """Do the same record by record: what the builder must be equal to."""
    delta = MetadataDelta(EMPTY)
    for batch in batches:
        for offset, value in enumerate(batch.values, batch.base_offset):
            try:
                delta.replay(read_record(value))
            except RecordError as error:
                error.locate(offset, batch.source)
                raise
    return delta.apply(HERE)


def outcome(function, batches):
    try:
        return function(batches)
    except RecordError as error:
        return type(error), str(error), error.offset, error.source


def snapshot_values(seed, level):
    maker = HistoryMaker(Random(seed), level)
    delta = MetadataDelta(EMPTY)
    for batch in [maker.first_batch(), *(maker.batch() for _ in range(15))]:
        for record, _ in batch:
            delta.replay(record)
    image = delta.apply(HERE)
    options = WriterOptions(metadata_version=image.features.metadata_version, elr_enabled=True)
    return image, values(list(write_image(image, options, lambda _: None)))


def cut(items, random):
    """Cut values into batches."""
    at = 0
    while at < len(items):
        size = random.randint(1, 40)
        yield batch_of(items[at : at + size], at, "snapshot")
        at += size


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), level=st.integers(7, 33))
def test_a_snapshot_gives_the_image_that_its_records_give_one_by_one(seed, level):
    image, items = snapshot_values(seed, level)
    batches = list(cut(items, Random(seed)))

    assert build(batches) == replay(batches) == image


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), level=st.integers(7, 33))
def test_records_in_any_order_give_the_same_image_or_the_same_error(seed, level):
    _, items = snapshot_values(seed, level)
    random = Random(seed)
    if random.random() < 0.5:
        items += random.sample(items, min(3, len(items)))
    random.shuffle(items)
    batches = list(cut(items, random))

    assert outcome(build, batches) == outcome(replay, batches)


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33))
def test_damaged_records_give_the_same_image_or_the_same_error(seed, level):
    _, items = snapshot_values(seed, level)
    random = Random(seed)
    for _ in range(random.randint(1, 3)):
        number = random.choice([at for at, item in enumerate(items) if item])
        data = bytearray(items[number])
        if random.random() < 0.7:
            data[random.randrange(len(data))] = random.choice((0, 1, 2, 0x7F, 0x80, 0xFF, random.randrange(256)))
        else:
            del data[random.randrange(len(data)) :]
        items[number] = bytes(data)
    batches = list(cut(items, random))

    assert outcome(build, batches) == outcome(replay, batches)


def many_partitions(version, count=50, **fields):
    directories = {} if version == 0 else {"directories": (b"d" * 16, b"e" * 16)}
    return [
        encode_metadata_record(
            PartitionRecord(
                number, A, (1, 2), (1, 2), leader=1, leader_epoch=3, partition_epoch=number, **directories, **fields
            ),
            version,
        )
        for number in range(count)
    ]


def topic(name="a", topic_id=A):
    return encode_metadata_record(TopicRecord(name, topic_id), 0)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_partitions_of_one_topic_are_read_together_and_share_their_lists(version):
    image = build([batch_of([topic(), *many_partitions(version)])])
    partitions = image.topics.topic("a").partitions

    assert image == replay([batch_of([topic(), *many_partitions(version)])])
    assert len(partitions) == 50
    assert len({id(item.replicas) for item in partitions}) == 1
    assert len({id(item.directories) for item in partitions}) == 1
    assert partitions[0].isr is partitions[0].replicas


def test_a_partition_that_comes_twice_counts_as_it_came_last():
    later = encode_metadata_record(PartitionRecord(1, A, (7,), (7,), leader=7, leader_epoch=1, partition_epoch=1), 0)
    batches = [batch_of([topic(), *many_partitions(0, 3), later, *many_partitions(0, 1)])]

    assert build(batches) == replay(batches)
    assert build(batches).topics.partition("a", 1).leader == 7


def test_unknown_fields_of_partitions_are_kept_account_of_and_forgotten():
    tagged = many_partitions(2, 2, unknown_tagged_fields=((70, b"x"),))
    batches = [batch_of([topic(), *tagged]), batch_of(many_partitions(2, 1), 3)]

    assert build(batches) == replay(batches)
    assert len(build(batches).unknown_tags.tags) == 1


@pytest.mark.parametrize("record", [RemoveTopicRecord(A), ClearElrRecord(""), TopicRecord("a", B), TopicRecord("b", A)])
def test_records_that_no_snapshot_has_do_what_they_do_in_a_log(record):
    batches = [batch_of([topic(), *many_partitions(2, 2), encode_metadata_record(record, 0), *many_partitions(2, 3)])]

    assert outcome(build, batches) == outcome(replay, batches)


def test_an_error_names_the_record_and_its_place():
    batches = [batch_of([topic()], 0, "x.checkpoint"), batch_of([*many_partitions(0, 3)[1:], b"\x01\x63\x00"], 1, "x")]

    kind, text, offset, source = outcome(build, batches)

    assert (kind.__name__, offset, source) == ("UnreadableRecordError", 3, "x")
    assert text.startswith("metadata record of type 99 at offset 3 of x: unknown metadata record type 99")


def test_a_snapshot_is_read_in_slices_of_records_that_may_all_differ():
    encoded = [
        encode_metadata_record(TopicRecord(f"t{number}", number.to_bytes(16, "big")), 0) for number in range(1200)
    ]
    read = read_image_slices([batch_of(encoded, 0, "s.checkpoint")], HERE)
    assert sum(1 for _ in read) >= 1200 // 500
