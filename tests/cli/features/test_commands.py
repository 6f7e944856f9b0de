"""`falkirk features`, besides what it has in common with `falkirk storage`."""

import pytest


@pytest.mark.parametrize(
    "words",
    [
        ("features", "--bootstrap-server", "127.0.0.1:1", "version-mapping"),
        ("features", "--bootstrap-controller", "127.0.0.1:1", "--command-config", "none", "version-mapping"),
        ("features", "version-mapping", "--bootstrap-server", "127.0.0.1:1"),
    ],
)
def test_a_connection_is_taken_and_not_needed(words: tuple[str, ...], falkirk) -> None:
    assert falkirk(*words) == falkirk("features", "version-mapping")


def test_features_alone_says_what_it_can_do(falkirk) -> None:
    answer = falkirk("features")
    assert answer.exit_code == 2
    assert "version-mapping" in answer.stdout + answer.stderr
