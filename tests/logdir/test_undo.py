"""Down, on with its life, and back up: what was dropped comes back, what is newer stays."""

import pytest
from controllers import controller_of
from live_bundles import live_bundle_bytes
from made_clusters import NOW_MS, TOPIC_ID, append_metadata, data_batches, directory_id
from stopped_clusters import DISK, cluster_at, hashes, plan_for, texts

from falkirk.logdir.bundle import BundleError
from falkirk.logdir.downgrade import downgrade
from falkirk.logdir.errors import OutputError, TargetError
from falkirk.logdir.undo import undo
from falkirk.logdir.verify import verify
from falkirk.metadata.image.difference import differences
from falkirk.metadata.levels.feature_scrubbing import scrub_eligible_leader_replicas
from falkirk.metadata.levels.lowering import lowering_options
from falkirk.metadata.levels.writer import assess
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveAccessControlEntryRecord,
    TopicRecord,
)
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

ACL_ID = bytes([9]) * 16
OTHER_TOPIC = bytes([5]) * 16
ELR = {"isr": (), "leader": -1, "eligible_leader_replicas": (2,), "leader_epoch": 3}
LAST_KNOWN = {"isr": (), "leader": -1, "last_known_elr": (1,), "leader_epoch": 3}


@pytest.fixture
def made(made_cluster):
    """Everything of a 4.4 cluster that 3.7-IV0 has no place for."""
    partitions = {f"t-{number}": data_batches() for number in range(3)}
    made = made_cluster(level=33, brokers=(1, 2), log_dirs=2, partitions=partitions)
    broker = RegisterBrokerRecord(
        broker_id=2,
        broker_epoch=2,
        fenced=False,
        log_dirs=(directory_id(2, 0), directory_id(2, 1)),
        cordoned_log_dirs=(directory_id(2, 1),),
    )
    made.append(
        (broker, 4),
        (FeatureLevelRecord("group.version", 1), 0),
        (FeatureLevelRecord("eligible.leader.replicas.version", 1), 0),
        (AccessControlEntryRecord(ACL_ID, 2, "t", 3, "User:u", "10.0.0.0/8", 3, 2), 0),
        (made.partition(1, **ELR), 2),
        (made.partition(2, **LAST_KNOWN), 2),
    )
    return made


def test_a_plan_says_what_becomes_of_eligible_leader_replicas(made):
    plan = plan_for("3.9", made.root)
    assert texts(plan.conversions) == [
        "topic t partition 1: ISR [] becomes [2], leader -1",
        "topic t partition 2: ISR [] becomes [1], leader -1, recovering",
    ]
    kinds = {loss.key: loss.kind for loss in plan.losses}
    assert kinds["topic t partition 1"] == "elr_to_isr"
    assert kinds["topic t partition 2"] == "last_known_leader_to_isr"


@pytest.mark.parametrize("to", ["4.3", "4.2", "4.0-IV0", "3.9", "3.7-IV0"])
def test_everything_that_was_dropped_is_there_again(made, tmp_path, to):
    plan = plan_for(to, made.root)
    assert not plan.is_lossless
    result = downgrade(DISK, plan, tmp_path / "out", unsafe=True)
    lowered = cluster_at(tmp_path / "out")
    assert verify(DISK, lowered, plan.target.release).problems == []
    back = undo(DISK, lowered, result.bundle, tmp_path / "back")
    restored = cluster_at(tmp_path / "back")
    assert back.conflicts == ()
    assert list(differences(plan.cluster.image, restored.image)) == []
    assert verify(DISK, restored, Release.parse("4.4")).problems == []


def run_on(out, *records):
    for metadata in out.glob("node-*/d0/__cluster_metadata-0"):
        append_metadata(metadata, records)


