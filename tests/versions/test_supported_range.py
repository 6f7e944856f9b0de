"""Ranges of versions."""

import pytest

from falkirk.versions.supported_range import SupportedRange


@pytest.mark.parametrize("text", ["0", "3", "0-5", "4-18"])
def test_a_range_is_written_as_it_was_read(text: str) -> None:
    assert str(SupportedRange.parse(text)) == text


def test_a_range_that_holds_nothing_is_no_range() -> None:
    assert SupportedRange.parse("none") is None


def test_both_ends_belong_to_a_range() -> None:
    versions = SupportedRange(4, 17)
    assert [version in versions for version in (3, 4, 17, 18)] == [False, True, True, False]
    assert list(SupportedRange(2, 4)) == [2, 3, 4]


def test_what_is_no_number_is_in_no_range() -> None:
    assert "4" not in SupportedRange(0, 9)


def test_the_intersection_is_what_both_ranges_hold() -> None:
    assert SupportedRange(0, 16).intersection(SupportedRange(4, 18)) == SupportedRange(4, 16)
    assert SupportedRange(0, 3).intersection(SupportedRange(4, 18)) is None


def test_text_that_is_no_range_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        SupportedRange.parse("all")
