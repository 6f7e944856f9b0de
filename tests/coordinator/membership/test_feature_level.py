"""Members go up together and never back (KIP-584, use case of the group coordinator's feature)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.membership.feature_level import FeatureLevel, LevelUnsupportedError
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.versions.supported_range import SupportedRange


def told(level: int | None) -> dict[str, int]:
    return {} if level is None else {"group.version": level}


def member(highest: int = 2) -> FeatureLevel:
    return FeatureLevel("group.version", SupportedRange(1, highest))


def rebalance(leader: FeatureLevel, members: list[FeatureLevel]) -> None:
    decided = leader.decide({str(number): each.user_data for number, each in enumerate(members)})
    for each in members:
        each.apply(decided)


def test_the_leader_hears_of_a_level_and_all_go_up() -> None:
    members = [member(), member(), member()]
    assert not members[0].hear(told(1))

    assert members[0].hear(told(2))
    rebalance(members[0], members)

    assert [each.level for each in members] == [2, 2, 2]
    assert not members[0].hear(told(2))


@pytest.mark.parametrize("stale", [1, None])
def test_a_stale_broker_takes_nobody_back(stale: int | None) -> None:
    members = [member(), member()]
    members[0].hear(told(2))
    rebalance(members[0], members)

    assert not members[1].hear(told(stale))
    rebalance(members[1], [*members, member()])

    assert [each.level for each in members] == [2, 2]


def test_a_new_leader_that_knows_only_a_stale_broker_brings_new_members_up() -> None:
    old = member()
    old.hear(told(2))
    rebalance(old, [old])
    new = member()
    new.hear(told(1))

    rebalance(new, [old, new])

    assert new.level == 2


def test_the_group_waits_for_a_member_that_does_not_have_the_level() -> None:
    leader, other = member(), member(highest=1)
    assert leader.hear(told(2))
    rebalance(leader, [leader, other])

    assert (leader.level, other.level) == (1, 1)
    # It would be for nothing, until that member is replaced, which rebalances the group.
    assert not leader.hear(told(2))
    rebalance(leader, [leader, member()])
    assert leader.level == 2


def test_who_comes_too_late_for_an_old_level_is_told_so() -> None:
    leader, late = member(), member(highest=1)
    leader.hear(told(2))
    rebalance(leader, [leader])

    with pytest.raises(LevelUnsupportedError, match=r"uses group\.version at level 2, this member supports 1$"):
        rebalance(leader, [leader, late])


@pytest.mark.parametrize("data", [b"", b"\0\1"])
def test_what_is_no_level_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        member().decide({"a": data})


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from([None, 1, 2])), max_size=30))
def test_no_member_ever_falls(story: list[tuple[int, int, int | None]]) -> None:
    members = [member() for _ in range(5)]
    for place, leader, level in story:
        before = [each.level for each in members]
        if members[place].hear(told(level)):
            rebalance(members[leader], members)
        assert all(each.level >= level for each, level in zip(members, before, strict=True))
        assert len({each.level for each in members}) == 1
