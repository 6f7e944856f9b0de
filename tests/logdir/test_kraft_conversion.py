"""Who votes, on the way down and back up, for nodes of all roles."""

import shutil

import pytest
from made_clusters import METADATA, NOW_MS, data_batches, directory_id
from stopped_clusters import DISK, cluster_at, hashes, plan_for, texts

from falkirk.logdir.downgrade import BlockedError, downgrade, downgrade_in_place
from falkirk.logdir.errors import NoMajorityError
from falkirk.logdir.undo import undo
from falkirk.logdir.verify import verify
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages import ConfigRecord, KRaftVersionRecord, VotersRecord
from falkirk.protocol.messages.voters_record import Endpoint, Voter
from falkirk.protocol.record import Record
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.quorum_state import QuorumState, format_quorum_state, parse_quorum_state
from falkirk.storage.snapshot_file import read_snapshot
from falkirk.versions.release import Release

ROLES = [
    pytest.param(((1,), (1,)), id="combined"),
    pytest.param(((1, 2, 3), (1, 2, 3)), id="three combined"),
    pytest.param(((4, 5), (1, 2, 3)), id="controllers and brokers apart"),
    pytest.param(((1, 4), (1, 2)), id="mixed"),
]


def metadata_of(out, node_id):
    [folder] = (out / f"node-{node_id}").glob(f"*/{METADATA}")
    return folder


def snapshot_of(folder):
    [file] = folder.glob("*.checkpoint")
    return read_snapshot(file.read_bytes(), file=str(file))


def quorum_state_of(folder):
    return parse_quorum_state((folder / "quorum-state").read_bytes())


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("kraft_version", [0, 1])
@pytest.mark.parametrize("to", ["3.9", "3.8", "3.7-IV2"])
def test_nodes_of_all_roles_come_down_and_back_up(made_cluster, tmp_path, roles, kraft_version, to):
    brokers, voters = roles
    made = made_cluster(
        brokers=brokers, voters=voters, kraft_version=kraft_version, log_dirs=2, partitions={"t-0": data_batches()}
    )
    before, image = hashes(made.root), cluster_at(made.root).image
    plan = plan_for(to, made.root)
    result = downgrade(DISK, plan, tmp_path / "out")
    assert hashes(made.root) == before

    lowered = kraft_version == 1 and to != "3.9"
    expected = ",".join(f"{voter}@host{voter}:9093" for voter in voters) if lowered else None
    nodes = result.as_json()["nodes"]
    assert [node["node_id"] for node in nodes] == made.nodes
    assert [node.get("controller.quorum.voters") for node in nodes] == [expected] * len(nodes)
    for node in nodes:
        assert len(node["log_dirs"]) == (2 if node["node_id"] in brokers else 1)
        folder = metadata_of(tmp_path / "out", node["node_id"])
        snapshot, state = snapshot_of(folder), quorum_state_of(folder)
        assert (snapshot.kraft_version or 0) == (0 if lowered else kraft_version)
        assert state.data_version == (0 if lowered else kraft_version)
        assert state.leader_epoch == 1
        if state.data_version == 0:
            assert state.current_voters == voters
            assert snapshot.voters is None
    assert verify(DISK, cluster_at(tmp_path / "out"), plan.target.release).problems == []

    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    restored = cluster_at(tmp_path / "back")
    assert back.conflicts == ()
    assert restored.image.has_same_content(image)
    assert (restored.kraft_version, restored.voters.ids) == (kraft_version, set(voters))
    if kraft_version:
        assert restored.voters.directory_ids == {voter: directory_id(voter) for voter in voters}
        assert snapshot_of(metadata_of(tmp_path / "back", voters[0])).voters == made._voters()
    assert verify(DISK, restored, Release.parse("4.3")).problems == []


@pytest.mark.parametrize("to", ["3.9", "3.8"])
@pytest.mark.parametrize(
    "election",
    [
        pytest.param((1, 1, False), id="somebody else won"),
        pytest.param((1, 7, False), id="somebody else won an epoch that is not in the log"),
        pytest.param((-1, 1, False), id="it never heard who won the log's epoch"),
        pytest.param((-1, 7, True), id="nobody has won yet"),
    ],
)
def test_a_vote_is_kept_for_as_long_as_its_election_is_open(made_cluster, tmp_path, to, election):
    leader, epoch, kept = election
    made = made_cluster(voters=(1, 2, 3))
    cast = QuorumState(
        data_version=1, leader_id=leader, leader_epoch=epoch, voted_id=3, voted_directory_id=directory_id(3)
    )
    (made.metadata(3) / "quorum-state").write_bytes(format_quorum_state(cast))
    downgrade(DISK, plan_for(to, made.root), tmp_path / "out")
    state = quorum_state_of(metadata_of(tmp_path / "out", 3))
    assert (state.leader_id, state.leader_epoch) == (leader, epoch)
    directory = directory_id(3) if kept and to == "3.9" else ZERO_UUID
    assert (state.voted_id, state.voted_directory_id) == (3 if kept else -1, directory)


