"""The loss catalogue: for each rule something that is lost below its level, and something like it that is not."""

import json

import pytest
from metadata_images import (
    D1,
    D2,
    D3,
    D4,
    acl,
    broker,
    image_of,
    options_at,
    orders,
    partition,
    topic_config,
    written,
)

from falkirk.metadata.levels.writer import assess, write_image
from falkirk.metadata.losses.condition import RowContext
from falkirk.metadata.losses.loss import UNKNOWN_TAG, LossError, Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

SCRAM = UserScramCredentialRecord("alice", 2, b"salt", b"stored", b"server", 8192)
TOKEN = DelegationTokenRecord("User:o", "User:r", ("User:p",), 1, 2, 3, "token-1")
ELR_ON = FeatureLevelRecord("eligible.leader.replicas.version", 1)
RF2 = {"replicas": (1, 2), "directories": (D1, D3)}

# kind -> (records of which something is lost, first level that holds it, key)
LOST = {
    "in_controlled_shutdown": ([broker(in_controlled_shutdown=True)], "3.3-IV3", "broker 1"),
    "migrating_zk_broker": ([broker(is_migrating_zk_broker=True)], "3.4-IV0", "broker 1"),
    "zk_migration_state": ([ZkMigrationStateRecord(3)], "3.4-IV0", "zk migration state"),
    "remote_storage_topic": (
        [orders(), topic_config("remote.storage.enable", "TRUE ")],
        "3.5-IV0",
        "config remote.storage.enable of topic orders",
    ),
    "scram_credential": ([SCRAM], "3.5-IV2", "user alice SCRAM-SHA-512"),
    "delegation_token": ([TOKEN], "3.6-IV2", "delegation token token-1"),
    "controller_registration": ([RegisterControllerRecord(7, b"i" * 16)], "3.7-IV0", "controller 7"),
    "client_metrics_config": (
        [ConfigRecord(16, "m", "interval.ms", "9")],
        "3.7-IV0",
        "config interval.ms of client-metrics m",
    ),
    "broker_log_dirs": ([broker(log_dirs=(D1, D2))], "3.7-IV2", "broker 1"),
    "directory_assignment": (
        [broker(log_dirs=(D1, D2)), orders(), partition(directories=(D1,))],
        "3.7-IV2",
        "topic orders partition 0",
    ),
    "group_config": ([ConfigRecord(32, "g", "x", "9")], "4.0-IV0", "config x of group g"),
    "elr_to_isr": (
        [ELR_ON, orders(), partition(isr=(), leader=-1, eligible_leader_replicas=(1,))],
        "4.0-IV1",
        "topic orders partition 0",
    ),
    "last_known_leader_to_isr": (
        [ELR_ON, orders(), partition(isr=(), leader=-1, last_known_elr=(1,))],
        "4.0-IV1",
        "topic orders partition 0",
    ),
    "eligible_leader_replicas": (
        [ELR_ON, orders(), partition(replicas=(1, 2), isr=(1,), eligible_leader_replicas=(2,))],
        "4.0-IV1",
        "topic orders partition 0",
    ),
    "partition_without_replica": ([orders(), partition(isr=(), leader=-1)], "4.0-IV1", "topic orders partition 0"),
    "cordoned_log_dirs": ([broker(log_dirs=(D1,), cordoned_log_dirs=(D1,))], "4.3-IV0", "broker 1"),
    "cidr_allow_acl": ([acl("10.0.0.0/8")], "4.4-IV1", "acl YWFhYWFhYWFhYWFhYWFhYQ"),
    "cidr_deny_acl": ([acl("fd00::/8", permission=2)], "4.4-IV1", "acl YWFhYWFhYWFhYWFhYWFhYQ"),
}
# kind -> records of which nothing is lost at any level.
KEPT = {
    "in_controlled_shutdown": [broker()],
    "migrating_zk_broker": [broker()],
    "zk_migration_state": [ZkMigrationStateRecord(0)],
    "remote_storage_topic": [
        orders(), topic_config("remote.storage.enable", "false"), ConfigRecord(4, "", "remote.storage.enable", "true"),
        topic_config("retention.ms", "true"),
    ],
    "scram_credential": [orders()],
    "delegation_token": [orders()],
    "controller_registration": [broker()],
    "client_metrics_config": [ConfigRecord(4, "1", "interval.ms", "9")],
    "broker_log_dirs": [broker(log_dirs=(D1,)), broker(2)],
    # The one log dir of a registered broker can be guessed; what was not known is not lost.
    "directory_assignment": [
        broker(log_dirs=(D1,)), broker(2, log_dirs=(D3,)), orders(), partition(**RF2), partition(1),
        partition(2, replicas=(9,), directories=(bytes(16),)),
    ],
    "group_config": [topic_config("x", "9")],
    "elr_to_isr": [orders(), partition()],
    "last_known_leader_to_isr": [orders(), partition()],
    "eligible_leader_replicas": [ELR_ON, orders(), partition(eligible_leader_replicas=())],
    "partition_without_replica": [orders(), partition()],
    "cordoned_log_dirs": [broker(cordoned_log_dirs=()), broker(2, cordoned_log_dirs=None)],
    "cidr_allow_acl": [acl("10.0.0.7")],
    "cidr_deny_acl": [acl("*", permission=2)],
}  # fmt: skip


