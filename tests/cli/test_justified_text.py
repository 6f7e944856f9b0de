"""Justified lines; what they look like in whole messages is checked against Kafka's tools."""

import pytest

from falkirk.cli.justified_text import justify


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("as it is", ["as it is"]),
        ("exactly ten", ["exactly", "ten"]),
        ("one two three four", ["one    two", "three four"]),
        ("a b c d e f g", ["a b c  d e", "f g"]),
        ("a b cc dd ee", ["a b  cc dd", "ee"]),
        ("longer.than a", ["longer.", "than a"]),
        ("host1234:9092 a", ["host1234:", "9092 a"]),
        ("abc 12.3456789", ["abc", "12.3456789"]),
        ("some-thing-else", ["some-", "thing-else"]),
        ("a123456789012 b", ["a123456789012", "b"]),
    ],
)
def test_lines_are_stretched_to_the_width_but_the_last(text: str, lines: list[str]) -> None:
    assert justify(text, width=10).split("\n") == lines


def test_no_line_is_longer_than_the_width_where_it_can_be_broken() -> None:
    text = " ".join(f"word{number}" for number in range(100))
    lines = justify(text).split("\n")
    assert {len(line) for line in lines[:-1]} == {75}
    assert " ".join(" ".join(lines).split()) == text
