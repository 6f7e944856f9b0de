"""Features, configs, quotas, producer ids, ACLs, SCRAM and tokens: what their records do to an image."""

import pytest
from immutables import Map

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.image.scram import ScramUser
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.versions.metadata_version import MetadataVersion

ACL_ID = b"a" * 16


def image(*records, base=EMPTY):
    delta = MetadataDelta(base)
    for record in records:
        delta.replay(record)
    return delta.apply(Provenance())


# --- Features


def test_a_level_of_zero_takes_the_feature_out():
    features = image(FeatureLevelRecord("group.version", 1), FeatureLevelRecord("share.version", 1)).features
    after = image(FeatureLevelRecord("group.version", 0), base=image(FeatureLevelRecord("group.version", 1)))

    assert dict(features.finalized) == {"group.version": 1, "share.version": 1}
    assert after.features.finalized == Map()


def test_metadata_version_is_known_by_its_level():
    assert EMPTY.features.metadata_version is None
    found = image(FeatureLevelRecord("metadata.version", 21)).features

    assert found.metadata_version == MetadataVersion.parse("3.9-IV0")
    assert found.finalized == Map()
    assert found.levels(kraft_version=1) == {"kraft.version": 1, "metadata.version": 21}
    assert found.levels() == {"metadata.version": 21}


@pytest.mark.parametrize("level", [0, -1, 35, 999])
def test_an_unknown_metadata_version_is_refused(level):
    with pytest.raises(InconsistentRecordError, match=f"FeatureLevelRecord .feature metadata.version.: .*{level}"):
        image(FeatureLevelRecord("metadata.version", level))


def test_a_record_of_kraft_version_has_no_effect_as_in_kafka():
    assert image(FeatureLevelRecord("kraft.version", 1)).has_same_content(EMPTY)


def test_features_that_no_release_knows_are_kept():
    assert dict(image(FeatureLevelRecord("later.version", 3)).features.finalized) == {"later.version": 3}


def test_the_migration_state_is_kept_and_an_unknown_one_refused():
    assert image(ZkMigrationStateRecord(3)).features.zk_migration_state == 3
    with pytest.raises(InconsistentRecordError, match="unknown state 5"):
        image(ZkMigrationStateRecord(5))


# --- Configs


def test_a_null_value_takes_a_config_out_and_the_last_one_the_resource():
    both = image(ConfigRecord(4, "1", "a", "1"), ConfigRecord(4, "1", "b", ""))
    one = image(ConfigRecord(4, "1", "a", None), base=both)
    none = image(ConfigRecord(4, "1", "b", None), ConfigRecord(4, "1", "zz", None), base=one)

    assert dict(both.configs.of(4, "1")) == {"a": "1", "b": ""}
    assert both.configs.entry_count == 2
    assert dict(one.configs.of(4, "1")) == {"b": ""}
    assert none.has_same_content(EMPTY)


def test_resource_types_that_a_release_may_not_know_stay_apart():
    configs = image(ConfigRecord(32, "g", "a", "1"), ConfigRecord(16, "g", "a", "2"), ConfigRecord(77, "g", "a", "3"))

    assert [(resource.resource_type, value) for resource, _, value in configs.configs] == [
        (16, "2"),
        (32, "1"),
        (77, "3"),
    ]


def test_setting_what_is_set_is_no_change():
    base = image(ConfigRecord(4, "1", "a", "1"))
    delta = MetadataDelta(base)
    delta.replay(ConfigRecord(4, "1", "a", "2"))
    delta.replay(ConfigRecord(4, "1", "a", "1"))
    delta.replay(ConfigRecord(4, "2", "a", None))

    assert delta.configs.resources.changes == {}
    assert delta.apply(Provenance()).configs.resources is base.configs.resources


# --- Quotas


def quota(*entity, value=1.0, remove=False):
    return ClientQuotaRecord([EntityData(kind, name) for kind, name in entity], "producer_byte_rate", value, remove)


def test_an_entity_is_the_same_in_whatever_order_and_null_is_the_default():
    found = image(
        quota(("user", "u"), ("client-id", None)), quota(("client-id", None), ("user", "u"), value=2.0)
    ).client_quotas

    assert list(found) == [((("client-id", None), ("user", "u")), "producer_byte_rate", 2.0)]
    assert found.quota_count == 1


