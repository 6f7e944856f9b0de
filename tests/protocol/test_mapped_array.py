"""Elements of a mapped array are made while the message is encoded."""

import pytest

from falkirk.protocol.codec import decode, encode, encode_in_slices
from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.mapped_array import has_mapped_array, mapped_array
from falkirk.protocol.messages import DescribeGroupsResponse, DescribeProducersResponse
from falkirk.protocol.messages.describe_groups_response import DescribedGroup
from falkirk.protocol.messages.describe_producers_response import PartitionResponse, TopicResponse


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


def test_a_message_is_encoded_in_slices_as_it_is_at_once():
    topics = mapped_array(
        lambda number: TopicResponse(f"t{number}", mapped_array(PartitionResponse, range(3_000))), range(3)
    )
    response = DescribeProducersResponse(topics=topics)
    slices, count = encode_in_slices(response, 0), 0
    while True:
        try:
            next(slices)
        except StopIteration as end:
            pieces = end.value
            break
        count += 1
    assert b"".join(pieces) == encode(response, 0)
    assert count >= 8
    assert list(encode_in_slices(DescribeProducersResponse(), 0)) == []


def test_what_the_wire_cannot_hold_is_named_in_slices_too():
    response = DescribeProducersResponse(topics=[TopicResponse("t", [PartitionResponse(1 << 40)])])
    with pytest.raises(LocalProtocolError, match="partitionIndex"):
        list(encode_in_slices(response, 0))


def test_a_message_says_whether_it_has_a_mapped_array():
    assert has_mapped_array(DescribeProducersResponse(topics=mapped_array(TopicResponse, ["t"])))
    assert not has_mapped_array(DescribeProducersResponse(topics=[TopicResponse("t")]))
