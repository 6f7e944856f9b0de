"""What an operator can name as the target."""

import pytest

from falkirk.logdir.errors import TargetError
from falkirk.logdir.target import parse_target


@pytest.mark.parametrize(
    ("text", "name", "release"),
    [
        ("3.7", "3.7-IV4", "3.7.2"),
        ("3.7-IV0", "3.7-IV0", "3.7.2"),
        ("15", "3.7-IV0", "3.7.2"),
        ("3.8", "3.8-IV0", "3.8.1"),
        ("3.9", "3.9-IV0", "3.9.1"),
        ("3.9.1", "3.9-IV0", "3.9.1"),
        ("21", "3.9-IV0", "3.9.1"),
        ("4.0-IV1", "4.0-IV1", "4.0.0"),
        ("4.0", "4.0-IV3", "4.0.0"),
        ("4.1", "4.1-IV1", "4.1.1"),
        ("4.2", "4.2-IV1", "4.2.1"),
        ("4.3", "4.3-IV0", "4.3.1"),
    ],
)
def test_a_level_or_a_release_means_a_level_and_the_oldest_release_that_runs_it(text, name, release):
    target = parse_target(text)
    assert (str(target.metadata_version), target.release.name) == (name, release)
    assert str(target) == f"{name} (Kafka {release.rpartition('.')[0]})"


def test_another_release_may_be_named_to_read_the_result():
    target = parse_target("3.7", read_by="4.0")
    assert (str(target.metadata_version), target.release.name) == ("3.7-IV4", "4.0.0")


@pytest.mark.parametrize(
    ("text", "read_by", "message"),
    [
        ("3.6", None, r"3\.6: 3\.6-IV2 is below 3\.7-IV0, the lowest level that can be gone to"),
        ("3.3-IV3", None, r"3\.3-IV3: 3\.3-IV3 is below 3\.7-IV0"),
        ("9.9", None, r"9\.9: "),
        ("", None, ": "),
        ("4.5-IV0", None, r"4\.5-IV0: no release runs 4\.5-IV0 in production; levels to go to are 3\.7-IV0, "),
        ("4.0", "3.9", r"Kafka 3\.9\.1 does not run 4\.0-IV3"),
        ("3.9", "9.9", r"unknown release '9\.9'"),
    ],
)
def test_what_cannot_be_gone_to_is_refused(text, read_by, message):
    with pytest.raises(TargetError, match=f"^{message}"):
        parse_target(text, read_by=read_by)
