"""Pages of docs/ that start real Kafka: what they tell a reader to type is typed, and prints what they say."""

import pytest
from played_pages import pages_of, play

pytestmark = [pytest.mark.interop, pytest.mark.slow]


@pytest.mark.parametrize("page", pages_of("kafka"))
def test_a_page_prints_what_it_says(page, tmp_path):
    play(page, tmp_path)
