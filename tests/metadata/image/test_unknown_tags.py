import pytest

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.image.unknown_tags import UnknownTag
from falkirk.metadata.records.record_key import broker_key, config_key, partition_key, topic_key
from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    ConfigRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature

TOPIC_ID = b"t" * 16
TAGS = ((9, b"later"),)


def image(*records, base=EMPTY):
    delta = MetadataDelta(base)
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance())


def tags(*records, base=EMPTY):
    return dict(image(*records, base=base).unknown_tags.tags)


def partition(**fields):
    return PartitionRecord(0, TOPIC_ID, (1,), (1,), **fields)


def test_records_without_unknown_fields_leave_nothing():
    assert tags(TopicRecord("a", TOPIC_ID), partition()) == {}


def test_an_unknown_field_is_kept_by_its_object():
    assert tags(TopicRecord("a", TOPIC_ID, unknown_tagged_fields=TAGS)) == {
        topic_key(TOPIC_ID): (UnknownTag("TopicRecord", "", 9, b"later"),)
    }


def test_a_change_adds_to_what_the_record_brought_and_a_new_record_replaces_it():
    change = PartitionChangeRecord(0, TOPIC_ID, unknown_tagged_fields=((8, b"c"),))
    base = image(TopicRecord("a", TOPIC_ID), partition(unknown_tagged_fields=TAGS), change)

    assert [tag.tag for tag in base.unknown_tags.tags[partition_key(TOPIC_ID, 0)]] == [9, 8]
    assert tags(PartitionChangeRecord(0, TOPIC_ID), base=base).keys() == {partition_key(TOPIC_ID, 0)}
    assert tags(partition(), base=base) == {}


def test_structs_inside_records_are_searched():
    broker = RegisterBrokerRecord(
        broker_id=1,
        end_points=[BrokerEndpoint("A"), BrokerEndpoint("B", unknown_tagged_fields=TAGS)],
        features=[BrokerFeature("f", unknown_tagged_fields=((4, b""),))],
    )
    quota = ClientQuotaRecord([EntityData("user", "u", unknown_tagged_fields=TAGS)], "k", 1.0)
    found = tags(broker, quota)

    assert [(tag.path, tag.tag) for tag in found[broker_key(1)]] == [("endPoints[1]", 9), ("features[0]", 4)]
    assert [tag.path for key, items in found.items() if key.kind == "client_quota" for tag in items] == ["entity[0]"]


def test_a_removed_topic_takes_the_fields_of_all_that_was_its_own():
    base = image(
        TopicRecord("a", TOPIC_ID, unknown_tagged_fields=TAGS),
        partition(unknown_tagged_fields=TAGS),
        ConfigRecord(2, "a", "x", "1", unknown_tagged_fields=TAGS),
        ConfigRecord(4, "a", "x", "1", unknown_tagged_fields=TAGS),
    )

    assert tags(RemoveTopicRecord(TOPIC_ID), base=base).keys() == {config_key(4, "a", "x")}


@pytest.mark.parametrize(
    "remove",
    [
        ConfigRecord(4, "1", "a", None),
        ConfigRecord(4, "1", "a", None, unknown_tagged_fields=TAGS),
        ConfigRecord(4, "1", "a", "2"),
    ],
)
def test_fields_go_with_the_value_that_they_came_with(remove):
    base = image(ConfigRecord(4, "1", "a", "1", unknown_tagged_fields=TAGS))

    assert tags(remove, base=base) == {}


def test_brokers_keep_them_until_they_leave():
    change = BrokerRegistrationChangeRecord(1, 0, unknown_tagged_fields=TAGS)
    base = image(RegisterBrokerRecord(broker_id=1), change)

    assert set(base.unknown_tags.tags) == {broker_key(1)}
    assert tags(UnregisterBrokerRecord(1, 0), base=base) == {}


def test_records_that_describe_nothing_leave_nothing():
    assert tags(NoOpRecord(unknown_tagged_fields=TAGS)) == {}


def test_between_two_images_the_fields_are_followed():
    base = image(TopicRecord("a", TOPIC_ID, unknown_tagged_fields=TAGS))
    other = image(TopicRecord("a", TOPIC_ID))

    assert MetadataDelta.between(base, other).apply(other.provenance) == other
    assert MetadataDelta.between(other, base).apply(base.provenance) == base
