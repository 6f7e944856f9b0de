import pytest

from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.features.kip_584_updates import parse_changes, parse_levels
from falkirk.client.feature_update import FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType

SAFE = UpgradeType.SAFE_DOWNGRADE


def parsed(upgrade=(), downgrade=(), delete=(), *, allow_downgrade=False):
    return parse_changes(upgrade, downgrade, delete, allow_downgrade=allow_downgrade)


def test_what_rises_comes_before_what_falls_and_what_goes_and_each_by_name():
    asked = parsed(["d:2,b:1", " c:3 ,"], ["z:1", "y:2"], ["f,e"])
    assert list(asked.updates({}).items()) == [
        ("b", FeatureUpdate(1)),
        ("c", FeatureUpdate(3)),
        ("d", FeatureUpdate(2)),
        ("y", FeatureUpdate(2, SAFE)),
        ("z", FeatureUpdate(1, SAFE)),
        ("e", FeatureUpdate(0, SAFE)),
        ("f", FeatureUpdate(0, SAFE)),
    ]


def test_a_rise_is_a_downgrade_only_where_it_is_allowed_and_would_be_one():
    before = {"higher": 3, "same": 2, "lower": 1}
    words = ["higher:2,same:2,lower:2,new:2"]
    allowed = parsed(words, allow_downgrade=True).updates(before)
    assert {name for name, update in allowed.items() if update.upgrade_type is SAFE} == {"higher"}
    assert {update.upgrade_type for update in parsed(words).updates(before).values()} == {UpgradeType.UPGRADE}


def test_a_name_may_have_colons():
    assert parse_levels("--levels", ["a:b:2"]) == {"a:b": 2}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "nothing to update: say --upgrade, --downgrade or --delete"),
        ({"upgrade": ["", " , "]}, "nothing to update"),
        ({"upgrade": ["a"]}, "--upgrade: 'a' is not of the form feature:level"),
        ({"upgrade": [":1"]}, "':1' is not of the form"),
        ({"downgrade": ["a:-1"]}, "--downgrade: 'a:-1' is not of the form"),
        ({"downgrade": ["a:²"]}, "'a:²' is not of the form"),
        ({"upgrade": ["a:0"]}, "the level in 'a:0' is not one of 1 to 32767"),
        ({"upgrade": ["a:32768"]}, "the level in 'a:32768'"),
        ({"upgrade": ["a:1", "a:2"]}, "feature a is named more than once"),
        ({"upgrade": ["a:1"], "downgrade": ["a:2"]}, "feature a is named more than once"),
        ({"downgrade": ["a:1"], "delete": ["a"]}, "feature a is named more than once"),
        ({"delete": ["a", "b,a"]}, "feature a is named more than once"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(options, reason):
    with pytest.raises(WrongUsageError, match=reason.replace("(", r"\(")):
        parsed(**options)
