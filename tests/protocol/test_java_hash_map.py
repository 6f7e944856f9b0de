import pytest

from falkirk.protocol.java_hash_map import copy_capacity, java_string_hash, map_order

METADATA, SHARE, STREAMS, GROUP = "metadata.version", "share.version", "streams.version", "group.version"


@pytest.mark.parametrize(
    ("text", "code"), [("", 0), ("a", 97), ("polygenelubricants", -(2**31)), ("\N{SNOWMAN}", 0x2603), ("😀", 1772899)]
)
def test_strings_hash_as_in_java(text, code):
    assert java_string_hash(text) == code


def test_keys_of_one_chain_stay_as_they_came():
    assert map_order([METADATA, SHARE]) == [METADATA, SHARE]
    assert map_order([SHARE, METADATA]) == [SHARE, METADATA]


def test_the_order_depends_on_the_number_of_chains():
    # Chains 7 and 8 of 16, 7 and 0 of 8.
    assert map_order([STREAMS, METADATA], 16) == [METADATA, STREAMS]
    assert map_order([STREAMS, METADATA], 8) == [STREAMS, METADATA]


def test_a_map_grows_when_it_is_more_than_three_quarters_full():
    six = [STREAMS, METADATA, GROUP, "a", "b", "c"]
    assert map_order(six, 8).index(STREAMS) < map_order(six, 8).index(METADATA)
    assert map_order([*six, "d"], 8).index(METADATA) < map_order([*six, "d"], 8).index(STREAMS)


@pytest.mark.parametrize(("size", "capacity"), [(0, 16), (1, 2), (2, 4), (3, 8), (5, 8), (6, 16), (12, 32)])
def test_a_copy_begins_large_enough(size, capacity):
    assert copy_capacity(size) == capacity