def test_a_cluster_that_ran_since_keeps_what_is_newer_and_gets_the_rest_back(made, tmp_path):
    result = downgrade(DISK, plan_for("3.7-IV0", made.root), tmp_path / "out", unsafe=True)
    run_on(
        tmp_path / "out",
        (RegisterBrokerRecord(broker_id=1, broker_epoch=50, fenced=False, rack="r"), 2),
        (PartitionChangeRecord(1, TOPIC_ID, isr=(1, 2), leader=2), 0),
        (RemoveAccessControlEntryRecord(ACL_ID), 0),
        (TopicRecord("new", OTHER_TOPIC), 0),
        (PartitionRecord(0, OTHER_TOPIC, (1,), (1,), leader=1, leader_epoch=0, partition_epoch=0), 0),
        (ConfigRecord(2, "t", "retention.ms", "5"), 0),
        (FeatureLevelRecord("group.version", 1), 0),
    )
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert sorted(back.conflicts) == [
        f"acl {acl_text()}: removed since, and not brought back",
        "topic t partition 1: it had leaders since; its eligible leader replicas of then are void",
    ]
    image = cluster_at(tmp_path / "back").image
    assert image.features.metadata_version.level == 33
    assert dict(image.features.finalized) == {"group.version": 1, "eligible.leader.replicas.version": 1}
    first, second = image.cluster.brokers[1], image.cluster.brokers[2]
    assert (first.broker_epoch, first.rack, first.log_dirs) == (50, "r", (directory_id(1, 0), directory_id(1, 1)))
    assert second.cordoned_log_dirs == (directory_id(2, 1),)
    topic = image.topics.topic("t")
    assert (topic.partition(1).isr, topic.partition(1).leader, topic.partition(1).leader_epoch) == ((1, 2), 2, 4)
    assert topic.partition(1).directories == (directory_id(1, 1), directory_id(2, 1))
    assert topic.partition(2).last_known_elr == (1,)
    assert image.topics.topic("new") is not None
    assert [(name, value) for _, name, value in image.configs] == [("retention.ms", "5")]
    assert image.counts()["acls"] == 0


def acl_text():
    return uuid_text(ACL_ID)


def test_a_cluster_that_was_upgraded_part_of_the_way_goes_the_rest(made, tmp_path):
    result = downgrade(DISK, plan_for("3.7-IV0", made.root), tmp_path / "out", unsafe=True)
    run_on(tmp_path / "out", (FeatureLevelRecord("metadata.version", 21), 0))
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert (str(back.before), str(back.after), back.conflicts) == ("3.9-IV0", "4.4-IV2", ())
    assert list(differences(cluster_at(made.root).image, cluster_at(tmp_path / "back").image)) == []


def test_a_cluster_above_the_bundles_level_is_refused(made, made_cluster, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    lower = downgrade(DISK, plan_for("3.9", tmp_path / "out"), tmp_path / "lower", unsafe=True)
    with pytest.raises(TargetError, match=r"metadata\.version is 4\.4-IV2, and the bundle leads back to 4\.0-IV3"):
        undo(DISK, cluster_at(made.root), lower.bundle, tmp_path / "back")
    assert result.bundle != lower.bundle


def test_two_downgrades_are_undone_one_after_the_other(made, tmp_path):
    first = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "a", unsafe=True)
    second = downgrade(DISK, plan_for("3.7-IV0", tmp_path / "a"), tmp_path / "b", unsafe=True)
    undo(DISK, cluster_at(tmp_path / "b"), second.bundle, tmp_path / "a2")
    assert list(differences(cluster_at(tmp_path / "a").image, cluster_at(tmp_path / "a2").image)) == []
    undo(DISK, cluster_at(tmp_path / "a2"), first.bundle, tmp_path / "made2")
    assert list(differences(cluster_at(made.root).image, cluster_at(tmp_path / "made2").image)) == []


