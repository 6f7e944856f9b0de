"""Elements of a mapped array are made while the message is encoded."""

from falkirk.protocol.codec import decode, encode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeGroupsResponse
from falkirk.protocol.messages.describe_groups_response import DescribedGroup


def test_a_mapped_array_is_encoded_as_its_elements():
    names = [f"g{number}" for number in range(3_000)]
    mapped = DescribeGroupsResponse(groups=mapped_array(lambda name: DescribedGroup(group_id=name), names))
    expected = DescribeGroupsResponse(groups=[DescribedGroup(group_id=name) for name in names])
    for version in (0, 5):
        assert encode(mapped, version) == encode(expected, version)
        assert decode(DescribeGroupsResponse, version, encode(mapped, version)) == expected


def test_elements_exist_one_at_a_time():
    alive = 0
    most = 0

    class Counted:
        def __init__(self, name):
            nonlocal alive, most
            self._group = DescribedGroup(group_id=name)
            alive += 1
            most = max(most, alive)

        def __getattr__(self, name):
            return getattr(self._group, name)

        def __del__(self):
            nonlocal alive
            alive -= 1

    encode(DescribeGroupsResponse(groups=mapped_array(Counted, ["g"] * 100)), 5)
    assert (alive, most) == (0, 2)
