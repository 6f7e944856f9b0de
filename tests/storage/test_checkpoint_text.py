import pytest

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.leader_epochs import parse_leader_epochs


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"1\n0\n", "version is 1, 0 was expected", 0),
        (b"x\n0\n", "version is 'x', an int32 was expected", 0),
        (b"0\n", "file ends before the number of entries", 2),
        (b"0\n1\n", "1 entries are announced, 0 are there", 2),
        (b"0\n0\n1 2\n", "0 entries are announced, 1 are there", 2),
        (b"0\n1000000000\n1 2\n", "1000000000 entries are announced", 2),
        (b"0\n1\n1 2 3\n", "line '1 2 3' should have 2 columns", 4),
        (b"0\n1\n1 2\n\n", "line '' should have 2 columns", 8),
        (b"0\n1\n1_0 2\n", "epoch is '1_0', an int32", 4),
        (b"0\n1\n1 9223372036854775808\n", "start offset is '9223372036854775808', an int64", 4),
        (b"0\n2\n1 2\n\xff 2\n", "line is not UTF-8", 8),
    ],
)
def test_what_is_wrong_is_named_with_its_line(data, reason, offset):
    with pytest.raises(CorruptFileError, match=f"leader-epoch-checkpoint: {reason}") as caught:
        parse_leader_epochs(data)
    assert caught.value.offset == offset


def test_line_ends_of_other_systems_are_read():
    assert parse_leader_epochs(b"0\r\n1\r\n4 5\r\n") == parse_leader_epochs(b"0\n1\n4 5\n")