def kinds(report):
    found = [*report.losses, *report.inaccessible]
    return [loss.kind for loss in found]


def all_of(report):
    return {loss.kind: loss for loss in [*report.losses, *report.inaccessible]}


def test_every_rule_has_both_cases():
    rules = {rule.kind for rule in CATALOGUE} - {UNKNOWN_TAG}

    assert set(LOST) == set(KEPT) == rules


@pytest.mark.parametrize("kind", LOST)
def test_below_its_level_it_is_lost_and_from_there_on_it_is_not(kind):
    records, level, key = LOST[kind]
    image = image_of(*records)
    first = MetadataVersion.parse(level)
    below = MetadataVersion.of_level(first.level - 1)

    assert kind not in kinds(assess(image, options_at(level, bootstrap_levels_bind=False)))
    found = all_of(assess(image, options_at(str(below), bootstrap_levels_bind=False)))[kind]
    rule = next(rule for rule in CATALOGUE if rule.kind == kind)
    assert (found.key_text, found.level, found.record, found.outcome) == (key, first.level, rule.record, rule.outcome)
    assert key in found.detail or kind == "zk_migration_state"
    json.dumps(found.reported().as_json())


@pytest.mark.parametrize("kind", KEPT)
@pytest.mark.parametrize("level", [7, 14, 16, 22, 29, 31])
def test_what_is_not_there_is_not_lost(kind, level):
    report = assess(image_of(*KEPT[kind]), options_at(level))

    assert kinds(report) == []


@pytest.mark.parametrize(
    ("log_dirs", "directory", "is_lost"),
    [
        ((D1,), D1, False),
        ((D1, D2), D1, True),
        ((), D1, True),
        (None, D1, True),
        ((D1, D2), bytes(16), False),
        ((D1,), bytes(15) + b"\x01", False),
        ((D1, D2), bytes(15) + b"\x02", True),
    ],
    ids=["one dir", "two dirs", "none told", "unregistered", "never known", "one dir, unassigned", "two dirs, lost"],
)
def test_a_directory_is_lost_unless_the_broker_has_only_one(log_dirs, directory, is_lost):
    brokers = [] if log_dirs is None else [broker(log_dirs=log_dirs)]
    image = image_of(*brokers, orders(), partition(directories=(directory,)))

    assert ("directory_assignment" in kinds(assess(image, options_at("3.7-IV1")))) is is_lost


def test_one_replica_whose_directory_is_lost_is_enough():
    image = image_of(
        broker(log_dirs=(D1,)),
        broker(2, log_dirs=(D3, D4)),
        orders(),
        partition(**RF2),
        partition(1, directories=(D1,)),
    )
    report = assess(image, options_at("3.7-IV0"))

    assert [(loss.kind, loss.key_text) for loss in report.losses] == [
        ("broker_log_dirs", "broker 2"),
        ("directory_assignment", "topic orders partition 0"),
    ]


def test_a_loss_tells_what_was_and_what_becomes_of_it():
    image = image_of(broker(log_dirs=(D1, D2), cordoned_log_dirs=(D2,)), acl("10.0.0.0/8"), SCRAM, TOKEN)
    found = all_of(assess(image, options_at(9)))

    assert found["broker_log_dirs"].before == {"log_dirs": ["EREREREREREREREREREREQ", "IiIiIiIiIiIiIiIiIiIiIg"]}
    assert found["broker_log_dirs"].after == {"log_dirs": []}
    assert found["cordoned_log_dirs"].before == {"cordoned_log_dirs": ["IiIiIiIiIiIiIiIiIiIiIg"]}
    assert found["cordoned_log_dirs"].after == {"cordoned_log_dirs": None}
    assert found["cidr_allow_acl"].before["host"] == "10.0.0.0/8"
    assert found["cidr_allow_acl"].key.fields() == {"acl": "YWFhYWFhYWFhYWFhYWFhYQ"}
    assert found["scram_credential"].after is None
    assert found["delegation_token"].before["renewers"] == ["User:p"]
    assert "no longer gives access" in found["cidr_allow_acl"].detail


def test_secrets_are_not_told():
    told = json.dumps(all_of(assess(image_of(SCRAM), options_at(9)))["scram_credential"].reported().as_json())

    assert "8192" in told
    assert not any(secret in told for secret in ("salt", "stored", "server", b"stored".hex()))


def test_a_loss_carries_the_record_to_put_back():
    image = image_of(
        broker(log_dirs=(D1, D2)),
        ELR_ON,
        orders(),
        partition(isr=(), leader=-1, directories=(D1,), eligible_leader_replicas=(1,)),
    )
    found = all_of(assess(image, options_at("3.7-IV0")))

    record, version = found["elr_to_isr"].original
    assert version == 2
    assert (record.isr, record.eligible_leader_replicas, record.directories) == ((), (1,), (D1,))
    record, version = found["broker_log_dirs"].original
    assert (record.log_dirs, version) == ((D1, D2), 4)


