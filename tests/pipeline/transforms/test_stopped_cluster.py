"""What stands in the way of one cluster's downgrade, told from what tables say of it."""

import pytest
from stopped_clusters import texts

from falkirk.pipeline.transforms.stopped_cluster import StoppedCluster
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

AT_3_9 = (MetadataVersion.parse("3.9"), Release.parse("3.9"))
AT_3_8 = (MetadataVersion.parse("3.8"), Release.parse("3.8"))


def voter(voter_id, directory="D", host="host", port=9093):
    return {"voter_id": voter_id, "directory_id": directory, "host": host, "port": port}


def cluster(**fields):
    sound = {
        "metadata_version": 30, "kraft_version": 1, "has_majority": True, "is_complete": True, "nodes": [1, 2],
        "voters": [1], "dynamic_voters": [voter(1)], "registered": [1, 2],
        "registered_dirs": [{"broker_id": 2, "log_dirs": ["E", "F"]}], "directories": ["D", "E", "F"],
        "metadata_dirs": [{"node_id": 1, "directory_id": "D"}, {"node_id": 2, "directory_id": "E"}],
    }  # fmt: skip
    return StoppedCluster(**sound | fields)


def test_nothing_stands_in_the_way_of_a_sound_cluster():
    assert (texts(cluster().blockers(*AT_3_8)), texts(cluster().warnings())) == ([], [])


def test_of_a_cluster_that_never_ran_little_is_known_and_nothing_is_in_the_way():
    unknown = dict.fromkeys(("voters", "dynamic_voters", "registered", "registered_dirs", "directories"))
    made = cluster(kraft_version=0, has_majority=None, metadata_dirs=None, **unknown)
    assert (texts(made.blockers(*AT_3_8)), texts(made.warnings())) == ([], [])


@pytest.mark.parametrize(
    ("fields", "blocker"),
    [
        ({"metadata_version": None}, "no metadata.version is finalized"),
        (
            {"metadata_version": 20},
            "metadata.version is 3.8-IV0, and 3.9-IV0 is above it: upgrade the running cluster with kafka-features",
        ),
        ({"has_majority": False}, "no majority of the voters is here: another node may have a newer log"),
        ({"is_complete": False}, "the metadata could not be read to its end: the table problems says why"),
    ],
)
def test_what_must_be_settled_first_is_told(fields, blocker):
    assert texts(cluster(**fields).blockers(*AT_3_9)) == [blocker]


@pytest.mark.parametrize("voters", [[voter(1, host=None, port=None)], [], None])
def test_a_voter_without_an_address_blocks_where_voters_leave_the_log(voters):
    made = cluster(dynamic_voters=voters)
    assert texts(made.blockers(*AT_3_9)) == []
    assert texts(made.blockers(*AT_3_8)) == ["voter 1 has no address in the log, which 3.8-IV0 (Kafka 3.8) needs"]


@pytest.mark.parametrize(
    ("voting", "here", "blocks"),
    [("D", "D", 0), ("D", "X", 1), ("A" * 22, "X", 0), (None, "X", 0), ("D", None, 0)],
)
def test_a_node_with_another_directory_than_it_votes_with_blocks_where_voters_leave_the_log(voting, here, blocks):
    made = cluster(
        dynamic_voters=[voter(1, voting)], metadata_dirs=[{"node_id": 1, "directory_id": here}],
        directories=["E", "F"],
    )  # fmt: skip
    assert texts(made.blockers(*AT_3_9)) == []
    found = texts(made.blockers(*AT_3_8))
    assert found == [
        "node 1 votes with directory D, and X is here: with static voters they cannot be distinguished"
    ][:blocks]  # fmt: skip


def test_voters_are_named_in_order_with_their_addresses():
    voters = [voter(10, host="::1"), voter(9, host="h"), voter(11, host=None)]
    assert cluster(dynamic_voters=voters).quorum_voters() == "9@h:9093,10@[::1]:9093"


def test_nodes_and_log_dirs_that_are_not_here_are_told():
    made = cluster(registered=[1, 2, 30], voters=[1, 4], directories=["D", "F"])
    nodes, log_dirs = texts(made.warnings())
    assert nodes.startswith("nodes 4, 30 belong to the cluster and are not here: before one of them starts again")
    assert log_dirs == "node 2 is registered with log directories that are not here: E"


def test_log_dirs_of_a_node_that_is_not_here_are_not_told_beside_it():
    [nodes] = texts(cluster(nodes=[1], directories=["D"]).warnings())
    assert nodes.startswith("node 2 belongs to the cluster and is not here: ")
