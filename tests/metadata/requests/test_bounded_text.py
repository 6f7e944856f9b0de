"""Text that nobody reads to its end."""

from falkirk.metadata.requests.bounded_text import bounded_text


def test_what_is_too_much_to_read_is_counted():
    text = bounded_text([f"broker {number:04}." for number in range(1000)], " ")
    assert len(text) < 4100
    assert text.endswith(" more.")
    assert bounded_text(["a" * 9000], " ") == "a" * 9000
