from broker_views import A, B, broker_records
from metadata_images import image_of

from falkirk.metadata.image.configs import GROUP, TOPIC
from falkirk.node.broker.group_coordinator.image_group_configs import ImageGroupConfigs
from falkirk.node.broker.group_coordinator.image_topics import ImageTopics
from falkirk.protocol.messages import ConfigRecord, PartitionRecord


def test_an_image_says_what_topics_there_are_and_in_which_racks():
    fields = {"isr": (1,), "leader": 1, "leader_epoch": 5, "partition_epoch": 0}
    image = image_of(*broker_records(), PartitionRecord(1, B, replicas=(2, 9), **fields))
    topics = ImageTopics(image)
    assert sorted(topics.names()) == ["a", "b"]
    assert (topics.id_of("a"), topics.id_of("no"), topics.name_of(B), topics.name_of(b"n" * 16)) == (A, None, "b", None)
    assert (topics.partitions_of("a"), topics.partitions_of("no")) == (2, 0)
    assert list(topics.racks_of("b")) == [("rack1", "rack2"), ("rack2",)]
    assert list(topics.racks_of("no")) == []
    assert topics.offset == image.provenance.end_offset


def test_groups_have_the_configs_of_their_resource_type():
    configs = ImageGroupConfigs(
        image_of(
            ConfigRecord(GROUP, "g", "consumer.session.timeout.ms", "50000"), ConfigRecord(TOPIC, "t", "x", "1")
        ).configs
    )
    assert {group: dict(each) for group, each in configs.items()} == {"g": {"consumer.session.timeout.ms": "50000"}}
    assert len(configs) == 1
    assert configs.get("t") is None
