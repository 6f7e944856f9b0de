from dataclasses import replace

import pytest

from falkirk.operations.lift_way import QuorumLayout, WayKind, choose_way

SEPARATE = QuorumLayout(
    kraft_version=1, voters=(1, 2, 3), combined=frozenset(), can_be_dynamic=True, keeps_dynamic=True
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
    assert found.kind is kind
    assert {each.kind for each in found.refused} | set(found.others) == set(WayKind) - {kind}
    assert bool(found.steps) is (kind is not None)
    assert all(step.interruption for step in found.steps)


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
    actions = [step.action for step in way(replace(COMBINED, auto_joining=frozenset({2}))).steps]
    assert [action.split(",")[0] for action in actions[:3:2]] == ["stop controller 1", "stop falkirk on controller 1"]


def test_a_majority_is_taken_in_place_one_by_one_and_given_back():
    actions = [step.action for step in way(replace(STATIC, can_be_dynamic=False)).steps]
    assert [action.split(",")[0] for action in actions[:2]] == ["stop controller 1", "stop controller 2"]
    assert actions[2].startswith("lower the levels to 3.9-IV0")
    assert [action.split(",")[0] for action in actions[3:5]] == [
        "stop falkirk on controller 1",
        "stop falkirk on controller 2",
    ]
    assert "roll the nodes to Kafka 3.9" in actions[5]


@pytest.mark.parametrize("layout", [SEPARATE, STATIC])
def test_producers_that_wait_for_the_roll_are_an_interruption_of_the_lowering_alone(layout):
    found = choose_way(layout, level="3.9-IV0", release="3.9", producers_wait=True)
    [step] = [step for step in found.steps if "producers that restart" in step.interruption]
    assert step.action.startswith("lower the levels")
    assert not [step for step in way(layout).steps if "producers" in step.interruption]
