"""Names of topics."""

import pytest
from controllers import make_image

from falkirk.metadata.controller.state.topic_names import CollidingNames, reason_invalid_name
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.protocol.messages import RemoveTopicRecord, TopicRecord


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
    names = CollidingNames.of(make_image(records=[TopicRecord("a.b", b"1" * 16), TopicRecord("plain", b"2" * 16)]))
    assert names.colliding_with("a_b") == "a.b"
    assert names.colliding_with("a-b") is None
    assert names.colliding_with("plain") is None


def test_the_index_follows_topics_that_come_and_go():
    image = make_image(records=[TopicRecord("a.b", b"1" * 16)])
    delta = MetadataDelta(image)
    delta.replay(TopicRecord("c_d", b"3" * 16))
    delta.replay(TopicRecord("plain", b"4" * 16))
    delta.replay(RemoveTopicRecord(b"1" * 16))
    names = CollidingNames.of(image).changed_by(delta)
    assert names.colliding_with("a_b") is None
    assert names.colliding_with("c.d") == "c_d"
    unrelated = MetadataDelta(delta.apply(image.provenance))
    assert names.changed_by(unrelated) is names
