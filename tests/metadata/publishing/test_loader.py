from contextlib import suppress
from itertools import pairwise
from sys import getrefcount

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import batch_of

from falkirk import slices
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.publishing import loader as loader_module
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.errors import InconsistentRecordError, UnreadableRecordError
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.slices import exhaust

BEGIN, END, ABORT = BeginTransactionRecord("big"), EndTransactionRecord(), AbortTransactionRecord("why")


def topic(name):
    return TopicRecord(name, name.encode().ljust(16, b"\0"))


def batch(base_offset, *records):
    return batch_of([encode_metadata_record(record, 0) for record in records], base_offset, "0.log")


def names(loader):
    return [found.name for found in loader.image.topics]


class Publisher:
    def __init__(self, log, name):
        self.log = log
        self.name = name

    def on_metadata(self, delta, image):
        self.log.append((self.name, delta, image))


def test_each_load_is_published_once_to_all_in_their_order():
    log = []
    loader = MetadataLoader([Publisher(log, "first"), Publisher(log, "second")])
    loader.load_log([batch(0, topic("a")), batch(1, topic("b"))])

    assert [name for name, _, _ in log] == ["first", "second"]
    assert all(image is loader.image for _, _, image in log)
    assert all(delta.image is EMPTY for _, delta, _ in log)
    assert loader.image.provenance == Provenance(2, 1, 1001)


def test_a_control_batch_moves_the_end_and_nothing_else():
    loader = MetadataLoader()
    control = MetadataBatch(base_offset=0, end_offset=3, epoch=4, timestamp=7)

    assert loader.load_log([control]).has_same_content(EMPTY)
    assert loader.image.provenance == loader.loaded == Provenance(3, 4, 7)


def test_changes_of_many_topics_are_applied_in_slices_and_show_after_the_last_one(monkeypatch):
    topics = 10
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", slices.DECISION_VISITS)
    log = []
    loader = MetadataLoader([Publisher(log, "p")])
    work = loader.load_log_slices([batch(0, *(topic(f"t{number}") for number in range(topics)))])
    done = 0
    with suppress(StopIteration):
        while True:
            next(work)
            done += 1
            assert (loader.image, loader.loaded, log) == (EMPTY, EMPTY.provenance, [])
    # One for each record that is replayed, then four topics each.
    assert done == topics + topics // slices.DECISION_VISITS
    assert len(names(loader)) == topics


def test_loading_nothing_publishes_nothing():
    log = []
    MetadataLoader([Publisher(log, "p")]).load_log([])

    assert log == []


def test_a_transaction_is_held_back_until_it_ends():
    log = []
    loader = MetadataLoader([Publisher(log, "p")])
    loader.load_log([batch(0, topic("a")), batch(1, BEGIN, topic("b"))])

    assert names(loader) == ["a"]
    assert loader.image.provenance.end_offset == 1
    assert loader.loaded.end_offset == 3
    open_transaction = loader.open_transaction
    assert (open_transaction.name, open_transaction.offset, open_transaction.source) == ("big", 1, "0.log")
    assert [offset for _, offset, _ in open_transaction.records] == [2]

    loader.load_log([batch(3, topic("c"))])
    assert names(loader) == ["a"]
    assert len(log) == 1

    loader.load_log([batch(4, topic("d"), END, topic("e"))])
    assert names(loader) == ["a", "b", "c", "d", "e"]
    assert loader.open_transaction is None
    assert loader.image.provenance.end_offset == 7
    assert len(log) == 2


def test_an_aborted_transaction_never_happened():
    loader = MetadataLoader()
    loader.load_log([batch(0, BEGIN, topic("a")), batch(2, ABORT, topic("b"))])

    assert names(loader) == ["b"]
    assert loader.image.provenance.end_offset == 4


def test_a_transaction_that_is_open_at_the_end_is_not_applied():
    loader = MetadataLoader()
    loader.load_log([batch(0, topic("a"), ConfigRecord(4, "", "x", "1"), BEGIN, topic("b"), topic("c"))])

    assert names(loader) == ["a"]
    # What stands before the begin in its batch counts.
    assert loader.image.provenance == Provenance(2, 1, 1000)
    assert dict(loader.image.configs.of(4, "")) == {"x": "1"}
    assert len(loader.open_transaction.records) == 2


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((END,), "EndTransactionRecord at offset 5 of 0.log: no transaction has begun"),
        ((ABORT,), "AbortTransactionRecord at offset 5 of 0.log: no transaction has begun"),
        ((BEGIN, BEGIN), "BeginTransactionRecord at offset 6 of 0.log: the transaction of offset 5 is still open"),
    ],
)
def test_markers_out_of_order_are_refused(records, message):
    with pytest.raises(InconsistentRecordError) as caught:
        MetadataLoader().load_log([batch(5, *records)])
    assert str(caught.value) == message


