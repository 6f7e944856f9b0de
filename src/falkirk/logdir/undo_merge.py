"""Merges what a downgrade dropped into metadata that may have changed since: newer state wins, conflicts are reported.

An object that still is as the downgrade wrote it gets its old record back. Of one that changed since, only fields are
restored that the lower level cannot hold, and only if they still mean something. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.image.configs import TOPIC, ConfigResource
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.partition import MIGRATING, Partition
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import object_key
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from falkirk.versions.metadata_version import METADATA_VERSION, METADATA_VERSIONS, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.metadata.undo.undo_bundle import Bundle, KeptTag, ObjectChange
    from falkirk.protocol.schema import WireMessage

# Records are compared and made at the newest level, which holds every field.
_NEWEST: Final = METADATA_VERSIONS[-1]
_DIRECTORIES_SINCE: Final = MetadataVersion.parse("3.7-IV2").level


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """The image at the old level; how many objects were restored; a sentence for each that was not, or not whole.

    `unknown_tags` are to be written with the record of their object.
    """

    image: MetadataImage
    restored: int
    conflicts: tuple[str, ...]
    unknown_tags: Mapping[ObjectKey, tuple[KeptTag, ...]]


def merge_back(now: MetadataImage, bundle: Bundle) -> MergeResult:
    """Return the image with everything that the bundle restores."""
    delta = MetadataDelta(now)
    delta.replay(FeatureLevelRecord(name=METADATA_VERSION, feature_level=bundle.level_before))
    conflicts: list[str] = []
    restored = 0
    unknown_tags: dict[ObjectKey, tuple[KeptTag, ...]] = {}
    for change in bundle.objects:
        merge = _merge(now, change)
        conflicts += [f"{change.key}: {conflict}" for conflict in merge.conflicts]
        if merge.record is not None:
            delta.replay(merge.record)
            restored += 1
        if change.unknown_tags:
            tags = _merge_tags(now, change)
            conflicts += [f"{change.key}: {conflict}" for conflict in tags.conflicts]
            if tags.key is not None:
                unknown_tags[tags.key] = tags.tags
                restored += 1
    image = delta.apply(now.provenance)
    if bundle.level_after < _DIRECTORIES_SINCE <= bundle.level_before:
        image = _with_only_directories(image)
    return MergeResult(image=image, restored=restored, conflicts=tuple(conflicts), unknown_tags=unknown_tags)


def _with_only_directories(image: MetadataImage) -> MetadataImage:
    """Place replicas in their broker's only log directory, where it has exactly one: that is what the level dropped."""
    only = {
        broker_id: broker.log_dirs[0]
        for broker_id, broker in image.cluster.brokers.items()
        if len(broker.log_dirs) == 1
    }
    delta = MetadataDelta(image)
    for topic in image.topics:
        for partition_id, partition in topic.items():
            directories = tuple(
                only.get(replica, directory) if directory == MIGRATING else directory
                for replica, directory in zip(partition.replicas, partition.directories, strict=True)
            )
            if directories != partition.directories:
                placed = msgspec.structs.replace(partition, directories=directories)
                delta.replay(placed.to_record(topic.topic_id, partition_id, _NEWEST, elr_enabled=True)[0])
    return delta.apply(image.provenance)


@dataclass(frozen=True, slots=True)
class _Merge:
    """The record that restores an object, None if it stays as it is, and what is not restored."""

    record: WireMessage | None = None
    conflicts: tuple[str, ...] = ()


def _merge(now: MetadataImage, change: ObjectChange) -> _Merge:
    if change.before is None:
        return _Merge()
    before, written = change.before[0], None if change.written is None else change.written[0]
    current = _current_record(now, before)
    if current is None:
        if written is None or (isinstance(before, ConfigRecord) and before.resource_type != TOPIC):
            # The lower release lost configs of kinds that it does not know, it did not remove them.
            return _Merge(before)
        return _Merge(conflicts=("removed since, and not brought back",))
    return _merge_existing(before, written, current)


def _merge_existing(before: WireMessage, written: WireMessage | None, current: WireMessage) -> _Merge:
    if isinstance(before, PartitionRecord) and isinstance(current, PartitionRecord):
        return _merge_partition(before, written, current)
    if isinstance(before, RegisterBrokerRecord) and isinstance(current, RegisterBrokerRecord):
        return _Merge(_merged_broker(before, current))
    if current == written:
        return _Merge(before)
    return _Merge(conflicts=() if current == before else ("set again since; the newer one stays",))


def _merge_partition(before: PartitionRecord, written: WireMessage | None, current: PartitionRecord) -> _Merge:
    assert isinstance(written, PartitionRecord)
    conflicts = []
    is_as_written = _without_directories(current) == _without_directories(written)
    # A running cluster that was lowered has raised the partition epoch, which never falls.
    merged = msgspec.structs.replace(before if is_as_written else current, partition_epoch=current.partition_epoch)
    if current.replicas == before.replicas:
        merged.directories = _known_directories(current.directories, before.directories)
    else:
        merged.directories = current.directories
        if any(directory != MIGRATING for directory in before.directories) and not written.directories:
            conflicts.append("its replicas moved since; the brokers report their directories")
    if not is_as_written and (before.eligible_leader_replicas or before.last_known_elr):
        conflicts.append("it had leaders since; its eligible leader replicas of then are void")
    return _Merge(None if merged == current else merged, tuple(conflicts))


