from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_histories import HistoryMaker

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.protocol import messages
from falkirk.protocol.messages import (
    BeginTransactionRecord,
    ConfigRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

HERE = Provenance(end_offset=1, epoch=1, timestamp=1)
TOPIC_ID = b"t" * 16


def make_history(seed, level, batch_count):
    maker = HistoryMaker(Random(seed), level)
    return [maker.first_batch(), *(maker.batch() for _ in range(batch_count))]


histories = st.builds(make_history, st.integers(0, 2**32), st.integers(7, 33), st.integers(1, 25))


def apply(image, records):
    delta = MetadataDelta(image)
    for record, _ in records:
        delta.replay(record)
    return delta.apply(HERE)


def images(history):
    image = EMPTY
    for batch in history:
        image = apply(image, batch)
        yield image


@given(history=histories)
def test_how_records_fall_into_deltas_does_not_matter(history):
    *_, image = images(history)

    assert apply(EMPTY, [record for batch in history for record in batch]) == image


@given(history=histories)
def test_an_image_and_a_delta_give_the_next_image_and_leave_the_first_alone(history):
    before = EMPTY
    for after in images(history):
        kept = before.counts(), before.features.levels()
        delta = MetadataDelta.between(before, after)

        assert delta.apply(HERE).has_same_content(after)
        assert (before.counts(), before.features.levels()) == kept
        before = after


@given(first=histories, second=histories)
def test_between_leads_from_any_image_to_any_other(first, second):
    *_, before = images(first)
    *_, after = images(second)

    assert MetadataDelta.between(before, after).apply(after.provenance) == after
    assert MetadataDelta.between(after, before).apply(before.provenance) == before


def test_between_equal_images_nothing_has_changed():
    image = apply(EMPTY, [(TopicRecord("a", TOPIC_ID), 0), (PartitionRecord(0, TOPIC_ID, (1,), (1,)), 0)])
    same = apply(EMPTY, [(TopicRecord("a", TOPIC_ID), 0), (PartitionRecord(0, TOPIC_ID, (1,), (1,)), 0)])
    delta = MetadataDelta.between(image, same)

    assert [area for area in MetadataDelta.__slots__ if area != "image" and getattr(delta, area) is not None] == []


def test_a_delta_holds_only_what_changed():
    records = [(TopicRecord(f"topic-{number}", bytes([number]) * 16), 0) for number in range(1, 50)]
    records += [(PartitionRecord(0, bytes([number]) * 16, (1,), (1,)), 0) for number in range(1, 50)]
    image = apply(EMPTY, records)
    delta = MetadataDelta(image)
    delta.replay(PartitionChangeRecord(0, bytes([7]) * 16, leader=1))
    after = delta.apply(HERE)

    assert [topic.name for topic in delta.topics.changed.values()] == ["topic-7"]
    assert delta.configs is None
    assert after.configs is image.configs
    assert all(after.topics.by_name[name] is topic for name, topic in image.topics.by_name.items() if name != "topic-7")


def test_a_removed_topic_takes_its_configs_with_it():
    config = ConfigRecord(2, "a", "retention.ms", "1")
    image = apply(EMPTY, [(TopicRecord("a", TOPIC_ID), 0), (config, 0), (ConfigRecord(4, "a", "b", "c"), 0)])

    after = apply(image, [(RemoveTopicRecord(TOPIC_ID), 0)])
    at_once = apply(EMPTY, [(TopicRecord("a", TOPIC_ID), 0), (config, 0), (RemoveTopicRecord(TOPIC_ID), 0)])

    assert not after.configs.of(2, "a")
    assert dict(after.configs.of(4, "a")) == {"b": "c"}
    # Differs from Kafka, whose image depends on how records fell into batches.
    assert at_once.has_same_content(EMPTY)


def test_a_topic_that_takes_the_name_of_a_removed_one_has_its_own_configs():
    image = apply(EMPTY, [(TopicRecord("a", TOPIC_ID), 0), (ConfigRecord(2, "a", "x", "old"), 0)])
    second_id = b"u" * 16
    after = apply(
        image,
        [(RemoveTopicRecord(TOPIC_ID), 0), (TopicRecord("a", second_id), 0), (ConfigRecord(2, "a", "y", "new"), 0)],
    )

    assert after.topics.topic("a").topic_id == second_id
    assert after.topics.topic_by_id(TOPIC_ID) is None
    assert dict(after.configs.of(2, "a")) == {"y": "new"}


def test_every_metadata_record_type_is_replayed_or_a_transaction_marker():
    from falkirk.metadata.image.metadata_delta import _REPLAY

    markers = {"BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"}
    assert {cls.__name__ for cls in _REPLAY} | markers == set(messages.METADATA_RECORDS.values())


def test_noop_changes_nothing_and_a_transaction_marker_is_refused():
    assert apply(EMPTY, [(NoOpRecord(), 0)]).has_same_content(EMPTY)
    with pytest.raises(InconsistentRecordError, match="BeginTransactionRecord: cannot be replayed outside of a log"):
        apply(EMPTY, [(BeginTransactionRecord(), 0)])
