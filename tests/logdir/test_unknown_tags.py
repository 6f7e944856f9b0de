"""Tagged fields that no release knows: told on the way down, back again after the way up."""

import pytest
from made_clusters import TOPIC_ID, append_metadata, data_batches, directory_id
from stopped_clusters import DISK, cluster_at, plan_for

from falkirk.logdir.downgrade import DataWouldBeLostError, downgrade
from falkirk.logdir.undo import undo
from falkirk.logdir.unknown_tags import put_back
from falkirk.metadata.records.record_key import broker_key, topic_key
from falkirk.metadata.undo.undo_bundle import KeptTag
from falkirk.protocol.messages import (
    ClientQuotaRecord,
    PartitionChangeRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint

TAGS = ((77, b"later"),)


def tags_of(image):
    return {
        key.text(): [(tag.record, tag.path.partition("[")[0], tag.tag, tag.data) for tag in tags]
        for key, tags in image.unknown_tags.tags.items()
    }


@pytest.fixture
def made(made_cluster):
    made = made_cluster(partitions={"t-0": data_batches()})
    points = [BrokerEndpoint(name, "h", 9092) for name in ("Z", "A")]
    points[0].unknown_tagged_fields = TAGS
    entity = EntityData("user", "u")
    entity.unknown_tagged_fields = TAGS
    made.append(
        (TopicRecord("u", bytes([5]) * 16, unknown_tagged_fields=TAGS), 0),
        (ClientQuotaRecord([entity], "request_percentage", 5.0, unknown_tagged_fields=TAGS), 0),
        (ProducerIdsRecord(1, 1, 1000, unknown_tagged_fields=TAGS), 0),
        (
            RegisterBrokerRecord(
                broker_id=1,
                broker_epoch=2,
                end_points=points,
                log_dirs=(directory_id(1),),
                unknown_tagged_fields=TAGS,
            ),
            4,
        ),
    )
    return made


def test_unknown_tags_are_losses_with_their_places(made):
    plan = plan_for("4.0", made.root)
    losses = [loss for loss in plan.losses if loss.kind == "unknown_tagged_field"]
    assert sorted((loss.key, loss.record, loss.before["path"], loss.offset) for loss in losses) == [
        ("broker 1", "RegisterBrokerRecord", "", 8),
        ("broker 1", "RegisterBrokerRecord", "endPoints[0]", 8),
        ("producer ids", "ProducerIdsRecord", "", 7),
        ("quota request_percentage of user u", "ClientQuotaRecord", "", 6),
        ("quota request_percentage of user u", "ClientQuotaRecord", "entity[0]", 6),
        ("topic u", "TopicRecord", "", 5),
    ]
    with pytest.raises(DataWouldBeLostError):
        downgrade(DISK, plan, made.root.parent / "out")


def test_undo_puts_every_one_back_where_it_was(made, tmp_path):
    before = cluster_at(made.root).image
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    assert tags_of(cluster_at(tmp_path / "out").image) == {}
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert back.conflicts == ()
    after = cluster_at(tmp_path / "back").image
    assert {key: sorted(tags) for key, tags in tags_of(after).items()} == {
        key: sorted(tags) for key, tags in tags_of(before).items()
    }
    # Listeners are written by name, so the tag moved along with its own.
    assert {tag.path for tag in after.unknown_tags.tags[broker_key(1)]} == {"", "endPoints[1]"}
    assert [point.name for point in after.cluster.brokers[1].end_points] == ["A", "Z"]


def test_tags_of_what_changed_since_are_conflicts_and_the_others_come_back(made, tmp_path):
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    [metadata] = (tmp_path / "out").glob("node-1/d0/__cluster_metadata-0")
    append_metadata(
        metadata, [(RegisterBrokerRecord(broker_id=1, broker_epoch=9), 3), (ProducerIdsRecord(1, 1, 2000), 0)]
    )
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert sorted(back.conflicts) == [
        "broker 1: changed since; its unknown tagged fields do not come back",
        "producer ids: changed since; its unknown tagged fields do not come back",
    ]
    after = cluster_at(tmp_path / "back").image
    assert set(tags_of(after)) == {topic_key(bytes([5]) * 16).text(), "quota request_percentage of user u"}
    assert after.producer_ids.next_producer_id == 2000


def test_tags_that_came_since_are_named_since_they_are_not_written_again(made_cluster, tmp_path):
    made_cluster(partitions={"t-0": data_batches()})
    result = downgrade(DISK, plan_for("4.0", tmp_path / "cluster"), tmp_path / "out", unsafe=True)
    [metadata] = (tmp_path / "out").glob("node-1/d0/__cluster_metadata-0")
    append_metadata(metadata, [(TopicRecord("u", bytes([5]) * 16, unknown_tagged_fields=TAGS), 0)])
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    assert back.conflicts == ("topic u: a tagged field that no release up to 4.4 knows is not written again",)


def test_a_tag_of_a_partition_change_stays_in_the_bundle(made_cluster, tmp_path):
    made = made_cluster(partitions={"t-0": data_batches()})
    made.append((PartitionChangeRecord(0, TOPIC_ID, leader=-1, unknown_tagged_fields=TAGS), 2))
    result = downgrade(DISK, plan_for("4.0", made.root), tmp_path / "out", unsafe=True)
    back = undo(DISK, cluster_at(tmp_path / "out"), result.bundle, tmp_path / "back")
    [conflict] = back.conflicts
    assert conflict == (
        "topic t partition 0: tag 77 of PartitionChangeRecord stays in the bundle, there is no such record any more"
    )


@pytest.mark.parametrize(
    "tag",
    [
        KeptTag("TopicRecord", "", 77, b""),
        KeptTag("RegisterBrokerRecord", "endPoints[gone]", 77, b""),
        KeptTag("RegisterBrokerRecord", "noSuchList[A]", 77, b""),
    ],
)
def test_a_tag_without_a_place_changes_nothing(tag):
    record = RegisterBrokerRecord(broker_id=1, end_points=[BrokerEndpoint("A", "h", 1)])
    found, homeless = put_back(record, [tag])
    assert (found, homeless) == (record, [tag])


def test_the_record_that_is_given_stays_as_it_is():
    record = RegisterBrokerRecord(broker_id=1, end_points=[BrokerEndpoint("A", "h", 1)])
    tags = [KeptTag("RegisterBrokerRecord", path, 77, b"x") for path in ("", "endPoints[A]")]
    found, homeless = put_back(record, tags)
    assert homeless == []
    assert found.unknown_tagged_fields == found.end_points[0].unknown_tagged_fields == ((77, b"x"),)
    assert record == RegisterBrokerRecord(broker_id=1, end_points=[BrokerEndpoint("A", "h", 1)])
