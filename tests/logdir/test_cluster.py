import shutil

import pytest
from stopped_clusters import DISK, cluster_at

from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.errors import DamagedLogError, NoMajorityError
from falkirk.logdir.locate import find_nodes
from falkirk.metadata.records.errors import RecordError
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.metadata_record import encode_frame
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.segment import SegmentReader

LOG = "__cluster_metadata-0/00000000000000000000.log"


@pytest.mark.parametrize(
    ("name", "level", "end_offset", "kraft_version"),
    [("3.7.2", 19, 767, 0), ("3.9.1", 21, 637, 0), ("4.0.0", 25, 685, 0), ("4.3.1", 30, 924, 1), ("4.4.0", 33, 969, 1)],
)
def test_a_stopped_node_tells_its_level_and_end(kafka_directory, name, level, end_offset, kraft_version):
    cluster = cluster_at(kafka_directory(name))
    assert cluster.image.features.metadata_version.level == level
    assert (cluster.end_offset, cluster.epoch, cluster.kraft_version) == (end_offset, 1, kraft_version)
    assert cluster.voters.ids == {1}
    assert cluster.problems == ()


@pytest.mark.parametrize(("name", "level"), [("3.7.2", 19), ("3.9.1", 21), ("4.0.0", 25), ("4.3.1", 30), ("4.4.0", 33)])
def test_a_formatted_node_that_never_ran_is_known_by_its_bootstrap_records(kafka_directory, name, level):
    cluster = cluster_at(kafka_directory(f"{name}-formatted"))
    assert cluster.image.features.metadata_version.level == level
    assert cluster.end_offset == 0


def as_voters(directory, nodes, voters):
    """Make static voters of copies of one node, as a cluster of kraft.version 0 has them."""
    copies = []
    for node_id in nodes:
        copy = directory.with_name(f"node-{node_id}")
        shutil.copytree(directory, copy)
        for meta in copy.glob("*/meta.properties"):
            text = meta.read_text().replace("node.id=1\n", f"node.id={node_id}\n")
            unique = f"directory.id={chr(ord('A') + node_id)}"
            meta.write_text("\n".join(unique + line[14:] if line.startswith("directory.id=") else line
                                      for line in text.splitlines()) + "\n")  # fmt: skip
        state = QuorumState(data_version=0, leader_epoch=1, current_voters=tuple(voters))
        [metadata] = copy.glob("*/__cluster_metadata-0")
        (metadata / "quorum-state").write_bytes(format_quorum_state(state))
        copies.append(copy)
    return copies


def cut_log(directory, batches):
    """Leave only the first batches of the metadata log, and no snapshot behind them."""
    [metadata] = directory.glob("*/__cluster_metadata-0")
    log = metadata / "00000000000000000000.log"
    reader = SegmentReader(log.read_bytes(), file="log", base_offset=0)
    end = [batch.end_position for batch in reader][batches - 1]
    log.write_bytes(log.read_bytes()[:end])
    for snapshot in metadata.glob("*.checkpoint"):
        snapshot.unlink()


def test_the_longest_log_among_a_majority_counts(own_metadata):
    nodes = as_voters(own_metadata("4.0.0"), [1, 2, 3], [1, 2, 3])
    cut_log(nodes[0], 100)
    cut_log(nodes[2], 50)
    cluster = cluster_at(*nodes)
    assert (cluster.chosen, cluster.end_offset) == (2, 685)
    assert read_cluster(DISK, find_nodes([nodes[0], nodes[2]])).chosen == 1


def test_a_minority_of_the_voters_is_refused_by_name(own_metadata):
    nodes = as_voters(own_metadata("4.0.0"), [1], [1, 2, 3])
    with pytest.raises(NoMajorityError, match=r"1 of the 3 voters \[1, 2, 3\].*a majority is 2.*node 2 or 3"):
        cluster_at(*nodes)
    # Of one node alone, before its release is changed, its own log is asked.
    assert read_cluster(DISK, find_nodes(nodes), needs_majority=False).end_offset == 685


@pytest.mark.parametrize(("voters", "here"), [((1, 2), (1,)), ((1, 2, 3, 4), (1, 2)), ((1, 2, 3, 4, 5), (4, 5))])
def test_half_of_the_voters_or_less_is_no_majority(made_cluster, voters, here):
    made = made_cluster(voters=voters, brokers=(9,))
    with pytest.raises(NoMajorityError, match=f"{len(here)} of the {len(voters)} voters"):
        cluster_at(*(made.folder(node_id) for node_id in (*here, 9)))
    one_more = next(node_id for node_id in voters if node_id not in here)
    assert cluster_at(*(made.folder(node_id) for node_id in (*here, one_more))).chosen in voters


