import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_images import D1, TOPIC_ID, acl, broker, image_of, orders, partition, random_image, topic_config

from falkirk.metadata.image.difference import differences
from falkirk.protocol.messages import (
    ClientQuotaRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData


def told(before, after):
    return [(found.key_text, found.before, found.after) for found in differences(before, after)]


@pytest.mark.slow
@given(first=st.integers(0, 2**32), second=st.integers(0, 2**32))
def test_what_differs_one_way_differs_the_other_way(first, second):
    before, after = random_image(first, 33), random_image(second, 33)
    there = {found.key: (found.before, found.after) for found in differences(before, after)}
    back = {found.key: (found.after, found.before) for found in differences(after, before)}

    assert there == back
    assert list(differences(before, before)) == []
    json.dumps([found.before for found in differences(before, after)])


@pytest.mark.parametrize(
    ("record", "key"),
    [
        (FeatureLevelRecord("group.version", 1), "feature group.version"),
        (ZkMigrationStateRecord(1), "zk migration state"),
        (broker(), "broker 1"),
        (RegisterControllerRecord(7), "controller 7"),
        (orders(), "topic orders"),
        (topic_config("retention.ms", "1"), "config retention.ms of topic orders"),
        (ClientQuotaRecord([EntityData("user", None)], "k", 1.0), "quota k of user <default>"),
        (ProducerIdsRecord(1, 1, 1000), "producer ids"),
        (acl("*"), "acl YWFhYWFhYWFhYWFhYWFhYQ"),
        (UserScramCredentialRecord("u", 1, b"secret", b"stored", b"server", 4096), "user u SCRAM-SHA-256"),
        (DelegationTokenRecord("User:o", "User:r", (), 1, 2, 3, "t"), "delegation token t"),
        (TopicRecord("orders", TOPIC_ID, unknown_tagged_fields=((9, b""),)), "topic orders"),
    ],
)
def test_each_kind_of_object_is_told_by_its_key(record, key):
    found = list(differences(image_of(), image_of(record)))

    assert found[0].key_text == key
    assert found[0].kind == found[0].key.kind
    assert "secret" not in json.dumps(found[0].after)


def test_of_an_object_that_changed_only_what_differs_is_told():
    before = image_of(orders(), partition(), broker(fenced=True))
    after = image_of(orders(), partition(leader=-1), broker(fenced=False, log_dirs=(D1,)))

    assert told(before, after) == [
        ("broker 1", {"fenced": True, "log_dirs": []}, {"fenced": False, "log_dirs": ["EREREREREREREREREREREQ"]}),
        ("topic orders partition 0", {"leader": 1}, {"leader": -1}),
    ]


def test_a_new_topic_comes_with_its_partitions_and_a_lost_one_goes_with_them():
    with_topic = image_of(orders(), partition(0), partition(1))
    keys = ["topic orders", "topic orders partition 0", "topic orders partition 1"]

    assert [key for key, before, _ in told(image_of(), with_topic) if before is None] == keys
    assert [key for key, _, after in told(with_topic, image_of()) if after is None] == keys


def test_a_partition_that_is_gone_is_told_alone():
    assert [
        (key, after)
        for key, _, after in told(image_of(orders(), partition(0), partition(1)), image_of(orders(), partition(0)))
    ] == [("topic orders partition 1", None)]


def test_a_level_and_a_secret_that_changed_are_told():
    before = image_of(UserScramCredentialRecord("u", 1, b"one"), level=30)
    after = image_of(UserScramCredentialRecord("u", 1, b"two"), level=21)
    level, secret = told(before, after)

    assert level == ("feature metadata.version", {"feature_level": 30}, {"feature_level": 21})
    assert set(secret[1]) == {"fingerprint"}
    assert secret[1] != secret[2]
