"""Keys as columns read as `ObjectKey` has them."""

import json

import pytest
from pyspark.sql import functions as sf

from falkirk.metadata.records.record_key import (
    ZK_MIGRATION_STATE_KEY,
    acl_key,
    broker_key,
    config_key,
    feature_key,
    partition_key,
    scram_key,
)
from falkirk.pipeline.transforms.object_keys import key_fields, key_text
from falkirk.protocol.uuid import uuid_text

KEYS = [
    (feature_key("group.version"), None),
    (ZK_MIGRATION_STATE_KEY, None),
    (broker_key(3), None),
    (acl_key(b"\xff" * 16), None),
    (partition_key(bytes(range(16)), 7), None),
    (partition_key(bytes(range(16)), 7), "or{d}ers"),
    (config_key(2, "orders", "x"), None),
    (config_key(4, "", "x"), None),
    (config_key(99, "r", "x"), None),
    (scram_key("u", 2), None),
    (scram_key("u", 9), None),
]


@pytest.mark.slow
def test_they_are_told_as_rows_tell_them(spark):
    columns = []
    for key, topic in KEYS:
        identity = [sf.lit(uuid_text(part) if isinstance(part, bytes) else part) for part in key.identity]
        columns.append(key_text(key.kind, identity, None if topic is None else sf.lit(topic)))
        columns.append(key_fields(key.kind, identity))
    found = list(spark.range(1).select(*columns).first())
    assert found[::2] == [key.text(topic) for key, topic in KEYS]
    assert [json.loads(text) for text in found[1::2]] == [key.fields() for key, _ in KEYS]


@pytest.mark.slow
def test_a_topic_without_a_name_is_told_by_its_id(spark):
    nameless = key_text("partition", [sf.lit("id"), sf.lit(7)], sf.lit(None).cast("string"))
    assert spark.range(1).select(nameless).first()[0] == "topic id partition 7"