def _without_directories(record: PartitionRecord) -> PartitionRecord:
    return msgspec.structs.replace(
        record,
        directories=(),
        eligible_leader_replicas=record.eligible_leader_replicas or None,
        last_known_elr=record.last_known_elr or None,
    )


def _known_directories(current: tuple[bytes, ...], before: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return the current directories, with the former one of each replica whose directory is unknown."""
    if not current or len(current) != len(before):
        return before
    return tuple(old if new == MIGRATING else new for new, old in zip(current, before, strict=True))


def _merged_broker(before: RegisterBrokerRecord, current: RegisterBrokerRecord) -> RegisterBrokerRecord | None:
    """Return the broker with the directories, and cordoned ones, that its newer registration could not hold."""
    merged = msgspec.structs.replace(current)
    if not current.log_dirs:
        merged.log_dirs = before.log_dirs
    if current.cordoned_log_dirs is None:
        merged.cordoned_log_dirs = before.cordoned_log_dirs
    return None if merged == current else merged


@dataclass(frozen=True, slots=True)
class _TagMerge:
    """Restored unknown tagged fields, and the object whose record holds them; None: none are restored."""

    key: ObjectKey | None = None
    tags: tuple[KeptTag, ...] = ()
    conflicts: tuple[str, ...] = ()


def _merge_tags(now: MetadataImage, change: ObjectChange) -> _TagMerge:
    written = None if change.written is None else change.written[0]
    key = None if written is None else object_key(written)
    if written is None or key is None or not _is_as_written(now, written):
        return _TagMerge(conflicts=("changed since; its unknown tagged fields do not come back",))
    placed = tuple(tag for tag in change.unknown_tags if tag.record == type(written).__name__)
    conflicts = tuple(
        f"{tag.place} stays in the bundle, there is no such record any more"
        for tag in change.unknown_tags
        if tag not in placed
    )
    return _TagMerge(key if placed else None, placed, conflicts)


def _is_as_written(now: MetadataImage, written: WireMessage) -> bool:
    """Return whether an object is as the downgrade wrote it: writing it again would change nothing."""
    if isinstance(written, TopicRecord):  # writing that again would begin the topic anew
        topic = now.topics.topic_by_id(written.topic_id)
        return topic is not None and topic.name == written.name
    delta = MetadataDelta(now)
    try:
        delta.replay(written)
    except InconsistentRecordError:
        return False
    return delta.apply(now.provenance).has_same_content(now)


def _current_record(now: MetadataImage, like: WireMessage) -> WireMessage | None:
    """Return the current record of an object at the newest level; None if the object does not exist."""
    found: tuple[WireMessage, int] | None
    match like:
        case PartitionRecord():
            partition = _partition(now, like)
            found = None if partition is None else partition.to_record(
                like.topic_id, like.partition_id, _NEWEST, elr_enabled=True
            )  # fmt: skip
        case RegisterBrokerRecord():
            broker = now.cluster.brokers.get(like.broker_id)
            found = None if broker is None else broker.to_record(_NEWEST)
        case RegisterControllerRecord():
            controller = now.cluster.controllers.get(like.controller_id)
            found = None if controller is None else controller.to_record(_NEWEST)
        case FeatureLevelRecord():
            level = now.features.finalized.get(like.name)
            found = None if level is None else (FeatureLevelRecord(name=like.name, feature_level=level), 0)
        case ConfigRecord():
            settings = now.configs.resources.get(ConfigResource(like.resource_type, like.resource_name))
            value = None if settings is None else settings.get(like.name)
            found = None if value is None else (msgspec.structs.replace(like, value=value), 0)
        case _:
            return _current_entry(now, like)
    return None if found is None else found[0]


def _current_entry(now: MetadataImage, like: WireMessage) -> WireMessage | None:
    key = object_key(like)
    match like:
        case AccessControlEntryRecord():
            acl = now.acls.acls.get(like.id)
            return None if acl is None else acl.to_record(like.id)[0]
        case UserScramCredentialRecord():
            found = [
                credential.to_record(user)[0]
                for user, credential in now.scram.credentials.items()
                if (user.name, user.mechanism) == (like.name, like.mechanism)
            ]
            return found[0] if found else None
        case DelegationTokenRecord():
            token = now.delegation_tokens.tokens.get(like.token_id)
            return None if token is None else token.to_record(like.token_id)[0]
        case _:
            raise AssertionError(f"nothing of {key} is ever lost")


def _partition(now: MetadataImage, like: PartitionRecord) -> Partition | None:
    topic = now.topics.topic_by_id(like.topic_id)
    return None if topic is None else topic.partition(like.partition_id)
