"""From inter.broker.protocol.version to `ibp-feature`, told as text: tests/metadata/zookeeper/data."""

from pathlib import Path

import pytest
from golden_stories import check_story
from ibp_story import IbpStory

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("path", sorted(DATA.glob("ibp_*.txt")), ids=lambda path: path.stem)
def test_a_story_of_protocols_is_told_as_it_was_before(path, update_golden):
    check_story(path, IbpStory().run, update=update_golden)
