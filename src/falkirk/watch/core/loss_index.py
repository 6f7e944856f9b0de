"""What the metadata would lose, kept while it changes: each changed object is judged once for all older releases.

The rules of the loss catalogue are applied to one object at a time; which of them count for a release depends on the
finalized features alone. So a change costs as much as the objects that it touches, whatever the cluster's size. Only
the directories of replicas depend on other objects, the brokers: they are counted anew when a broker's directories
change, and only while nothing else decides on the lowest level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.client.node_configs import LackingPartition
from falkirk.metadata.levels.feature_levels import FeatureTarget, levels_at
from falkirk.metadata.losses.condition import AnyOf, RowContext, compiled
from falkirk.metadata.losses.loss import UNKNOWN_TAG, LossRule, Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE, config_rules
from falkirk.metadata.losses.loss_finder import row_context
from falkirk.metadata.records.record_key import ObjectKey, partition_key
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS, MetadataVersion
from falkirk.watch.core.object_rows import changed_rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from falkirk.logdir.target import Target
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.watch.core.findings import Place
    from falkirk.watch.core.places import Places

_PARTITION: Final = "PartitionRecord"
_DIRECTORIES: Final = "directory_assignment"
_NO_CONTEXT: Final = RowContext()
_NONE: Final[frozenset[int]] = frozenset()


class Entry(NamedTuple):
    """One object that a rule matches: since where, its topic's name, and how many times."""

    place: Place
    topic_name: str | None
    times: int = 1


class IndexedRule(NamedTuple):
    """A rule, and the release that it is about; None: of the catalogue, for all."""

    rule: LossRule
    holds: Callable[[Any, RowContext], bool]  # Any: a row
    release: str | None


class TargetRules(NamedTuple):
    """What counts for a target at the finalized features: indexes of rules, and the features that it drops."""

    lost: tuple[int, ...]
    inaccessible: tuple[int, ...]
    dropped_features: tuple[str, ...]
    levels: Mapping[str, int]


