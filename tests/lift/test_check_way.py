"""Whether a lift may begin: rights, what is in the way, the way that its file names, and the losses it accepts."""

from types import SimpleNamespace

import msgspec
import pytest

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.lift.errors import LiftError, LossesNotAcceptedError
from falkirk.lift.lift import check_may_begin, check_way
from falkirk.lift.lift_file import IN_PLACE, IN_PLACE_OF_ONE, LiftFile, Place
from falkirk.logdir.target import parse_target
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.operations.lift_check import LiftCheck, ReadLogs
from falkirk.operations.lift_observation import Observation, Unseen
from falkirk.operations.lift_rights import CONTROLLERS, Right
from falkirk.operations.lift_way import QuorumLayout, choose_way

BESIDE = LiftFile(
    bootstrap_servers=["kafka-1:9092"],
    target="3.9",
    place=Place(node_id=9001, listener="lift:9093", directory="controller"),
)
IN_THEIR_PLACE = msgspec.structs.replace(BESIDE, place=IN_PLACE)
OPERATIONS = (AclOperation.CLUSTER_ACTION, AclOperation.ALTER)
IN_PLACE_OF_ONE_VOTER = msgspec.structs.replace(BESIDE, place=IN_PLACE_OF_ONE)


def way_of(*, kraft_version: int, combined: bool, can_be_dynamic: bool = True, voters=(1, 2, 3)):
    layout = QuorumLayout(
        kraft_version=kraft_version,
        voters=voters,
        leader_id=voters[0],
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


@pytest.mark.parametrize("combined", [True, False])
def test_one_controller_in_place_is_refused_with_five_voters_in_one_sentence(combined):
    check_way(IN_PLACE_OF_ONE_VOTER, way_of(kraft_version=0, combined=combined, voters=(1, 2, 3, 4)))
    with pytest.raises(LiftError) as refused:
        check_way(IN_PLACE_OF_ONE_VOTER, way_of(kraft_version=0, combined=combined, voters=(1, 2, 3, 4, 5)))
    others = "" if combined else ", in place, majority"
    assert str(refused.value) == (
        "not possible here: in place of one, commit by snapshot: with 5 voters the first one that takes the snapshot "
        "blocks no election of the others, so it would not be safe; it takes at most 4; possible: "
        f"voters made dynamic, then an extra voter{others} (see place of the lift file)"
    )


def refusal(*, file=BESIDE, seen=None, **fields):
    """What `run` says of a cluster before it does anything."""
    checked = LiftCheck(
        observation=Observation(cluster_id="c", bootstrap=(), brokers=(), **(seen or {})),
        target=parse_target("3.9"),
        level=None,
        logs=ReadLogs(plan=SimpleNamespace(losses=[]), transactions=()),
        warnings=(),
        way=way_of(kraft_version=1, combined=False),
        **{"blockers": (), **fields},
    )
    with pytest.raises(LiftError) as refused:
        check_may_begin(file, checked)
    return refused.value


def test_each_right_that_is_missing_is_one_line_before_anything_else():
    reading, writing = (Right(operation=each, principal="User:lift", nodes=CONTROLLERS) for each in OPERATIONS)
    unseen = Unseen(what="the metadata log", reason="CLUSTER_AUTHORIZATION_FAILED", needs=reading)
    no_metadata = Blocker(kind=BlockerKind.INCOMPLETE_METADATA, fields={}, text="not known")
    refused = refusal(seen={"unseen": (unseen,), "missing_rights": (reading, writing)}, blockers=(no_metadata,))
    assert str(refused).splitlines() == [
        "missing right: CLUSTER_ACTION on CLUSTER kafka-cluster for User:lift, at the controllers",
        "missing right: ALTER on CLUSTER kafka-cluster for User:lift, at the controllers",
    ]


def test_each_thing_that_is_in_the_way_is_one_line():
    blockers = tuple(
        Blocker(kind=kind, fields={}, text=text)
        for kind, text in ((BlockerKind.BELOW_FULL_ISR, "2 partitions"), (BlockerKind.SILENT_NODE, "node 3"))
    )
    assert str(refusal(blockers=blockers)).splitlines() == ["in the way: 2 partitions", "in the way: node 3"]


def test_losses_that_the_file_does_not_accept_are_refused_by_kind():
    cut_off = tuple(
        ReportedLoss(
            kind=kind, key="", key_fields={}, record="", offset=None, source=None, before={}, after=None, detail=""
        )
        for kind in ("open_transaction", "consumer_group")
    )
    file = msgspec.structs.replace(BESIDE, accept_losses=["consumer_group"])
    refused = refusal(file=file, cut_off=cut_off)
    assert isinstance(refused, LossesNotAcceptedError)
    assert str(refused).startswith("the lift would lose open_transaction, which accept_losses does not name: ")
