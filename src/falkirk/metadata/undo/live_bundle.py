"""The undo bundle of a running cluster, added topic by topic while the image moves on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from immutables import Map

from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.metadata.image.topic import CHUNK, Topic
from falkirk.metadata.image.topics import TopicsImage
from falkirk.metadata.image.unknown_tags import UnknownTagsImage
from falkirk.metadata.levels.writer import Assessor, WriterOptions, assess
from falkirk.metadata.losses.loss import UNKNOWN_TAG
from falkirk.metadata.losses.loss_finder import row_context
from falkirk.metadata.records.record_key import feature_key
from falkirk.metadata.undo.undo_bundle import Bundle, BundleWriter, KeptTag, ObjectChange
from falkirk.metadata.undo.undo_objects import object_changes
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.slices import VISITS_PER_SLICE, SliceBudget, exhaust
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.metadata.losses.loss import Loss
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.protocol.messages import VotersRecord

_KINDS: Final = frozenset({"topic", "partition"})


class _AddedTopic(NamedTuple):
    """A topic and the unknown tagged fields of its image when its objects were added, and how many objects that is."""

    topic: Topic
    unknown_tags: UnknownTagsImage
    object_count: int


class LiveBundle:
    """The bundle that undoes a change of feature levels, for `falkirk logdir undo`.

    `levels` has the new level of each feature that changes (0: it is removed), with or without metadata.version and
    eligible.leader.replicas.version. Coordinator partitions are not changed, so there are no groups. An unknown tagged
    field of a struct in a record is named by the struct's place.
    """

    def __init__(self, image: MetadataImage, levels: Mapping[str, int]) -> None:
        own = image.features.metadata_version
        assert own is not None, "a running cluster has a metadata.version"
        elr_level = levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION)
        self._image = image
        self._levels = dict(levels)
        self._options = WriterOptions(
            metadata_version=MetadataVersion.of_level(levels.get(METADATA_VERSION, own.level)),
            bootstrap_levels_bind=False,
            bumps_partition_epochs=True,
            elr_enabled=None if elr_level is None else elr_level > 0,
        )
        self._assessor = Assessor(image, self._options)
        self._writer = BundleWriter()
        # By name: the topics whose objects were added.
        self._added: dict[str, _AddedTopic] = {}

    def holds_for(self, image: MetadataImage, levels: Mapping[str, int]) -> bool:
        """Return whether what was added is the same for a later image and these levels, topics that changed apart."""
        before = self._image
        return (
            self._levels == levels and image.features == before.features and row_context(image) == row_context(before)
        )

    def missing(self, image: MetadataImage) -> list[tuple[str, Topic | None]]:
        """Return the topics that differ from those that were added, None for those that are gone, which come first."""
        by_name = image.topics.by_name
        missing: list[tuple[str, Topic | None]] = [(name, None) for name in self._added if name not in by_name]
        for name, topic in by_name.items():
            added = self._added.get(name)
            if added is None or added.topic is not topic:
                missing.append((name, topic))
        return missing

    def add(self, image: MetadataImage, name: str, topic: Topic | None) -> Iterator[tuple[bytes, int]]:
        """Add what a topic loses, part by part; yield the bytes of each part, and how many partitions were visited.

        A topic that was added before is replaced, as one part.
        """
        added = self._added.pop(name, None)
        if added is not None:
            tags = image.unknown_tags
            changes = {} if topic is None else {each.key: each for each in self._changes(topic, tags)}
            gone = [each for each in self._changes(added.topic, added.unknown_tags) if each.key not in changes]
            nothing = [ObjectChange(kind=each.kind, key=each.key, before=None, written=None) for each in gone]
            visits = added.topic.partition_count if topic is None else topic.partition_count
            if topic is not None:
                self._added[name] = _AddedTopic(topic, tags, len(changes))
            yield self._writer.add((*nothing, *changes.values())), visits
        elif topic is not None:
            count = 0
            for part in _parts(topic) if not image.unknown_tags.tags else (topic,):
                found = [*self._changes(part, image.unknown_tags)]
                count += len(found)
                yield self._writer.add(found), part.partition_count
            self._added[name] = _AddedTopic(topic, image.unknown_tags, count)

    def finish(
        self, image: MetadataImage, *, cluster_id: str, kraft_version: int, voters: VotersRecord | None, offset: int
    ) -> bytes:
        """Return the last bytes; `image` is the one just before the change, of which no topic is missing.

        `offset`: where the change begins in the metadata log.
        """
        own, to = image.features.metadata_version, self._options.metadata_version
        assert own is not None, "a running cluster has a metadata.version"
        others = msgspec.structs.replace(
            image,
            topics=TopicsImage(names=image.topics.names),
            unknown_tags=_tags(image.unknown_tags, lambda key: key.kind not in _KINDS),
        )
        changes = [*object_changes(others, assess(others, self._options), self._options, _counted_tag)]
        changes += _feature_changes(image, self._levels, {change.key for change in changes})
        data = self._writer.add(changes)
        bundle = Bundle(
            cluster_id=cluster_id,
            level_before=own.level,
            level_after=to.level,
            release_after=to.release,
            features_before=image.features.levels(kraft_version=kraft_version),
            kraft_version_before=kraft_version,
            kraft_version_after=kraft_version,
            voters=voters if kraft_version > 0 else None,
            objects=(),
            groups={},
            offset=offset,
        )
        count = sum(added.object_count for added in self._added.values()) + len(changes)
        return data + self._writer.finish(bundle, count)

    def _changes(self, topic: Topic, unknown_tags: UnknownTagsImage) -> Iterator[ObjectChange]:
        """Yield the objects of one topic; `unknown_tags` are those of the whole image that it is a part of."""
        features = self._image.features
        topic_id = topic.topic_id
        found = exhaust(self._assessor.topic(topic, SliceBudget()))
        alone = MetadataImage(
            features=features,
            topics=TopicsImage(by_name=Map({topic.name: topic}), names=Map({topic_id: topic.name})),
        )
        if unknown_tags.tags:
            tags = _tags(unknown_tags, lambda key: key.kind in _KINDS and key.identity[0] == topic_id)
            tagged = MetadataImage(features=features, topics=alone.topics, unknown_tags=tags)
            found.losses += [loss for loss in assess(tagged, self._options).losses if loss.kind == UNKNOWN_TAG]
        if found.losses or found.inaccessible:
            yield from object_changes(alone, found, self._options, _counted_tag)


def _parts(topic: Topic) -> Iterator[Topic]:
    """Cut a topic into parts of as many partitions as a slice visits."""
    if topic.partition_count <= VISITS_PER_SLICE:
        yield topic
        return
    ids = tuple(partition_id for partition_id, _ in topic.items())
    size = VISITS_PER_SLICE // CHUNK
    for at in range(0, len(topic.chunks), size):
        yield Topic(topic.name, topic.topic_id, topic.chunks[at : at + size], ids[at * CHUNK : (at + size) * CHUNK])


def _tags(image: UnknownTagsImage, has: Callable[[ObjectKey], bool]) -> UnknownTagsImage:
    return UnknownTagsImage(Map({key: found for key, found in image.tags.items() if has(key)})) if image.tags else image


def _feature_changes(image: MetadataImage, levels: Mapping[str, int], reported: set[str]) -> Iterator[ObjectChange]:
    """Yield the other features that are lowered; those that cannot be kept are in the report."""
    for name, level in sorted(levels.items()):
        before, key = image.features.finalized.get(name, 0), feature_key(name).text()
        if level < before and key not in reported:
            yield ObjectChange(
                kind="feature_lowered" if level else "feature_dropped",
                key=key,
                before=(FeatureLevelRecord(name, before), 0),
                written=(FeatureLevelRecord(name, level), 0) if level else None,
            )


def _counted_tag(loss: Loss) -> KeptTag:
    tag = loss.row
    return KeptTag(tag.record, tag.path, tag.tag, tag.data)
