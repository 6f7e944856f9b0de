import json

import pytest

from falkirk.metadata.records.record_key import (
    PRODUCER_IDS_KEY,
    ObjectKey,
    acl_key,
    broker_key,
    client_quota_key,
    config_key,
    controller_key,
    delegation_token_key,
    feature_key,
    object_key,
    partition_key,
    scram_key,
    topic_key,
)
from falkirk.protocol import messages
from falkirk.protocol.messages import (
    BeginTransactionRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData

TOPIC_ID = bytes(range(16))
WITHOUT_OBJECT = {"NoOpRecord", "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"}


@pytest.mark.parametrize("name", sorted(messages.METADATA_RECORDS.values()))
def test_every_record_type_names_an_object_or_is_known_to_have_none(name):
    key = object_key(messages.message_class(name)())

    assert (key is None) == (name in WITHOUT_OBJECT)
    if key is not None:
        json.dumps(key.fields())
        assert key.text()


def test_a_record_and_its_change_have_one_key():
    assert object_key(PartitionRecord(3, TOPIC_ID)) == object_key(PartitionChangeRecord(3, TOPIC_ID))
    assert object_key(PartitionRecord(3, TOPIC_ID)) == partition_key(TOPIC_ID, 3)


def test_an_entity_is_one_key_in_whatever_order():
    one = ClientQuotaRecord([EntityData("user", None), EntityData("ip", "x")], "k")
    other = ClientQuotaRecord([EntityData("ip", "x"), EntityData("user", None)], "k")

    assert object_key(one) == object_key(other) == client_quota_key((("ip", "x"), ("user", None)), "k")


def test_records_without_an_object_have_no_key():
    assert object_key(NoOpRecord()) is None
    assert object_key(BeginTransactionRecord()) is None


@pytest.mark.parametrize(
    ("key", "text", "fields"),
    [
        (feature_key("group.version"), "feature group.version", {"feature": "group.version"}),
        (broker_key(3), "broker 3", {"broker": 3}),
        (controller_key(3000), "controller 3000", {"controller": 3000}),
        (topic_key(TOPIC_ID), "topic AAECAwQFBgcICQoLDA0ODw", {"topic_id": "AAECAwQFBgcICQoLDA0ODw"}),
        (
            partition_key(TOPIC_ID, 7),
            "topic AAECAwQFBgcICQoLDA0ODw partition 7",
            {"topic_id": "AAECAwQFBgcICQoLDA0ODw", "partition": 7},
        ),
        (
            config_key(4, "", "x"),
            "config x of broker <default>",
            {"resource_type": 4, "resource": "", "config": "x"},
        ),
        (
            config_key(99, "r", "x"),
            "config x of resource of type 99 r",
            {"resource_type": 99, "resource": "r", "config": "x"},
        ),
        (
            client_quota_key((("client-id", None), ("user", "u")), "k"),
            "quota k of client-id <default>, user u",
            {"entity": {"client-id": None, "user": "u"}, "quota": "k"},
        ),
        (PRODUCER_IDS_KEY, "producer ids", {}),
        (acl_key(TOPIC_ID), "acl AAECAwQFBgcICQoLDA0ODw", {"acl": "AAECAwQFBgcICQoLDA0ODw"}),
        (scram_key("u", 1), "user u SCRAM-SHA-256", {"user": "u", "mechanism": 1}),
        (scram_key("u", 9), "user u mechanism 9", {"user": "u", "mechanism": 9}),
        (delegation_token_key("t"), "delegation token t", {"token": "t"}),
        (object_key(ClearElrRecord("orders")), "topic elr orders", {"topic": "orders"}),
    ],
)
def test_a_key_reads_as_a_phrase_and_as_json(key, text, fields):
    assert key.text() == text
    assert key.fields() == fields


def test_a_topic_is_named_where_its_name_is_known():
    assert partition_key(TOPIC_ID, 7).text("orders") == "topic orders partition 7"
    assert topic_key(TOPIC_ID).text("orders") == "topic orders"
    assert ObjectKey("broker", (1,)).text("orders") == "broker 1"
