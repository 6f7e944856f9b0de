from dataclasses import replace

import pytest

from falkirk.operations.lift_way import QuorumLayout, WayKind, choose_way, replaced_voters

SEPARATE = QuorumLayout(
    kraft_version=1, voters=(1, 2, 3), leader_id=2, combined=frozenset(), can_be_dynamic=True, keeps_dynamic=True
)
STATIC = replace(SEPARATE, kraft_version=0)
COMBINED = replace(SEPARATE, combined=frozenset({1, 2, 3}))


def way(layout):
    return choose_way(layout, level="3.9-IV0", release="3.9")


@pytest.mark.parametrize(
    ("layout", "kind"),
    [
        (SEPARATE, WayKind.EXTRA_VOTER),
        (replace(COMBINED, kraft_version=0, lowers_itself=True), WayKind.FEATURE_UPDATE),
        (COMBINED, WayKind.EXTRA_VOTER),
        (STATIC, WayKind.IN_PLACE_MAJORITY),
        (replace(STATIC, combined=frozenset({1})), WayKind.DYNAMIC_FIRST),
        # 3.8 and older have no dynamic voters; 4.0 and older cannot make static ones dynamic.
        (replace(STATIC, combined=frozenset({1}), keeps_dynamic=False), WayKind.BY_SNAPSHOT),
        (replace(SEPARATE, auto_joining=frozenset({2})), WayKind.IN_PLACE_MAJORITY),
        (replace(STATIC, can_be_dynamic=False, combined=frozenset({1})), WayKind.BY_SNAPSHOT),
        (replace(COMBINED, auto_joining=frozenset({2})), WayKind.BY_SNAPSHOT),
        (replace(COMBINED, auto_joining=frozenset({2}), voters=(1, 2, 3, 4, 5)), None),
        (replace(STATIC, can_be_dynamic=False, combined=frozenset({1}), voters=(1,)), None),
    ],
)
def test_the_layout_of_the_quorum_chooses_the_way(layout, kind):
    found = way(layout)
    possible = [each.kind for each in found.possible]
    assert (possible[0] if possible else None) is kind
    assert {each.kind for each in found.refused} | set(possible) == set(WayKind)
    assert not {each.kind for each in found.refused} & set(possible)
    assert all(step.interruption for each in found.possible for step in each.steps)
    assert found.as_json()["kind"] == kind


def test_each_way_that_is_possible_has_what_it_needs_its_steps_and_its_place_in_the_file():
    found = way(SEPARATE)
    assert [(each.kind, each.place) for each in found.possible] == [
        (WayKind.EXTRA_VOTER, "{node_id, listener, directory}"),
        (WayKind.IN_PLACE_MAJORITY, "in-place"),
        (WayKind.BY_SNAPSHOT, "in-place-of-one"),
    ]
    assert all(each.needs and len(each.steps) > 3 for each in found.possible)
    document = found.as_json()
    assert document["others"][0]["steps"][0]["action"].startswith("stop controller 1")
    assert [each["kind"] for each in document["refused"]] == [
        "feature update",
        "voters made dynamic, then an extra voter",
    ]


def test_each_way_that_is_refused_has_its_reason():
    refused = {each.kind: each.reason for each in way(replace(COMBINED, auto_joining=frozenset({2, 3}))).refused}
    assert "is on at nodes 2, 3: a voter that is removed adds itself again" in refused[WayKind.EXTRA_VOTER]
    assert "nodes 1, 2, 3 would be missing as brokers, too" in refused[WayKind.IN_PLACE_MAJORITY]
    refused = {each.kind: each.reason for each in way(replace(STATIC, keeps_dynamic=False)).refused}
    assert refused[WayKind.DYNAMIC_FIRST].startswith("3.9-IV0 has no dynamic voters")


def test_with_five_voters_a_snapshot_does_not_commit():
    refused = {each.kind: each.reason for each in way(replace(SEPARATE, voters=tuple(range(5)))).refused}
    assert refused[WayKind.BY_SNAPSHOT].startswith("with 5 voters the first one that takes")


def test_one_is_taken_in_place_and_given_back():
    actions = [step.action for step in way(replace(COMBINED, auto_joining=frozenset({2}))).possible[0].steps]
    assert [action.split(",")[0] for action in actions[:4:3]] == ["stop controller 1", "stop falkirk on controller 1"]


def test_a_majority_is_taken_in_place_one_by_one_the_leader_last_and_given_back():
    steps = way(replace(STATIC, can_be_dynamic=False)).possible[0].steps
    assert [step.action.split(",")[0] for step in steps] == [
        "stop controller 1",
        "stop controller 2",
        "falkirk stands for election until it leads",
        "lower the levels to 3.9-IV0: falkirk leads; brokers and other controllers take the snapshot",
        "stop falkirk on controller 2",
        "stop falkirk on controller 1",
        "roll the nodes to Kafka 3.9",
    ]
    assert steps[0].interruption == "none", "controller 2 leads"
    assert "an election" in steps[1].interruption


@pytest.mark.parametrize(
    ("voters", "leader_id", "one", "majority"),
    [
        ((1, 2, 3), 2, (1,), (1, 2)),
        ((1, 2, 3), 1, (2,), (2, 1)),
        ((1, 2, 3), None, (1,), (1, 2)),
        ((1, 2, 3, 4), 4, (1,), (1, 2, 4)),
        ((1,), 1, (1,), (1,)),
    ],
)
def test_the_leader_is_replaced_last(voters, leader_id, one, majority):
    assert replaced_voters(voters, leader_id, is_one=True) == one
    assert replaced_voters(voters, leader_id, is_one=False) == majority


def test_a_broker_is_missing_while_its_controller_is_replaced():
    [snapshot] = [each for each in way(COMBINED).possible if each.kind is WayKind.BY_SNAPSHOT]
    assert "data: each partition for one leader change" in snapshot.steps[0].interruption
    alone = way(replace(STATIC, voters=(1,), leader_id=1)).possible[0]
    assert alone.steps[0].interruption.startswith("metadata writes: a restart of the only controller")


@pytest.mark.parametrize("layout", [SEPARATE, STATIC])
def test_producers_that_wait_for_the_roll_are_an_interruption_of_the_lowering_alone(layout):
    found = choose_way(layout, level="3.9-IV0", release="3.9", producers_wait=True)
    for each in found.possible:
        [step] = [step for step in each.steps if "producers that restart" in step.interruption]
        assert step.action.startswith("lower the levels")
    assert not [step for each in way(layout).possible for step in each.steps if "producers" in step.interruption]
