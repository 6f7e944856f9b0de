"""Differences between two images, object by object."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from immutables import Map

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.scram import ScramCredential
from falkirk.metadata.records.plain import plain_fields
from falkirk.metadata.records.record_key import (
    PRODUCER_IDS_KEY,
    ZK_MIGRATION_STATE_KEY,
    ObjectKey,
    acl_key,
    broker_key,
    client_quota_key,
    config_key,
    controller_key,
    delegation_token_key,
    feature_key,
    partition_key,
    scram_key,
    topic_key,
)
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import msgspec

    from falkirk.metadata.image.acls import AclsDelta
    from falkirk.metadata.image.client_quotas import ClientQuotasDelta
    from falkirk.metadata.image.cluster import ClusterDelta
    from falkirk.metadata.image.configs import ConfigResource, ConfigsDelta
    from falkirk.metadata.image.delegation_tokens import DelegationTokensDelta
    from falkirk.metadata.image.features import FeaturesDelta
    from falkirk.metadata.image.keyed_delta import KeyedDelta, NestedDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.producer_ids import ProducerIdsDelta
    from falkirk.metadata.image.scram import ScramDelta
    from falkirk.metadata.image.topics import TopicDelta, TopicsDelta
    from falkirk.metadata.image.unknown_tags import UnknownTagsDelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One object that differs. `before` None: it is new; `after` None: it was removed; else both hold what differs.

    Values are JSON's; secrets appear as a fingerprint.
    """

    key: ObjectKey
    key_text: str
    before: "Mapping[str, Any] | None"
    after: "Mapping[str, Any] | None"

    @property
    def kind(self) -> str:
        """Kind of the object, as its key has it."""
        return self.key.kind


def differences(before: MetadataImage, after: MetadataImage) -> Iterator[Difference]:
    """Yield the objects that differ, area by area in the order of writing; the provenance does not count."""
    delta = MetadataDelta.between(before, after)
    for area, tell in _AREAS.items():
        changed = getattr(delta, area)
        if changed is not None:
            yield from tell(changed)


def _features(delta: FeaturesDelta) -> Iterator[Difference]:
    if delta.metadata_version_changed:
        old, new = delta.image.metadata_version, delta.metadata_version
        yield _difference(
            feature_key(METADATA_VERSION),
            None if old is None else {"feature_level": old.level},
            None if new is None else {"feature_level": new.level},
        )
    for name, level in sorted(delta.finalized.changes.items()):
        before = delta.finalized.base.get(name)
        yield _difference(
            feature_key(name),
            None if before is None else {"feature_level": before},
            None if level is None else {"feature_level": level},
        )
    if delta.zk_migration_state != delta.image.zk_migration_state:
        yield _difference(
            ZK_MIGRATION_STATE_KEY,
            {"zk_migration_state": delta.image.zk_migration_state},
            {"zk_migration_state": delta.zk_migration_state},
        )


def _cluster(delta: ClusterDelta) -> Iterator[Difference]:
    yield from _keyed(delta.brokers, broker_key)
    yield from _keyed(delta.controllers, controller_key)


def _configs(delta: ConfigsDelta) -> Iterator[Difference]:
    def key_of(resource: ConfigResource, name: str) -> ObjectKey:
        return config_key(resource.resource_type, resource.resource_name, name)

    yield from _nested(delta.resources, key_of)


def _client_quotas(delta: ClientQuotasDelta) -> Iterator[Difference]:
    yield from _nested(delta.entities, client_quota_key)


def _producer_ids(delta: ProducerIdsDelta) -> Iterator[Difference]:
    before, after = delta.image.next_producer_id, delta.next_producer_id
    yield _difference(PRODUCER_IDS_KEY, {"next_producer_id": before}, {"next_producer_id": after})


def _acls(delta: AclsDelta) -> Iterator[Difference]:
    yield from _keyed(delta.acls, acl_key)


def _scram(delta: ScramDelta) -> Iterator[Difference]:
    yield from _keyed(delta.credentials, lambda user: scram_key(user.name, user.mechanism))