def test_in_place_all_nodes_change_together(made_cluster, tmp_path):
    made = made_cluster(brokers=(4, 5), voters=(1, 2), log_dirs=2, partitions={"t-0": data_batches()})
    downgrade(DISK, plan_for("3.7", made.root), tmp_path / "out")
    result = downgrade_in_place(DISK, plan_for("3.7", made.root))
    for node in result.as_json()["nodes"]:
        for number, log_dir in enumerate(node["log_dirs"]):
            assert log_dir["path"] == log_dir["source"]
            found = hashes(made.log_dir(node["node_id"], number))
            del found[".lock"]
            assert found == hashes(tmp_path / "out" / f"node-{node['node_id']}" / f"d{number}")
    assert result.bundle == made.folder(1) / "d0.falkirk-undo" / "undo-bundle.zip"
    assert result.bundle.is_file()


def test_addresses_of_ipv6_hosts_stand_in_brackets(made_cluster):
    made = made_cluster(voter_host="::1")
    assert plan_for("3.8", made.root).kraft.quorum_voters == "1@[::1]:9093"


def test_a_voter_without_an_address_is_in_the_way(made_cluster, tmp_path):
    made = made_cluster(voters=(1, 2), voter_host=None)
    plan = plan_for("3.8", made.root)
    assert texts(plan.blockers) == [
        "voter 1 has no address in the log, which 3.8-IV0 (Kafka 3.8) needs",
        "voter 2 has no address in the log, which 3.8-IV0 (Kafka 3.8) needs",
    ]
    with pytest.raises(BlockedError, match="voter 1 has no address"):
        downgrade(DISK, plan, tmp_path / "out", unsafe=True)
    assert plan_for("3.9", made.root).blockers == ()


def test_a_node_that_votes_with_another_directory_is_in_the_way(made_cluster):
    made = made_cluster(voters=(1, 2, 3))
    meta = made.log_dir(2) / "meta.properties"
    other = uuid_text(bytes([99]) * 16)
    meta.write_text(meta.read_text().replace(uuid_text(directory_id(2)), other))
    [blocker] = plan_for("3.8", made.root).blockers
    assert blocker.text == (
        f"node 2 votes with directory {uuid_text(directory_id(2))}, and {made.log_dir(2)} is directory {other}: "
        "with static voters they cannot be distinguished"
    )


def test_the_conversion_is_told(made_cluster):
    made = made_cluster()
    [told] = plan_for("3.8", made.root).conversions
    assert told.text == (
        "kraft.version 1 becomes 0: Kafka 3.8 does not support kraft.version 1; "
        "set controller.quorum.voters=1@host1:9093 on every node"
    )
    assert plan_for("3.9", made.root).conversions == []


def test_kraft_version_goes_where_the_level_is_too_low_for_it_in_the_release_that_will_run(made_cluster):
    made = made_cluster()
    kraft = plan_for("3.8", made.root, read_by="4.0").kraft
    assert (kraft.after, kraft.reason) == (0, "kraft.version 1 needs metadata.version 21 in Kafka 4.0")
    assert kraft.quorum_voters == "1@host1:9093"


def test_the_last_voters_of_the_log_count(made_cluster, tmp_path):
    made = made_cluster(brokers=(1, 2), voters=(1,))
    added = [*made._voters().voters, Voter(2, directory_id(2), [Endpoint("CONTROLLER", "added", 9093)])]
    control = [
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
        (ControlRecordType.KRAFT_VOTERS, VotersRecord(voters=added)),
    ]
    log, end = made.metadata(1) / "00000000000000000000.log", cluster_at(made.root).end_offset
    records = [Record(end + at, NOW_MS, *encode_control_record(*each)) for at, each in enumerate(control)]
    log.write_bytes(log.read_bytes() + build_batch(records, base_offset=end, leader_epoch=1, is_control=True))
    with pytest.raises(NoMajorityError, match=r"1 of the 2 voters \[1, 2\] \(from the metadata log\)"):
        cluster_at(made.folder(1))
    shutil.copy(made.metadata(1) / "00000000000000000000.log", made.metadata(2) / "00000000000000000000.log")
    assert plan_for("3.8", made.root).kraft.quorum_voters == "1@host1:9093,2@added:9093"
    downgrade(DISK, plan_for("3.9", made.root), tmp_path / "out")
    assert snapshot_of(metadata_of(tmp_path / "out", 1)).voters.voters == added


def test_a_voter_that_was_killed_hard_takes_the_longest_log_as_an_election_would(made_cluster, tmp_path):
    made = made_cluster(voters=(1, 2, 3), brokers=(4,))
    made.append((ConfigRecord(4, "4", "a", "1"), 0))
    made.append((ConfigRecord(4, "4", "b", "2"), 0), nodes=[2, 3])
    log = made.metadata(3) / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-4])
    plan = plan_for("3.9", made.root)
    assert plan.cluster.chosen == 2
    downgrade(DISK, plan, tmp_path / "out")
    names = {file.name for file in (tmp_path / "out").glob(f"node-*/d0/{METADATA}/*.checkpoint")}
    assert names == {f"{plan.cluster.end_offset:020}-0000000001.checkpoint"}
    settings = cluster_at(tmp_path / "out").image.configs
    assert [(name, value) for _, name, value in settings] == [("a", "1"), ("b", "2")]
