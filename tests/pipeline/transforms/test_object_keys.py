"""Keys as columns read as `ObjectKey` has them."""

import json

import pyarrow as pa
import pytest

from falkirk.metadata.records.record_key import (
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


@pytest.mark.parametrize(("key", "topic"), KEYS)
def test_they_are_told_as_rows_tell_them(key, topic):
    identity = [pa.array([uuid_text(part) if isinstance(part, bytes) else part] * 2) for part in key.identity]
    names = None if topic is None else pa.array([topic, None])
    assert key_text(key.kind, identity, names).to_pylist() == [key.text(topic), key.text()]
    assert [json.loads(text) for text in key_fields(key.kind, identity).to_pylist()] == [key.fields()] * 2


def test_texts_in_json_are_escaped():
    [found] = key_fields("feature", [pa.array(['"\\\n'])]).to_pylist()
    assert json.loads(found) == {"feature": '"\\\n'}