def test_a_denied_range_is_told_apart_from_an_allowed_one():
    image = image_of(acl("10.0.0.0/8", permission=2))
    (loss,) = assess(image, options_at("4.4-IV0")).losses

    assert loss.kind == "cidr_deny_acl"
    assert "no longer denies access" in loss.detail
    after, _ = written(image, "4.4-IV0")
    assert next(iter(after.acls.acls.values())).host == "10.0.0.0/8"


def test_the_strict_handler_refuses_losses_and_lets_the_rest_pass():
    with pytest.raises(LossError, match="user alice SCRAM-SHA-512: user alice SCRAM-SHA-512 can no longer log in"):
        list(write_image(image_of(SCRAM), options_at(9)))
    harmless = image_of(ConfigRecord(32, "g", "x", "9"), ELR_ON, orders(), partition())
    report = assess(harmless, options_at("3.9-IV0"))

    assert report.is_lossless
    assert {loss.outcome for loss in [*report.inaccessible, *report.dropped_features]} == {
        Outcome.INACCESSIBLE,
        Outcome.FEATURE,
    }
    assert list(write_image(harmless, options_at("3.9-IV0")))


def test_unknown_fields_are_lost_at_every_level():
    image = image_of(TopicRecord("orders", b"o" * 16, unknown_tagged_fields=((9, b"\x01" * 16),)))
    for level in (9, 33):
        (loss,) = assess(image, options_at(level)).losses
        assert (loss.kind, loss.record, loss.key_text) == (UNKNOWN_TAG, "TopicRecord", "topic orders")
        assert loss.before == {"record": "TopicRecord", "path": "", "tag": 9, "data": "01" * 16}
        assert loss.level is None


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("3.7", {"compression.zstd.level": "unknown_config", "streams.num.standby.replicas": "group_config"}),
        ("3.8", {"streams.num.standby.replicas": "group_config"}),
        ("4.0", {"streams.num.standby.replicas": "unknown_config"}),
        ("4.1", {}),
    ],
)
def test_configs_that_the_release_does_not_know_stay_and_are_told_as_inaccessible(to, told):
    configs = [
        topic_config("compression.zstd.level", "3"),
        topic_config("retention.ms", "1"),
        ConfigRecord(32, "g", "streams.num.standby.replicas", "1"),
        ConfigRecord(4, "1", "compression.zstd.level", "a broker's of the same name"),
    ]
    release = Release.parse(to)
    options = options_at(release.latest_metadata_version.level, release=release)

    report = assess(image_of(*configs), options)

    assert {loss.key.identity[2]: loss.kind for loss in report.inaccessible} == told
    assert report.is_lossless
    written_configs = [
        record for record, _ in write_image(image_of(*configs), options) if isinstance(record, ConfigRecord)
    ]
    assert len(written_configs) == len(configs)
    assert all(config in written_configs for config in configs)


# kind -> a change that brings it about, and one that does not.
BORNE = {
    "in_controlled_shutdown": (
        BrokerRegistrationChangeRecord(in_controlled_shutdown=1), BrokerRegistrationChangeRecord(fenced=1),
    ),
    "broker_log_dirs": (
        BrokerRegistrationChangeRecord(log_dirs=(D1, D2)), BrokerRegistrationChangeRecord(log_dirs=(D1,)),
    ),
    "cordoned_log_dirs": (
        BrokerRegistrationChangeRecord(cordoned_log_dirs=(D1,)), BrokerRegistrationChangeRecord(cordoned_log_dirs=()),
    ),
    "directory_assignment": (
        PartitionChangeRecord(replicas=(1,), directories=(D1,)),
        PartitionChangeRecord(replicas=(1,), directories=(bytes(16),)),
    ),
    "elr_to_isr": (
        PartitionChangeRecord(isr=(), eligible_leader_replicas=(1,)),
        PartitionChangeRecord(eligible_leader_replicas=(1,)),
    ),
    "last_known_leader_to_isr": (
        PartitionChangeRecord(isr=(), last_known_elr=(1,)), PartitionChangeRecord(isr=(1,), last_known_elr=(1,)),
    ),
    "eligible_leader_replicas": (
        PartitionChangeRecord(last_known_elr=(1,)), PartitionChangeRecord(isr=(), eligible_leader_replicas=(1,)),
    ),
}  # fmt: skip


def test_a_rule_is_borne_by_its_own_record_and_by_the_changes_that_bring_it_about():
    found = {}
    for rule in CATALOGUE:
        assert rule.bearers[rule.record] == rule.condition
        for record, condition in rule.borne_by.items():
            bringing, other = BORNE[rule.kind]
            assert type(bringing).__name__ == type(other).__name__ == record
            found[rule.kind] = tuple(condition.holds(each, RowContext()) for each in (bringing, other))
    assert found == dict.fromkeys(BORNE, (True, False))