def test_default_entities_come_before_named_ones():
    found = image(quota(("user", "a")), quota(("user", None)), quota(("user", "")), quota(("ip", "x"))).client_quotas

    assert [entity for entity, _, _ in found] == [
        (("ip", "x"),),
        (("user", None),),
        (("user", ""),),
        (("user", "a"),),
    ]


def test_a_removed_quota_is_gone_and_an_unknown_one_no_error():
    base = image(quota(("user", "a")))

    assert image(quota(("user", "a"), remove=True), base=base).has_same_content(EMPTY)
    assert image(quota(("user", "b"), remove=True), base=base).has_same_content(base)


# --- Producer ids


def test_the_next_producer_id_is_the_last_one_written():
    assert EMPTY.producer_ids.next_producer_id == -1
    assert image(ProducerIdsRecord(1, 2, 1000), ProducerIdsRecord(2, 3, 2000)).producer_ids.next_producer_id == 2000


# --- ACLs


def acl(**fields):
    return AccessControlEntryRecord(ACL_ID, 2, "orders", 3, "User:u", "*", 3, 3, **fields)


def test_acls_are_told_apart_by_id():
    found = image(acl()).acls.acls

    assert found[ACL_ID].to_record(ACL_ID) == (acl(), 0)
    assert image(RemoveAccessControlEntryRecord(ACL_ID), base=image(acl())).has_same_content(EMPTY)
    assert image(acl(), RemoveAccessControlEntryRecord(ACL_ID)).has_same_content(EMPTY)


@pytest.mark.parametrize("before", [EMPTY, image(acl(), RemoveAccessControlEntryRecord(ACL_ID))])
def test_removing_an_unknown_acl_is_refused(before):
    with pytest.raises(
        InconsistentRecordError, match=r"RemoveAccessControlEntryRecord .acl YWFh.*: no ACL has this id"
    ):
        image(RemoveAccessControlEntryRecord(ACL_ID), base=before)


# --- SCRAM


def credential(user, mechanism, iterations=4096):
    return UserScramCredentialRecord(user, mechanism, b"salt", b"stored", b"server", iterations)


def test_a_user_has_one_credential_for_each_mechanism():
    found = image(credential("u", 1), credential("u", 2), credential("u", 1, 8192)).scram.credentials

    assert {user: item.iterations for user, item in found.items()} == {ScramUser(1, "u"): 8192, ScramUser(2, "u"): 4096}
    assert found[ScramUser(1, "u")].to_record(ScramUser(1, "u")) == (credential("u", 1, 8192), 0)


def test_a_removed_credential_is_gone_and_an_unknown_one_no_error():
    base = image(credential("u", 1))

    assert image(RemoveUserScramCredentialRecord("u", 1), base=base).has_same_content(EMPTY)
    assert image(RemoveUserScramCredentialRecord("u", 2), base=base).has_same_content(base)


def test_a_credential_that_replaces_the_last_one_of_its_mechanism_stays():
    # Differs from Kafka, whose image loses it if both records fall into one delta and hash in that order.
    base = image(credential("old", 1))
    after = image(RemoveUserScramCredentialRecord("old", 1), credential("new", 1), base=base)

    assert set(after.scram.credentials) == {ScramUser(1, "new")}


# --- Delegation tokens


def token(expiration=3):
    return DelegationTokenRecord("User:o", "User:r", ("User:a", "User:b"), 1, 2, expiration, "id")


def test_tokens_are_renewed_and_removed_by_id():
    base = image(token(), token(expiration=9))

    assert base.delegation_tokens.tokens["id"].to_record("id") == (token(expiration=9), 0)
    assert image(RemoveDelegationTokenRecord("id"), base=base).has_same_content(EMPTY)
    assert image(RemoveDelegationTokenRecord("other"), base=base).has_same_content(base)


def test_counts_are_those_of_inspect():
    everything = image(token(), credential("u", 1), acl(), quota(("user", "a")), ConfigRecord(4, "1", "a", "1"))

    assert everything.counts() | {"topics": 0} == {
        "topics": 0, "partitions": 0, "brokers": 0, "controllers": 0, "acls": 1, "scram_credentials": 1,
        "client_quotas": 1, "config_resources": 1, "config_entries": 1, "producer_ids": 0, "delegation_tokens": 1,
    }  # fmt: skip
