"""Sets of partitions."""

from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.controller.state.partition_set import PartitionKey, PartitionSet

numbers = st.one_of(st.integers(0, 5), st.sampled_from([1022, 1023, 1024, 2047, 2048, 2**31 - 1]))
keys = st.builds(PartitionKey, st.binary(min_size=16, max_size=16).map(lambda data: data[:1] * 14 + data[1:3]), numbers)


@given(st.lists(st.dictionaries(keys, st.booleans(), max_size=20), max_size=6))
def test_it_is_the_set_that_its_changes_make(changes):
    partitions, expected = PartitionSet(), set()
    for change in changes:
        before, former = partitions, list(partitions)
        partitions = partitions.changed_by(change)
        expected = {key for key in expected | set(change) if change.get(key, key in expected)}
        assert sorted(partitions) == sorted(expected)
        assert len(partitions) == len(expected)
        assert list(before) == former, "a set never changes"
    made_at_once = PartitionSet().changed_by(dict.fromkeys(sorted(expected, reverse=True), True))
    assert partitions == made_at_once
    assert list(partitions) == list(made_at_once), "the order is that of the set, not of its changes"


class ComparedId(bytes):
    """A topic id that counts how often ids are compared."""

    count = 0

    def __lt__(self, other):
        ComparedId.count += 1
        return bytes(self) < bytes(other)


def test_its_first_partitions_are_found_without_a_look_at_all():
    ids = [ComparedId(number.to_bytes(16, "big")) for number in range(20_000)]
    partitions = PartitionSet().changed_by({PartitionKey(each, 0): True for each in reversed(ids)})
    next(iter(partitions))
    assert ComparedId.count < 1000


def test_sets_of_other_partitions_are_not_equal():
    one = PartitionSet().changed_by({PartitionKey(b"a" * 16, 1): True})
    assert one != PartitionSet().changed_by({PartitionKey(b"a" * 16, 2): True})
    assert one.changed_by({PartitionKey(b"a" * 16, 1): False}) == PartitionSet()
