import msgspec
from tests.support.watched_clusters import made_findings

from falkirk.watch.page.comparison import Change, compare


def test_two_equal_moments_differ_in_nothing():
    comparison = compare(made_findings(), made_findings())
    assert comparison.changes == ()
    assert not comparison.appeared
    assert not comparison.gone


def test_losses_that_appeared_and_those_that_are_gone_are_told_apart():
    assert [loss.key for loss in compare(made_findings(losses=1), made_findings(losses=2)).appeared] == [
        "cordoned_log_dirs-1"
    ]
    assert [loss.key for loss in compare(made_findings(losses=2), made_findings(losses=1)).gone] == [
        "cordoned_log_dirs-1"
    ]


def test_ways_and_groups_that_changed_are_named_with_both_values():
    changes = compare(made_findings(losses=0, group="a"), made_findings(losses=1, group="b")).changes
    assert Change("way to 4.1", "can go", "would lose 1") in changes
    assert Change("group a", "consumer, 2 members", None) in changes
    assert Change("group b", None, "consumer, 2 members") in changes


def test_what_is_not_kept_one_by_one_is_said():
    many = msgspec.structs.replace(made_findings(), loss_count=5000)
    assert compare(made_findings(), many).is_partial
    assert not compare(made_findings(), made_findings()).is_partial
