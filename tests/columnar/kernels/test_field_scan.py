"""Fields located in many messages at once, against the row codec: any messages, damaged ones, any bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_strategies import message_strategy
from scanned_spans import damaged, spans

from falkirk.columnar.kernels import ABSENT, NULL
from falkirk.columnar.kernels.field_plan import field_plan
from falkirk.columnar.kernels.field_scan import scan_fields
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import (
    ConfigRecord,
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)

FLAT = [
    (cls, version)
    for cls in (
        ConfigRecord,
        GroupMetadataKey,
        OffsetCommitKey,
        OffsetCommitValue,
        PartitionChangeRecord,
        PartitionRecord,
        TopicRecord,
    )
    for version in cls.SCHEMA.info.versions
]


def read(cls, version, part):
    try:
        return codec.decode(cls, version, part), ""
    except RemoteProtocolError as error:
        return None, str(error)


def check(cls, version, data, start, end):
    plan = field_plan(cls, version)
    scan = scan_fields(plan, data, start, end)
    for row, sound in enumerate(scan.sound.tolist()):
        part = data[start[row] : end[row]].tobytes()
        message, refusal = read(cls, version, part)
        # Whether text is UTF-8 shows when it is copied; unknown tagged fields are for the row codec.
        assert (
            sound == (message is not None and not getattr(message, "unknown_tagged_fields", ())) or "UTF-8" in refusal
        )
        if sound and message is not None:
            for index, field in enumerate((*plan.fields, *plan.tagged)):
                if field.form != "fixed":
                    assert_count(getattr(message, field.attribute), int(scan.count[index][row]), field)


def assert_count(value, count, field):
    if count == ABSENT:
        assert value == (() if field.default is ... else field.default)
    elif value is None:
        assert count == NULL
    else:
        assert count == len(value.encode() if isinstance(value, str) else value)


@pytest.mark.slow
@given(st.data())
def test_fields_are_located_where_the_row_codec_reads_them(data):
    cls, version = data.draw(st.sampled_from(FLAT))
    messages = data.draw(st.lists(message_strategy(cls, version, None), min_size=1, max_size=8))
    check(cls, version, *spans(damaged(data.draw, [codec.encode(message, version) for message in messages])))


@pytest.mark.slow
@given(st.binary(min_size=1, max_size=60), st.data())
def test_any_bytes_at_any_places_are_judged_as_the_row_codec_judges_them(bytes_, data):
    cut = st.integers(0, len(bytes_))
    pairs = [sorted(pair) for pair in data.draw(st.lists(st.tuples(cut, cut), min_size=1, max_size=5))]
    start, end = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    check(*data.draw(st.sampled_from(FLAT)), np.frombuffer(bytes_, np.uint8), start, end)
