from dataclasses import dataclass

import pytest

from falkirk.protocol.messages import VotersRecord
from falkirk.protocol.messages.voters_record import Endpoint as ListedEndpoint
from falkirk.protocol.messages.voters_record import Voter
from falkirk.storage.errors import MalformedVotersError
from falkirk.storage.metadata_quorum import Endpoint, choose_log, find_voters
from falkirk.storage.quorum_state import QuorumState


@dataclass(frozen=True, kw_only=True)
class End:
    epoch: int = 1
    end_offset: int = 10
    kraft_version: int = 0
    voters: VotersRecord | None = None
    quorum_state: QuorumState | None = None


def listed(*ids):
    return VotersRecord(voters=[Voter(node_id, bytes([node_id]) * 16, [ListedEndpoint("C", f"h{node_id}", 9093)])
                                for node_id in ids])  # fmt: skip


def remembering(*ids):
    return QuorumState(data_version=0, leader_epoch=1, current_voters=ids)


def configured(text):
    return [("node 7", text)]


def test_the_latest_log_says_who_votes_where_kraft_version_is_1():
    logs = [
        End(end_offset=5, kraft_version=1, voters=listed(1)),
        End(end_offset=6, kraft_version=1, voters=listed(1, 2)),
    ]
    voters = find_voters(logs, configured("3@h:1"))
    assert (voters.ids, voters.source) == ({1, 2}, "the metadata log")
    assert voters.endpoints[2] == Endpoint(host="h2", port=9093)
    assert voters.directory_ids[1] == bytes([1]) * 16


def test_without_kraft_version_1_the_configuration_comes_before_what_quorum_state_remembers():
    logs = [End(voters=listed(9), quorum_state=remembering(1, 2, 3))]
    voters = find_voters(logs, [("node 6", None), *configured("3@h:1, 4@[::1]:9093")])
    assert (voters.ids, voters.source) == ({3, 4}, "node 7")
    assert voters.endpoints[4] == Endpoint(host="[::1]", port=9093)
    assert find_voters(logs, []).ids == {1, 2, 3}


def test_nothing_may_say_who_votes():
    assert find_voters([End()], configured("")) is None


@pytest.mark.parametrize("text", ["1@h", "h:1", "@h:1", "1@:9093", "1@h:x"])
def test_configured_voters_that_are_none_are_named_with_their_source(text):
    with pytest.raises(MalformedVotersError, match=f"node 7: '{text}' is not <id>@<host>:<port>"):
        find_voters([], configured(text))


def test_the_latest_epoch_goes_before_the_longest_log_and_both_before_the_lowest_id():
    voters = find_voters([], configured("1@h:1,2@h:1,3@h:1"))
    logs = {1: End(epoch=1, end_offset=90), 2: End(epoch=2, end_offset=20), 3: End(epoch=2, end_offset=20)}
    choice = choose_log(logs, voters)
    assert (choice.node_id, choice.voters_here, choice.has_majority) == (2, (1, 2, 3), True)


def test_a_log_of_a_node_that_does_not_vote_counts_only_where_no_voter_is_there():
    voters = find_voters([], configured("1@h:1"))
    assert choose_log({1: End(), 9: End(end_offset=99)}, voters).node_id == 1
    choice = choose_log({8: End(), 9: End(end_offset=99)}, voters)
    assert (choice.node_id, choice.voters_here, choice.has_majority) == (9, (), False)


@pytest.mark.parametrize(("here", "has_majority"), [([1], False), ([1, 2], False), ([1, 2, 3], True)])
def test_a_majority_is_more_than_half_of_the_voters(here, has_majority):
    voters = find_voters([], configured(",".join(f"{node_id}@h:1" for node_id in range(1, 5))))
    assert choose_log({node_id: End() for node_id in here}, voters).has_majority is has_majority


def test_nodes_that_never_ran_and_know_no_voters_have_nothing_to_vote_on():
    choice = choose_log({2: End(end_offset=0), 1: End(end_offset=0)}, None)
    assert (choice.node_id, choice.has_majority) == (1, None)
    assert choose_log({2: End(), 1: End(end_offset=0)}, None).has_majority is False
