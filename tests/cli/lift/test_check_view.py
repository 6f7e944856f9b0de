"""The text of a check that could not see everything."""

from falkirk.cli.lift.check_view import CheckView
from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.groups.listing import GroupListing
from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.logdir.target import parse_target
from falkirk.operations.lift_check import check_lift
from falkirk.operations.lift_observation import METADATA, Observation, Unseen
from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.supported_range import SupportedRange

ANSWER = NodeVersions(
    api_ranges={},
    supported_features={"metadata.version": SupportedRange(7, 30)},
    finalized_features={"metadata.version": FinalizedVersionRange(30, 30)},
    finalized_features_epoch=9,
)
VOTER = ReplicaState(
    node_id=1, directory_id=bytes(16), log_end_offset=10, last_fetch_timestamp=None, last_caught_up_timestamp=None
)


def test_the_verdict_comes_first_and_what_was_not_seen_last():
    seen = Observation(
        cluster_id="c",
        bootstrap=(Endpoint("two", 9092),),
        brokers=(ClusterNode(node_id=2, endpoint=Endpoint("two", 9092), is_fenced=True),),
        quorum=QuorumDescription(
            leader_id=1,
            leader_epoch=3,
            high_watermark=10,
            voter_states=(VOTER,),
            observer_states=(),
            voter_listeners={},
        ),
        answers={1: ANSWER, 2: ConnectionFailedError(Endpoint("two", 9092), "cannot connect")},
        groups=(GroupListing(group_id="g", protocol_type="consumer", type="Classic", state="Empty"),),
        unseen=(Unseen(what=METADATA, reason="refused", needs="CLUSTER_ACTION on the cluster"),),
    )
    lines = list(CheckView(check_lift(seen, None, parse_target("3.9")), is_kept=False).text())
    assert lines[:5] == [
        "Cluster c: metadata.version 4.3-IV0 -> 3.9-IV0 (Kafka 3.9)",
        "Blocked: 1 thing is in the way.",
        "In the way:",
        "  what would be lost is not known: the metadata log: refused (needs CLUSTER_ACTION on the cluster)",
        "    what to do: docs/runbooks/blockers.md#incomplete_metadata",
    ]
    assert "  voter 1 at an unknown address" in lines
    assert "  1 controller at an unknown address: 3.3-IV3 to 4.3-IV0" in lines
    assert "  2 broker at two:9092: does not answer, fenced, bootstrap" in lines
    assert "Groups: 1 classic empty" in lines
    at = lines.index("The way: in place, majority")
    assert lines[at + 1].startswith("  needs falkirk on the machines of a majority")
    assert lines[at + 2] == "  `falkirk lift run` goes it with `place: in-place`, in these steps:"
    assert "  `falkirk lift run` goes it with `place: in-place-of-one`, in these steps:" in lines[at + 3 :]
    assert lines[-2:] == ["Not seen:", "  the metadata log: refused (needs CLUSTER_ACTION on the cluster)"]
