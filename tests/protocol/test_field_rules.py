"""What happens when a field is set that the version lacks: dropped, or refused, as Kafka's own serialisers do."""

import gzip
import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from golden_lines import RELEASES, layout_in

from falkirk.protocol import codec, messages
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.reference import encode_reference
from falkirk.protocol.errors import UnsupportedVersionError

RULES = Path(__file__).parent.parent / "data" / "field_rules"
NOT_DEFAULT = {"bool": True, "string": "not the default", "uuid": b"\1" * 16, "bytes": b"x", "records": b"x"}


def set_field(cls, path, version, layout):
    """Make a message in which only the field at `path` is set; None where this layout has another field there."""
    message = cls()
    owner, schema = message, cls.SCHEMA
    *parents, last = path.strip("/").split("/")
    for name in parents:
        field = next(f for f in schema.fields if f.json_name(layout) == name and f.exists(version, layout))
        inner = field.type()
        setattr(owner, field.attribute, [inner] if field.is_array else inner)
        owner, schema = inner, field.type.SCHEMA
    # A name may have moved on to another field: StreamsGroupHeartbeatResponse.acceptableRecoveryLag did.
    field = next(f for f in schema.fields if f.json_name(layout) == last and not f.exists(version, layout))
    value = field.type() if not isinstance(field.type, str) else NOT_DEFAULT.get(field.type, 77)
    if isinstance(field.type, str) and field.type == "bool":
        value = not field.default
    elif not isinstance(field.type, str):
        fill(value)
    setattr(owner, field.attribute, [value] if field.is_array else value)
    return message


def fill(struct):
    """Return a struct one value that is not the default, where it has a plain field."""
    plain = [f for f in type(struct).SCHEMA.fields if isinstance(f.type, str) and not f.is_array]
    for field in plain[:1]:
        setattr(struct, field.attribute, NOT_DEFAULT.get(field.type, 77))


@pytest.mark.parametrize("release", RELEASES)
def test_a_field_that_the_version_lacks_is_dropped_or_refused_as_kafka_does(release):
    rules = json.loads(gzip.decompress((RULES / f"field_rules-{release}.json.gz").read_bytes()))
    assert len(rules) > 500
    for rule in rules:
        cls, version = messages.message_class(rule["name"]), rule["version"]
        layout = layout_in(release, rule["name"])
        index = cls.SCHEMA.info.layouts - 1 if layout is None else layout
        message = set_field(cls, rule["field"], version, index)
        dropped = rule["result"] == "dropped"
        assert dropped or rule["result"] == "UnsupportedVersionException"
        with nullcontext() if dropped else pytest.raises(UnsupportedVersionError):
            codec.encode(message, version, layout=layout)
        with nullcontext() if dropped else pytest.raises(UnsupportedVersionError):
            encode_reference(message_layout(cls, version, layout), message)
