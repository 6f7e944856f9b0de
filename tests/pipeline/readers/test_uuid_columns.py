"""Uuids as columns of texts: equal to the row codec's text, whatever repeats, is null, or is a slice."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.pipeline.readers.uuid_columns import uuid_lists, uuid_texts
from falkirk.protocol.uuid import uuid_text

UUIDS = st.one_of(st.none(), st.sampled_from([bytes(16), b"\xff" * 16]), st.binary(min_size=16, max_size=16))


def texts(values):
    return [None if value is None else uuid_text(value) for value in values]


@given(st.lists(UUIDS), st.integers(0, 5))
def test_texts_are_those_of_the_row_codec(values, start):
    array = pa.array(values, pa.binary(16)).slice(start)
    found = uuid_texts(array)
    found.validate(full=True)
    assert found.type == pa.string()
    assert found.to_pylist() == texts(values[start:])


@pytest.mark.parametrize("distinct", [1, 40, 1000])
def test_texts_are_the_same_whether_uuids_repeat_or_not(distinct):
    values = [(row % distinct).to_bytes(16, "big") for row in range(1000)]
    assert uuid_texts(pa.array(values, pa.binary(16))).to_pylist() == texts(values)


@given(st.lists(st.one_of(st.none(), st.lists(UUIDS, max_size=4))), st.integers(0, 5))
def test_lists_keep_their_lengths_and_nulls(values, start):
    array = pa.array(values, pa.list_(pa.binary(16))).slice(start)
    found = uuid_lists(array)
    found.validate(full=True)
    assert found.type == pa.list_(pa.string())
    assert found.to_pylist() == [None if each is None else texts(each) for each in values[start:]]