def test_a_record_that_fits_nothing_is_named_with_its_place():
    change = PartitionChangeRecord(3, b"t" * 16)
    with pytest.raises(InconsistentRecordError) as caught:
        MetadataLoader().load_log([batch(0, topic("a")), batch(1, topic("b"), change)])

    assert str(caught.value) == (
        "PartitionChangeRecord at offset 2 of 0.log (topic dHR0dHR0dHR0dHR0dHR0dA partition 3): no topic has this id"
    )
    assert (caught.value.offset, caught.value.source) == (2, "0.log")


def test_a_record_inside_a_transaction_is_named_with_its_own_place():
    with pytest.raises(InconsistentRecordError) as caught:
        MetadataLoader().load_log([batch(0, BEGIN, PartitionChangeRecord(0, b"t" * 16)), batch(2, END)])
    assert caught.value.offset == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"", "metadata record at offset 9 of f: .*byte 0"),
        (b"\x02\x02\x00", "metadata record of type 2|metadata record at offset 9 of f: frame version 2, not 1"),
        (b"\x01\x63\x00", "metadata record of type 99 at offset 9 of f: unknown metadata record type 99"),
        (b"\x01\x02\x05", "TopicRecord at offset 9 of f: TopicRecord has no version 5"),
        (b"\x01\x02\x00\x05ab", "TopicRecord at offset 9 of f: "),
    ],
)
def test_bytes_that_are_no_record_are_named_with_their_place(value, message):
    with pytest.raises(UnreadableRecordError, match=message) as caught:
        MetadataLoader().load_log([batch_of([value], 9, "f")])
    assert caught.value.offset == 9


def test_a_snapshot_replaces_the_image_and_publishes_what_differs():
    log = []
    loader = MetadataLoader([Publisher(log, "p")])
    loader.load_log([batch(0, topic("a"), topic("b")), batch(2, BEGIN, topic("x"))])
    before = loader.image
    loader.load_snapshot([batch(0, topic("b"), topic("c"))], Provenance(50, 6, 9))

    _, delta, image = log[-1]
    assert names(loader) == ["b", "c"]
    assert image.provenance == loader.loaded == Provenance(50, 6, 9)
    assert loader.open_transaction is None
    assert delta.image is before
    assert set(delta.topics.deleted.values()) == {"a"}
    assert [item.name for item in delta.topics.changed.values()] == ["c"]
    assert delta.configs is None


def test_what_a_snapshot_replaces_is_freed_in_slices(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 10)
    monkeypatch.setattr(loader_module, "FREED_PER_VISIT", 1)
    records = [topic("a"), topic("b")]
    records += [PartitionRecord(number, one.topic_id, (1,), (1,), leader=1) for one in records for number in range(10)]
    loader = MetadataLoader([Publisher([], "p")])
    loader.load_log([batch(0, *records)])
    replaced = dict(loader.image.topics.by_name)
    exhaust(loader.load_snapshot_slices([batch(0, topic("c"))], Provenance(50, 6, 9)))
    held = {name: getrefcount(replaced[name]) for name in replaced}
    freed = [sum(getrefcount(replaced[name]) < held[name] for name in replaced) for _ in loader.free_slices()]
    assert freed == [1, 2]
    assert list(loader.free_slices()) == []


def test_a_snapshot_always_publishes_features_which_may_have_been_others_meanwhile():
    log = []
    loader = MetadataLoader([Publisher(log, "p")])
    loader.load_log([batch(0, topic("a"))])
    loader.load_snapshot([batch(0, topic("a"))], Provenance(50, 6, 9))
    _, delta, _ = log[-1]
    assert delta.features is not None
    assert not delta.features.metadata_version_changed


def test_the_log_goes_on_behind_a_snapshot():
    loader = MetadataLoader()
    loader.load_snapshot([batch(0, topic("a"))], Provenance(50, 6, 9))
    loader.load_log([batch(50, topic("b"))])

    assert names(loader) == ["a", "b"]
    assert loader.image.provenance.end_offset == 51


def level(number):
    return FeatureLevelRecord("metadata.version", number)


