import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_files import STORAGE, label

from falkirk.protocol.errors import LocalProtocolError
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.quorum_state import QuorumState, format_quorum_state, parse_quorum_state

FILES = sorted(STORAGE.rglob("quorum-state"))


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_of_kafka_are_written_byte_for_byte(path):
    assert format_quorum_state(parse_quorum_state(path.read_bytes())) == path.read_bytes()


def test_both_versions_are_read():
    old = parse_quorum_state((STORAGE / "4.0.0/d0/__cluster_metadata-0/quorum-state").read_bytes())
    assert old == QuorumState(data_version=0, leader_id=1, leader_epoch=1, current_voters=(1,))
    new = parse_quorum_state((STORAGE / "4.3.1/n1/__cluster_metadata-0/quorum-state").read_bytes())
    assert new == QuorumState(data_version=1, leader_id=1, leader_epoch=1)


IDS = st.integers(-1, (1 << 31) - 1)


@given(
    leader_id=IDS,
    leader_epoch=IDS,
    voted_id=IDS,
    voters=st.one_of(st.none(), st.lists(IDS, max_size=4).map(tuple)),
    directory=st.binary(min_size=16, max_size=16),
)
def test_parse_is_the_inverse_of_format(leader_id, leader_epoch, voted_id, voters, directory):
    common = {"leader_id": leader_id, "leader_epoch": leader_epoch, "voted_id": voted_id}
    for state in (
        QuorumState(data_version=0, current_voters=voters, **common),
        QuorumState(data_version=1, voted_directory_id=directory, **common),
    ):
        assert parse_quorum_state(format_quorum_state(state)) == state


def test_only_the_first_line_counts():
    data = format_quorum_state(QuorumState(data_version=1, leader_epoch=4))
    assert parse_quorum_state(data + b"\nanything").leader_epoch == 4


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "missing required field `data_version`"),
        (b'{"data_version":2}', "data_version is 2, 0 or 1 was expected"),
        (b'{"data_version":0,"leaderId":1}', "missing required field `clusterId`"),
        (b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":1}', "missing required field `votedDirectoryId`"),
        (b'{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"x","data_version":1}', "'x' is not a uuid"),
        (b'{"leaderId":2147483648,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"x","data_version":1}', "leaderId"),
    ],
)
def test_what_is_wrong_is_named(data, reason):
    with pytest.raises(CorruptFileError, match="quorum-state: ") as caught:
        parse_quorum_state(data)
    assert reason in str(caught.value)


def test_version_0_can_not_hold_the_directory_of_a_vote():
    with pytest.raises(LocalProtocolError, match="version 0 can not hold the directory of a vote"):
        format_quorum_state(QuorumState(data_version=0, leader_epoch=1, voted_id=1, voted_directory_id=b"x" * 16))