def test_undo_never_changes_what_it_reads_and_never_writes_over(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    before = hashes(tmp_path)
    with pytest.raises(OutputError, match="out: not empty"):
        undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "out")
    with pytest.raises(BundleError, match="No such file"):
        undo(DISK, cluster_at(tmp_path / "out"), tmp_path / "gone.zip", tmp_path / "back")
    assert hashes(tmp_path) == before
    undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert {path: value for path, value in hashes(tmp_path).items() if not path.startswith("back/")} == before


def lower_live(source, levels, folder):
    """Let the active controller lower features, on directories that then hold what it appended; give image and bundle.

    Appended are what scrubs them, and metadata.version last.
    """
    cluster = cluster_at(source)
    image = cluster.image
    voters = cluster.log.voters
    data = live_bundle_bytes(
        image, levels, cluster_id=cluster.cluster_id, kraft_version=cluster.kraft_version, voters=voters
    )
    (folder / "live.zip").write_bytes(data)
    others = [(FeatureLevelRecord(name, level), 0) for name, level in levels.items() if name != "metadata.version"]
    scrubbing = scrub_eligible_leader_replicas(image).records if ELR_FEATURE in levels else ()
    records = [*scrubbing, *others, (FeatureLevelRecord("metadata.version", levels["metadata.version"]), 0)]
    controller = controller_of(image)
    end_offset = image.provenance.end_offset + len(records)
    controller.replay(records, end_offset=end_offset, now_ms=NOW_MS)
    for node in cluster.nodes:
        if node.node_id == cluster.chosen:
            append_metadata(node.metadata_dir.path / "__cluster_metadata-0", records)
    assert cluster_at(source).image.has_same_content(controller.state.image)
    return image, folder / "live.zip"


ELR_FEATURE = "eligible.leader.replicas.version"
ALL_LOWERED = {
    ELR_FEATURE: 0,
    "group.version": 0,
    "share.version": 0,
    "streams.version": 0,
    "transaction.version": 0,
}


@pytest.mark.parametrize("others", [{}, ALL_LOWERED], ids=["metadata.version alone", "all features"])
@pytest.mark.parametrize(
    ("name", "level"), [("4.4.0", 15), ("4.4.0", 30), ("4.3.1", 21), ("elr-4.3.1", 21), ("4.0.0", 19)]
)
def test_a_real_cluster_that_was_lowered_while_it_ran_gets_everything_back(own_metadata, tmp_path, name, level, others):
    source = own_metadata(name)
    before, bundle = lower_live(source, {**others, "metadata.version": level}, tmp_path)
    lowered = cluster_at(source)
    assert lowered.image.features.metadata_version.level == level

    back = undo(DISK, lowered, bundle, tmp_path / "back")
    restored = cluster_at(tmp_path / "back").image
    assert back.conflicts == ()
    # Live replicas had to notice what became of their eligible leader replicas.
    has_elr = level >= 23 and not others
    eligible = set() if has_elr else {loss.key for loss in scrub_eligible_leader_replicas(before).report.losses}
    found = list(differences(before, restored))
    assert {each.key for each in found} == eligible
    assert all(list(each.after) == ["partition_epoch"] for each in found)


def test_a_cluster_that_was_lowered_while_it_ran_gets_everything_back(made, tmp_path):
    before, bundle = lower_live(made.root, {"group.version": 0, "metadata.version": 15}, tmp_path)
    assert losses_of(before, 15) >= {"elr_to_isr", "last_known_leader_to_isr", "broker_log_dirs", "cidr_deny_acl"}

    back = undo(DISK, cluster_at(made.root), bundle, tmp_path / "back")
    restored = cluster_at(tmp_path / "back").image
    assert back.conflicts == ()
    assert [(each.key_text, each.before, each.after) for each in differences(before, restored)] == [
        ("topic t partition 1", {"partition_epoch": 0}, {"partition_epoch": 1}),
        ("topic t partition 2", {"partition_epoch": 0}, {"partition_epoch": 1}),
    ]


def losses_of(image, level):
    options = lowering_options(MetadataVersion.of_level(level))
    return {loss.kind for loss in assess(image, options).losses}