def eligible(number):
    return PartitionRecord(
        number, topic("a").topic_id, (1, 2), (1,), leader=1, leader_epoch=0, partition_epoch=0, last_known_elr=(2,)
    )


def encoded(base_offset, *records):
    """Make a batch of records at the highest version that 4.4 has."""
    versions = {PartitionRecord: 2}
    values = [encode_metadata_record(record, versions.get(type(record), 0)) for record in records]
    return batch_of(values, base_offset, "0.log")


def at_4_4(log):
    loader = MetadataLoader([Publisher(log, "")])
    loader.load_log([encoded(0, level(33), topic("a"), eligible(0))])
    log.clear()
    return loader


def test_what_is_published_ends_with_the_batch_that_lowers_the_level():
    log = []
    loader = at_4_4(log)
    loader.load_log([encoded(3, topic("b")), encoded(4, eligible(1), level(21), topic("c")), encoded(7, topic("d"))])

    (_, first, lowered), (_, second, last) = log
    assert [found.name for found in lowered.topics] == ["a", "b", "c"]
    assert [found.last_known_elr for found in lowered.topics.topic("a").partitions] == [(), ()]
    assert [found.partition_epoch for found in lowered.topics.topic("a").partitions] == [1, 1]
    assert lowered.provenance == Provenance(7, 1, 1004)
    assert first.features.metadata_version.level == 21
    assert {change.name for change in first.topics.changed.values()} == {"a", "b", "c"}
    assert (second.image, last) == (lowered, loader.image)
    assert second.features is None
    assert {change.name for change in second.topics.changed.values()} == {"d"}


def test_a_level_that_falls_and_rises_in_one_load_is_seen_to_fall():
    log = []
    at_4_4(log).load_log([encoded(3, level(21)), encoded(4, level(33))])

    assert [image.features.metadata_version.level for _, _, image in log] == [21, 33]
    assert log[-1][2].topics.partition("a", 0).last_known_elr == ()


def test_in_a_transaction_the_level_falls_where_the_transaction_ends():
    log = []
    loader = at_4_4(log)
    loader.load_log([encoded(3, BEGIN, level(21)), encoded(5, topic("b"))])
    assert loader.image.features.metadata_version.level == 33
    assert loader.image.topics.partition("a", 0).last_known_elr == (2,)

    loader.load_log([encoded(6, eligible(1), END, topic("c")), encoded(9, topic("d"))])
    (_, _, lowered), (_, _, last) = log
    assert [found.name for found in lowered.topics] == ["a", "b", "c"]
    # What a transaction says behind the lowering is written at the lower level: it would not name such replicas.
    assert [found.last_known_elr for found in lowered.topics.topic("a").partitions] == [(), (2,)]
    assert lowered.provenance == Provenance(9, 1, 1006)
    assert names(loader) == ["a", "b", "c", "d"]
    assert last is loader.image


def test_a_transaction_that_begins_behind_a_lowering_in_its_batch_is_held_back():
    log = []
    loader = at_4_4(log)
    loader.load_log([encoded(3, level(21), BEGIN, topic("b"))])

    assert loader.image.provenance == Provenance(4, 1, 1003)
    assert loader.image.features.metadata_version.level == 21
    assert names(loader) == ["a"]
    assert len(log) == 1


def test_an_aborted_lowering_never_happened():
    loader = at_4_4([])
    loader.load_log([encoded(3, BEGIN, level(21), ABORT)])

    assert loader.image.features.metadata_version.level == 33
    assert loader.image.topics.partition("a", 0).last_known_elr == (2,)


@pytest.mark.slow
@given(cuts=st.lists(st.integers(1, 7), max_size=4))
def test_lowerings_give_the_same_image_however_the_log_is_cut_into_loads(cuts):
    batches = [
        encoded(0, level(33), topic("a"), eligible(0)),
        encoded(3, eligible(1), level(30)),
        encoded(5, BEGIN, eligible(2)),
        encoded(7, level(22), END),
        encoded(9, level(24), eligible(3)),
        encoded(11, topic("b"), level(23)),
        encoded(13, level(15)),
    ]
    loader = MetadataLoader()
    bounds = sorted({0, *cuts, len(batches)})
    for start, end in pairwise(bounds):
        loader.load_log(batches[start:end])

    assert loader.image == MetadataLoader().load_log(batches)
    assert [found.partition_epoch for found in loader.image.topics.topic("a").partitions] == [1, 1, 1, 1]
    assert loader.image.features.metadata_version.level == 15
