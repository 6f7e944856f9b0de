"""What a replica of the metadata log has to persist in one step."""

from falkirk.node.metadata_log.quorum_driver import _joined
from falkirk.raft.output import Append, Truncate


def test_appends_that_follow_on_one_another_are_written_as_one_also_where_they_are_views_of_frames():
    large = memoryview(b"from a large response")
    joined = _joined([Append(large), Append(b", a small one"), Truncate(3), Append(large)])
    assert joined == [Append(b"from a large response, a small one"), Truncate(3), Append(large)]