def test_a_brokers_own_copy_of_the_metadata_never_counts(made_cluster):
    made = made_cluster(voters=(1,), brokers=(9,))
    made.append((FeatureLevelRecord("group.version", 1), 0), nodes=[9])
    cluster = cluster_at(made.root)
    assert cluster.chosen == 1
    assert "group.version" not in cluster.image.features.finalized


def test_voters_may_come_from_the_configuration(own_metadata):
    directory = own_metadata("4.0.0")
    for state in directory.glob("*/__cluster_metadata-0/quorum-state"):
        state.unlink()
    with pytest.raises(NoMajorityError, match="the voters are not known"):
        cluster_at(directory)
    properties = directory.parent / "server.properties"
    properties.write_text(f"log.dirs={','.join(str(d) for d in directory.iterdir())}\n"
                          "controller.quorum.voters=1@127.0.0.1:9093\n")  # fmt: skip
    cluster = cluster_at(properties)
    assert cluster.voters.endpoints[1].port == 9093
    properties.write_text(properties.read_text().replace("1@127.0.0.1:9093", "1@nowhere"))
    with pytest.raises(DamagedLogError, match="'1@nowhere' is not <id>@<host>:<port>"):
        cluster_at(properties)


def test_a_torn_tail_ends_the_log_and_is_told(own_metadata):
    directory = own_metadata("4.3.1")
    log = directory / "d0" / LOG
    log.write_bytes(log.read_bytes()[:-5])
    cluster = cluster_at(directory)
    assert cluster.end_offset == 923
    assert [problem for problem in cluster.problems if "torn at byte" in problem.text]


def test_a_flipped_bit_is_refused_with_file_and_byte(own_metadata):
    directory = own_metadata("4.3.1")
    log = directory / "d0" / LOG
    data = bytearray(log.read_bytes())
    data[5000] ^= 1
    log.write_bytes(data)
    with pytest.raises(CorruptFileError, match=r"00000000000000000000\.log: .*CRC.*\(byte \d+\)"):
        cluster_at(directory)


def test_a_gap_between_snapshot_and_log_is_refused(own_metadata):
    directory = own_metadata("4.3.1")
    metadata = directory / "d0" / "__cluster_metadata-0"
    for snapshot in metadata.glob("*.checkpoint"):
        snapshot.unlink()
    (metadata / "00000000000000000000.log").rename(metadata / "00000000000000000190.log")
    data = (metadata / "00000000000000000190.log").read_bytes()
    batches = [b for b in SegmentReader(data, file="log", base_offset=0) if b.base_offset >= 190]
    (metadata / "00000000000000000190.log").write_bytes(b"".join(bytes(batch.data) for batch in batches))
    with pytest.raises(DamagedLogError, match="the log begins at offset 190, and nothing holds what is before it"):
        cluster_at(directory)


def test_an_older_snapshot_makes_up_for_a_damaged_one(own_metadata):
    directory = own_metadata("4.3.1")
    whole = cluster_at(directory).image
    newest = max((directory / "d0" / "__cluster_metadata-0").glob("*.checkpoint"))
    data = bytearray(newest.read_bytes())
    data[500] ^= 1
    newest.write_bytes(data)
    cluster = cluster_at(directory)
    assert cluster.image.has_same_content(whole)
    assert any(newest.name in problem.text for problem in cluster.problems)


def append_record(directory, value):
    log = directory / "d0" / LOG
    record = Record(924, 1_800_000_000_000, None, value)
    log.write_bytes(log.read_bytes() + build_batch([record], base_offset=924, leader_epoch=1))


def test_an_unknown_record_stops_everything_by_type_and_offset(own_metadata):
    directory = own_metadata("4.3.1")
    append_record(directory, encode_frame(99, 0))
    with pytest.raises(RecordError, match=r"99.*at offset 924 of .*00000000000000000000\.log"):
        cluster_at(directory)


def test_three_nodes_with_dynamic_voters_agree_as_far_as_they_go(kafka_directory):
    cluster = cluster_at(kafka_directory("elr-4.3.1"))
    assert (cluster.chosen, cluster.kraft_version, cluster.voters.ids) == (1, 1, {1})
    assert {node_id: log.end_offset for node_id, log in cluster.logs.items()} == {1: 453, 2: 415, 3: 110}