class LossIndex:
    """The losses of one image. `version` rises whenever a loss or a partition below its full ISR comes or goes."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.version = 0
        self.lacking: dict[ObjectKey, LackingPartition] = {}
        self._targets = targets
        self._rules = _indexed_rules(targets)
        self._by_record: dict[str, list[int]] = {}
        for index, indexed in enumerate(self._rules):
            self._by_record.setdefault(indexed.rule.record, []).append(index)
        self._any = {
            record: compiled(AnyOf(tuple(self._rules[index].rule.condition for index in indexes)))
            for record, indexes in self._by_record.items()
        }
        [directories] = (rule for rule in CATALOGUE if rule.kind == _DIRECTORIES)
        self._directories = directories
        self._clear()

    def _clear(self) -> None:
        self._entries: list[dict[ObjectKey, Entry]] = [{} for _ in self._rules]
        # Record type -> object -> rules that match it.
        self._matched: dict[str, dict[ObjectKey, tuple[int, ...]]] = {record: {} for record in self._by_record}
        # Topic id -> partitions that lose something or lack replicas.
        self._marked: dict[bytes, set[int]] = {}
        self.lacking.clear()
        self._without_directory: int | None = None
        self.version += 1

    def load(self, image: MetadataImage, places: Places) -> None:
        """Replace everything by what an image has; takes time in proportion to the image."""
        self._clear()
        self._retarget(image)
        for row in rows_of(image):
            self._set(*row, places)
        loses = self._any[_PARTITION]
        for topic in image.topics:
            for partition_id, partition in topic.items():
                if loses(partition, _NO_CONTEXT) or len(partition.isr) < len(partition.replicas):
                    self._mark(topic.topic_id, topic.name, partition_id, partition, places)
        for key, tags in image.unknown_tags.tags.items():
            self._set_tags(key, tags, image, places)

    def apply(self, delta: MetadataDelta, image: MetadataImage, places: Places) -> None:
        """Apply a change to what `delta.image` had; takes time in proportion to the change."""
        if delta.features is not None:
            self._retarget(image)
        for row in changed_rows(delta, image):
            self._set(*row, places)
        if delta.cluster is not None and row_context(delta.image) != row_context(image):
            self._without_directory = None
        self._apply_topics(delta, image, places)
        if delta.unknown_tags is not None:
            for key, tags in delta.unknown_tags.tags.changes.items():
                self._set_tags(key, tags or (), image, places)

    def rules_of(self, target: int) -> TargetRules:
        """Return what counts for the target of this index."""
        return self._applying[target]

    def count(self, rule: int) -> int:
        """Count what a rule matches."""
        entries = self._entries[rule]
        return (
            sum(entry.times for entry in entries.values())
            if self._rules[rule].rule.kind == UNKNOWN_TAG
            else len(entries)
        )

    def counts(self, rules: Sequence[int]) -> dict[str, int]:
        """Count what rules match, by kind; kinds without a match are left out."""
        found: dict[str, int] = {}
        for index in rules:
            number = self.count(index)
            if number:
                kind = self._rules[index].rule.kind
                found[kind] = found.get(kind, 0) + number
        return found

    def has_any(self, rules: Sequence[int]) -> bool:
        """Return whether one of the rules matches anything."""
        return any(self._entries[index] for index in rules)

    def rule(self, index: int) -> LossRule:
        """Return a rule."""
        return self._rules[index].rule

    def entries(self, rule: int) -> Iterator[tuple[ObjectKey, Entry]]:
        """Yield what a rule matches."""
        yield from self._entries[rule].items()

    def keys(self) -> set[ObjectKey]:
        """Return every object that would lose something."""
        return {key for entries in self._entries for key in entries}

    def adopt_places(self, places: Mapping[tuple[int, ObjectKey], Place]) -> None:
        """Replace the places of losses that are known better, by rule and object."""
        for (rule, key), place in places.items():
            entry = self._entries[rule].get(key)
            if entry is not None:
                self._entries[rule][key] = entry._replace(place=place)
        self.version += 1

    def places(self) -> Iterator[tuple[tuple[int, ObjectKey], Place]]:
        """Yield the places of all losses, by rule and object."""
        for rule, entries in enumerate(self._entries):
            for key, entry in entries.items():
                yield (rule, key), entry.place

    def lowest_level(self, image: MetadataImage) -> tuple[MetadataVersion, dict[str, int]]:
        """Return the lowest metadata.version that holds the image, and what forces it: kind -> number."""
        own = _own_level(image)
        by_level: dict[int, dict[str, int]] = {}
        for index, (rule, _, _) in enumerate(self._rules):
            level = rule.level or 0
            if rule.outcome is Outcome.LOST and level > FLOOR.level and rule.has_meaning(own) and self._entries[index]:
                by_level.setdefault(level, {})[rule.kind] = len(self._entries[index])
        level = self._directories.level or 0
        if max(by_level, default=0) <= level:
            if self._without_directory is None:
                self._without_directory = _count_directories(image)
            if self._without_directory:
                by_level.setdefault(level, {})[_DIRECTORIES] = self._without_directory
        if not by_level:
            return FLOOR, {}
        highest = max(by_level)
        return MetadataVersion.of_level(highest), by_level[highest]

    def _retarget(self, image: MetadataImage) -> None:
        self._applying = [self._target_rules(image, target) for target in self._targets]
        self.version += 1

    def _target_rules(self, image: MetadataImage, target: Target) -> TargetRules:
        at, own = target.metadata_version, _own_level(image)
        levels, dropped = levels_at(image.features, FeatureTarget(metadata_version=at, release=target.release))
        elr_enabled = levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0 and at.elr_supported
        counting = [
            (index, rule)
            for index, (rule, _, release) in enumerate(self._rules)
            if release == target.release.name
            or (release is None and rule.applies(at, elr_enabled=elr_enabled) and rule.has_meaning(own))
        ]
        return TargetRules(
            lost=tuple(index for index, rule in counting if rule.outcome is Outcome.LOST),
            inaccessible=tuple(index for index, rule in counting if rule.outcome is Outcome.INACCESSIBLE),
            dropped_features=tuple(loss.detail for loss in dropped),
            levels=levels,
        )

    def _apply_topics(self, delta: MetadataDelta, image: MetadataImage, places: Places) -> None:
        topics = delta.topics
        if topics is None:
            return
        counts_directories = self._without_directory is not None
        context = row_context(image) if counts_directories else _NO_CONTEXT
        for topic_id in topics.deleted:
            self._forget_topic(topic_id)
            if counts_directories and (gone := delta.image.topics.topic_by_id(topic_id)) is not None:
                self._count_directories(-1, (partition for _, partition in gone.items()), context)
        loses = self._any[_PARTITION]
        for topic_id, changed in topics.changed.items():
            before = changed.before
            if before is None:
                self._forget_topic(topic_id)
                before = delta.image.topics.topic_by_id(topic_id) if topic_id not in topics.deleted else None
                if counts_directories and before is not None:
                    self._count_directories(-1, (partition for _, partition in before.items()), context)
                    before = None
            marked = self._marked.get(topic_id, _NONE)
            for partition_id, partition in changed.partitions.items():
                lacks = len(partition.isr) < len(partition.replicas)
                if lacks or partition_id in marked or loses(partition, _NO_CONTEXT):
                    self._mark(topic_id, changed.name, partition_id, partition, places)
                if counts_directories:
                    old = None if before is None else before.partition(partition_id)
                    self._count_directories(-1, () if old is None else (old,), context)
                    self._count_directories(1, (partition,), context)

    def _count_directories(
        self, sign: int, partitions: Iterator[Partition] | tuple[Partition, ...], context: RowContext
    ) -> None:
        holds = compiled(self._directories.condition)
        assert self._without_directory is not None
        self._without_directory += sign * sum(holds(partition, context) for partition in partitions)

    def _forget_topic(self, topic_id: bytes) -> None:
        for partition_id in self._marked.pop(topic_id, ()):
            key = partition_key(topic_id, partition_id)
            self._unmatch(_PARTITION, key)
            self.lacking.pop(key, None)
            self.version += 1

    def _mark(self, topic_id: bytes, name: str, partition_id: int, partition: Partition, places: Places) -> None:
        """Set the losses of a partition that has some, or had."""
        key = partition_key(topic_id, partition_id)
        lacks = len(partition.isr) < len(partition.replicas)
        if lacks:
            # In place, so that the order is that in which they began to lack replicas.
            self.lacking[key] = LackingPartition(
                partition=TopicPartition(name, partition_id), replicas=partition.replicas, isr=partition.isr
            )
            self.version += 1
        elif self.lacking.pop(key, None) is not None:
            self.version += 1
        loses = self._set(_PARTITION, key, partition, places, topic_name=name)
        if lacks or loses:
            self._marked.setdefault(topic_id, set()).add(partition_id)
        elif topic_id in self._marked:
            self._marked[topic_id].discard(partition_id)
            if not self._marked[topic_id]:
                del self._marked[topic_id]

    def _set_tags(self, key: ObjectKey, tags: Sequence[object], image: MetadataImage, places: Places) -> None:
        topic_name = image.topics.names.get(key.identity[0]) if key.kind in {"topic", "partition"} else None
        self._set("", key, tags[0] if tags else None, places, topic_name=topic_name, times=len(tags))

    def _set(
        self,
        record: str,
        key: ObjectKey,
        row: Any,  # Any: a row, see falkirk.metadata.losses.condition; None: the object is gone
        places: Places,
        *,
        topic_name: str | None = None,
        times: int = 1,
    ) -> bool:
        """Judge an object; return whether it loses anything."""
        loses = self._any.get(record)
        if loses is None:
            return False
        if row is None or not loses(row, _NO_CONTEXT):
            self._unmatch(record, key)
            return False
        matching = tuple(index for index in self._by_record[record] if self._rules[index].holds(row, _NO_CONTEXT))
        known = self._matched[record].get(key, ())
        for index in known:
            if index not in matching:
                del self._entries[index][key]
                self.version += 1
        for index in matching:
            entry = self._entries[index].get(key)
            if entry is None:
                entry = Entry(places.of(key, self._rules[index].rule), topic_name, times)
                self.version += 1
            elif entry.times != times:
                entry = entry._replace(times=times)
                self.version += 1
            self._entries[index][key] = entry
        self._matched[record][key] = matching
        return True

    def _unmatch(self, record: str, key: ObjectKey) -> None:
        for index in self._matched[record].pop(key, ()):
            del self._entries[index][key]
            self.version += 1


def _indexed_rules(targets: Sequence[Target]) -> tuple[IndexedRule, ...]:
    """Return the rules that can count for a target or for the lowest level."""
    lowest = min((target.metadata_version for target in targets), default=FLOOR)
    rules = [
        IndexedRule(rule, compiled(rule.condition), None)
        for rule in CATALOGUE
        if rule.kind != _DIRECTORIES and (rule.elr or rule.level is None or rule.level > min(lowest, FLOOR).level)
    ]
    for target in targets:
        rules += [
            IndexedRule(rule, compiled(rule.condition), target.release.name)
            for rule in config_rules(target.metadata_version, target.release)
        ]
    return tuple(rules)


def _own_level(image: MetadataImage) -> MetadataVersion:
    return image.features.metadata_version or METADATA_VERSIONS[-1]


def _count_directories(image: MetadataImage) -> int:
    [rule] = (rule for rule in CATALOGUE if rule.kind == _DIRECTORIES)
    holds, context = compiled(rule.condition), row_context(image)
    return sum(holds(partition, context) for topic in image.topics for _, partition in topic.items())
