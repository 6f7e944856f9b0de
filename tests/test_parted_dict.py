"""A dictionary in parts is one to whoever looks at it, and no part has much of it."""

import pytest

from falkirk.parted_dict import PartedDict


@pytest.mark.parametrize("keys", [[f"id-{number}" for number in range(10_000)], [b"%d" % n for n in range(10_000)]])
def test_each_part_has_a_share_of_the_keys(keys):
    parted = PartedDict()
    for key in keys:
        parted[key] = key * 2
    assert len(parted) == 10_000
    assert set(parted) == set(keys)
    assert set(parted.values()) == {key * 2 for key in keys}
    assert max(map(len, parted.parts())) < 250


def test_it_does_what_a_dictionary_does():
    parted = PartedDict()
    parted["a"] = 1
    parted["a"] = 2
    parted["\udc80"] = 3
    assert (parted.get("a"), parted.get("b"), parted.get("\udc80"), len(parted)) == (2, None, 3, 2)
    assert (parted.pop("a"), parted.pop("a"), len(parted)) == (2, None, 1)
