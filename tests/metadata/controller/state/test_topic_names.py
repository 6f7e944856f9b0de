"""Names of topics."""

import pytest

from falkirk.metadata.controller.state.topic_names import CollidingNames, reason_invalid_name


@pytest.mark.parametrize("name", ["a", "a.b-c_D9", "...", "x" * 249])
def test_letters_digits_dots_dashes_and_underscores_make_a_name(name):
    assert reason_invalid_name(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        ("ä", "contains one or more characters other than ASCII alphanumerics"),
    ],
)
def test_other_names_are_refused_with_the_reason(name, reason):
    assert reason in reason_invalid_name(name)


def test_names_that_metrics_cannot_tell_apart_collide():
    names = CollidingNames().changed_by({"a.b": True, "plain": True})
    assert names.colliding_with("a_b") == "a.b"
    assert names.colliding_with("a-b") is None
    assert names.colliding_with("plain") is None


def test_the_index_follows_names_that_come_and_go():
    names = CollidingNames().changed_by({"a.b": True}).changed_by({"c_d": True, "plain": True, "a.b": False})
    assert names.colliding_with("a_b") is None
    assert names.colliding_with("c.d") == "c_d"
    assert names == CollidingNames().changed_by({"c_d": True})
