"""Whether a cluster can go the way that a lift file names."""

import msgspec
import pytest

from falkirk.lift.errors import LiftError
from falkirk.lift.lift import check_way
from falkirk.lift.lift_file import IN_PLACE, LiftFile, Place
from falkirk.operations.lift_way import QuorumLayout, choose_way

BESIDE = LiftFile(
    bootstrap_servers=["kafka-1:9092"],
    target="3.9",
    place=Place(node_id=9001, listener="lift:9093", directory="controller"),
)
IN_THEIR_PLACE = msgspec.structs.replace(BESIDE, place=IN_PLACE)


def way_of(*, kraft_version: int, combined: bool, can_be_dynamic: bool = True):
    voters = (1, 2, 3)
    layout = QuorumLayout(
        kraft_version=kraft_version,
        voters=voters,
        combined=frozenset(voters if combined else ()),
        can_be_dynamic=can_be_dynamic,
        keeps_dynamic=True,
    )
    return choose_way(layout, level="3.9-IV0", release="3.9")


def test_dynamic_voters_take_an_extra_one_and_controllers_of_their_own_are_replaced():
    check_way(BESIDE, way_of(kraft_version=1, combined=True))
    check_way(BESIDE, way_of(kraft_version=1, combined=False))
    check_way(IN_THEIR_PLACE, way_of(kraft_version=1, combined=False))
    check_way(IN_THEIR_PLACE, way_of(kraft_version=0, combined=False, can_be_dynamic=False))


def test_static_voters_are_made_dynamic_only_where_the_file_allows_it():
    way = way_of(kraft_version=0, combined=True)
    with pytest.raises(LiftError, match="upgrade_kraft_version: true lets them be made dynamic first"):
        check_way(BESIDE, way)
    check_way(msgspec.structs.replace(BESIDE, upgrade_kraft_version=True), way)


def test_another_way_is_refused_with_the_reason_and_what_is_possible():
    with pytest.raises(LiftError) as refused:
        check_way(IN_THEIR_PLACE, way_of(kraft_version=1, combined=True))
    assert str(refused.value) == (
        "not possible here: in place, majority: nodes 1, 2, 3 would be missing as brokers, too, more than one at a "
        "time; possible: extra voter, alone for seconds, in place of one, commit by snapshot (see place of the lift "
        "file)"
    )
    with pytest.raises(LiftError, match="possible: in place, majority"):
        check_way(BESIDE, way_of(kraft_version=0, combined=False, can_be_dynamic=False))


def test_a_quorum_that_was_not_seen_has_no_way():
    with pytest.raises(LiftError, match=r"not possible here: the quorum was not seen$"):
        check_way(BESIDE, None)
