"""Stories of quorums, told as text: tests/raft/data."""

from pathlib import Path

import pytest
from golden_stories import check_story
from raft_story import RaftStory

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")), ids=lambda path: path.stem)
def test_a_story_is_told_as_it_was_before(path, update_golden):
    check_story(path, RaftStory().run, update=update_golden)