def _delegation_tokens(delta: DelegationTokensDelta) -> Iterator[Difference]:
    yield from _keyed(delta.tokens, delegation_token_key)


def _keyed(delta: KeyedDelta[Any, Any], key_of: Callable[[Any], ObjectKey]) -> Iterator[Difference]:
    # Any: maps of all kinds; `key_of` fits the map's keys.
    for key, value in sorted(delta.changes.items(), key=lambda item: item[0]):
        yield _difference(key_of(key), _plain(delta.base.get(key)), _plain(value))


def _nested(delta: NestedDelta[Any, Any], key_of: Callable[[Any, str], ObjectKey]) -> Iterator[Difference]:
    # Any: same.
    for key, changes in sorted(delta.changes.items(), key=repr):
        settings = delta.base.get(key) or Map()
        for name, value in sorted(changes.items(), key=lambda item: item[0]):
            before = settings.get(name)
            yield _difference(
                key_of(key, name),
                None if before is None else {"value": before},
                None if value is None else {"value": value},
            )


def _topics(delta: TopicsDelta) -> Iterator[Difference]:
    for topic_id, name in sorted(delta.deleted.items(), key=lambda item: item[1]):
        topic = delta.image.by_name[name]
        yield _difference(topic_key(topic_id), {"name": name}, None, name)
        for partition_id, partition in topic.items():
            yield _difference(partition_key(topic_id, partition_id), _plain(partition), None, name)
    for change in sorted(delta.changed.values(), key=lambda item: item.name):
        yield from _topic(change, delta)


def _topic(change: TopicDelta, delta: TopicsDelta) -> Iterator[Difference]:
    old = change.before
    if old is None and change.topic_id not in delta.deleted:
        old = delta.image.topic_by_id(change.topic_id)
    if old is None:
        yield _difference(topic_key(change.topic_id), None, {"name": change.name}, change.name)
    partitions = dict(change.partitions)
    if old is not None and change.before is None:
        # The topic lost partitions, so it stands in the delta as a whole.
        for partition_id, partition in old.items():
            if partition_id not in partitions:
                yield _difference(partition_key(change.topic_id, partition_id), _plain(partition), None, change.name)
    for partition_id, partition in sorted(partitions.items()):
        before = None if old is None else old.partition(partition_id)
        if before != partition:
            key = partition_key(change.topic_id, partition_id)
            yield _difference(key, _plain(before), _plain(partition), change.name)


def _unknown_tags(delta: UnknownTagsDelta) -> Iterator[Difference]:
    for key, tags in sorted(delta.tags.changes.items(), key=repr):
        before = delta.tags.base.get(key)
        yield _difference(
            key,
            None if before is None else {"unknown_tags": [tag.tag for tag in before]},
            None if tags is None else {"unknown_tags": [tag.tag for tag in tags]},
        )


# Any: each function accepts the delta of its area.
_AREAS: Final[dict[str, Callable[[Any], Iterator[Difference]]]] = {
    "features": _features,
    "cluster": _cluster,
    "topics": _topics,
    "configs": _configs,
    "client_quotas": _client_quotas,
    "producer_ids": _producer_ids,
    "acls": _acls,
    "scram": _scram,
    "delegation_tokens": _delegation_tokens,
    "unknown_tags": _unknown_tags,
}


def _difference(
    key: ObjectKey, before: dict[str, Any] | None, after: dict[str, Any] | None, topic_name: str | None = None
) -> Difference:
    # Any: JSON values.
    if before is not None and after is not None:
        names = [name for name in after if before.get(name) != after[name]]
        before, after = {name: before.get(name) for name in names}, {name: after[name] for name in names}
    return Difference(key=key, key_text=key.text(topic_name), before=before, after=after)


def _plain(value: msgspec.Struct | None) -> dict[str, Any] | None:  # Any: JSON values
    if value is None:
        return None
    if isinstance(value, ScramCredential):
        secret = sha256(b"\0".join((value.salt, value.stored_key, value.server_key))).hexdigest()[:16]
        return {"iterations": value.iterations, "fingerprint": secret}
    return plain_fields(value, value.__struct_fields__)
