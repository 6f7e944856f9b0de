"""Writes an image as records of a metadata.version, and reports what is lost.

The order of the areas and the record versions are Kafka's; within an area objects come in a fixed order, so that all
nodes write the same. One code path serves a live SAFE or UNSAFE downgrade, a dry run and stopped directories: they
differ in what they do about a loss. Differs from Kafka in what counts as a loss and in what is converted:
docs/reference/operator-differences.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from falkirk.metadata.image.client_quotas import client_quota_record
from falkirk.metadata.image.features import NO_ZK_MIGRATION
from falkirk.metadata.image.partition_writer import PartitionWriter
from falkirk.metadata.image.topics import TopicsImage
from falkirk.metadata.levels.elr_conversion import without_elr
from falkirk.metadata.levels.feature_levels import FeatureTarget, levels_at
from falkirk.metadata.losses.loss import Loss, Outcome, refuse_losses
from falkirk.metadata.losses.loss_catalogue import CATALOGUE, config_rules
from falkirk.metadata.losses.loss_finder import LossFinder
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.records.errors import UnwritableLevelError
from falkirk.metadata.records.record_key import (
    ZK_MIGRATION_STATE_KEY,
    ObjectKey,
    acl_key,
    broker_key,
    config_key,
    controller_key,
    delegation_token_key,
    object_key,
    partition_key,
    scram_key,
)
from falkirk.protocol.messages import (
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    TopicRecord,
    ZkMigrationStateRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.slices import VISITS_PER_SLICE, SliceBudget, exhaust
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, METADATA_VERSIONS, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices
    from falkirk.versions.release import Release


T = TypeVar("T")
LEVEL_MIN: Final = MetadataVersion.parse("3.3-IV0")
"""Below it the log has no FeatureLevelRecord, so an image cannot hold its own level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """How to write an image.

    `release`: of the nodes that will read it; features that it does not support are dropped, configs that it does not
    know are reported. `bootstrap_levels_bind`: see FeatureTarget. `elr_enabled`: whether eligible leader replicas are
    on afterwards; None: as the kept features say. `bumps_partition_epochs`: raise the partition epoch of converted
    partitions, for live replicas.
    """

    metadata_version: MetadataVersion
    release: "Release | None" = None
    bootstrap_levels_bind: bool | None = None
    elr_enabled: bool | None = None
    bumps_partition_epochs: bool = False


@dataclass(slots=True)
class LossReport:
    """Losses in the order of writing, by outcome; `report.add` is a loss handler."""

    losses: list[Loss] = field(default_factory=list)
    inaccessible: list[Loss] = field(default_factory=list)
    dropped_features: list[Loss] = field(default_factory=list)

    def add(self, loss: Loss) -> None:
        """Add a loss to the list of its outcome."""
        {
            Outcome.LOST: self.losses,
            Outcome.INACCESSIBLE: self.inaccessible,
            Outcome.FEATURE: self.dropped_features,
        }[loss.outcome].append(loss)

    @property
    def is_lossless(self) -> bool:
        """True if SAFE goes on."""
        return not self.losses


def write_image(
    image: MetadataImage, options: WriterOptions, on_loss: Callable[[Loss], None] = refuse_losses
) -> Iterator[VersionedRecord]:
    """Yield the image's records in Kafka's order; `on_loss` is called before the record that lacks something.

    By default the first loss raises LossError. Raises UnwritableLevelError below 3.3-IV0.
    """
    _check_level(options)
    return _Writer(image, options, on_loss).records()


def write_values(image: MetadataImage, options: WriterOptions) -> Iterator[bytes]:
    """Yield the records of `write_image` as values of a log or snapshot, frames included; much faster than one by one.

    A topic that is written is held no longer: of an image that is out of date nothing else may hold it, and to free
    all topics at once takes as long as to visit them. Losses are not reported: `assess` does that. Raises
    UnwritableLevelError as `write_image` does.
    """
    _check_level(options)
    others = msgspec.structs.replace(image, topics=TopicsImage(names=image.topics.names))
    return _Writer(others, options, lambda _: None).values(image.topics)


def written_records(
    image: MetadataImage, options: WriterOptions, keys: AbstractSet[ObjectKey]
) -> dict[ObjectKey, VersionedRecord]:
    """Return the records that `write_image` yields for some objects; those that it leaves out are not in the result.

    Takes time in proportion to the keys, and to the objects that are neither topics nor partitions.
    """
    _check_level(options)
    return _Writer(image, options, lambda _: None).records_of(keys)


def assess(image: MetadataImage, options: WriterOptions) -> LossReport:
    """Return what writing the image would lose, drop and convert, by the same code without the records.

    Raises UnwritableLevelError as `write_image` does.
    """
    return exhaust(assess_slices(image, options))


def assess_slices(image: MetadataImage, options: WriterOptions) -> Slices[LossReport]:
    """Do what `assess` does, in slices of bounded size."""
    report = LossReport()
    _check_level(options)
    yield from _Writer(image, options, report.add).report()
    return report


class Assessor:
    """Judges an image as `assess` does, but each topic on its own: for topics that change meanwhile.

    Raises UnwritableLevelError as `write_image` does.
    """

    def __init__(self, image: MetadataImage, options: WriterOptions) -> None:
        _check_level(options)
        self._found = LossReport()
        self._writer = _Writer(image, options, self._add)

    @property
    def elr_enabled(self) -> bool:
        """Whether partitions keep eligible leader replicas."""
        return self._writer.elr_enabled

    def others(self) -> Slices[tuple[LossReport, LossReport]]:
        """Return what is lost before the topics and behind them, in the order of writing."""
        before = self._found = LossReport()
        yield from self._writer.report_before_topics()
        behind = self._found = LossReport()
        yield from self._writer.report_behind_topics()
        return before, behind

    def topic(self, topic: Topic, budget: SliceBudget) -> Slices[LossReport]:
        """Return what the partitions of a topic lose; one topic at a time."""
        found = self._found = LossReport()
        yield from self._writer.report_topic(topic, budget)
        return found

    def _add(self, loss: Loss) -> None:
        self._found.add(loss)


def _check_level(options: WriterOptions) -> None:
    if options.metadata_version < LEVEL_MIN:
        raise UnwritableLevelError(f"no image can be written at {options.metadata_version}, only from {LEVEL_MIN} on")


class _Writer:
    def __init__(self, image: MetadataImage, options: WriterOptions, on_loss: Callable[[Loss], None]) -> None:
        self._image = image
        self._options = options
        self._on_loss = on_loss
        self._at = at = options.metadata_version
        # Originals are written as the image's own level has them, and with everything if it does not say.
        self._own = image.features.metadata_version or METADATA_VERSIONS[-1]
        target = FeatureTarget(
            metadata_version=at,
            release=options.release,
            bootstrap_levels_bind=options.bootstrap_levels_bind,
            elr_enabled=options.elr_enabled,
        )
        self._levels, self._feature_losses = levels_at(image.features, target)
        enabled = options.elr_enabled
        if enabled is None:
            enabled = self._levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0
        self.elr_enabled = enabled and at.elr_supported
        rules = [
            rule for rule in CATALOGUE if rule.applies(at, elr_enabled=self.elr_enabled) and rule.has_meaning(self._own)
        ]
        if options.release is not None:
            rules += config_rules(at, options.release)
        self._finder = LossFinder(image, rules)

    def records(self) -> Iterator[VersionedRecord]:
        """Yield all records, and report losses on the way."""
        yield from self._before_topics()
        yield from self._topics()
        yield from self._behind_topics()

    def values(self, topics: TopicsImage) -> Iterator[bytes]:
        """Return an iterator of all records encoded; losses of partitions are not reported."""
        return self._values([*topics][::-1])

    def _values(self, topics: list[Topic]) -> Iterator[bytes]:
        """Yield the records of `values`; removes from the list of topics, the first of them last, what is written."""
        for record in self._before_topics():
            yield encode_metadata_record(*record)
        writer = PartitionWriter(self._at, elr_enabled=self.elr_enabled)
        while topics:
            topic = topics.pop()
            topic_id = topic.topic_id
            yield encode_metadata_record(TopicRecord(topic.name, topic_id), 0)
            for partition_id, partition in topic.items():
                # Asked here too, to spare two calls for each of the many partitions that have none.
                has_elr = partition.eligible_leader_replicas or partition.last_known_elr
                yield writer.value(topic_id, partition_id, self._converted(partition) if has_elr else partition)
        for record in self._behind_topics():
            yield encode_metadata_record(*record)

    def records_of(self, keys: AbstractSet[ObjectKey]) -> dict[ObjectKey, VersionedRecord]:
        """Return the records of some objects."""
        found: dict[ObjectKey, VersionedRecord] = {}
        for record in chain(self._before_topics(), self._behind_topics()):
            key = object_key(record.record)
            if key is not None and key in keys:
                found[key] = record
        for key in keys:
            topic = self._image.topics.topic_by_id(key.identity[0]) if key.kind in {"topic", "partition"} else None
            if topic is None:
                continue
            if key.kind == "topic":
                found[key] = VersionedRecord(TopicRecord(topic.name, topic.topic_id), 0)
            elif (partition := topic.partition(key.identity[1])) is not None:
                found[key] = self._partition(topic, key.identity[1], partition)
        return found

    def report(self) -> Slices[None]:
        """Report all losses, without making records of the many partitions that have none."""
        yield from self.report_before_topics()
        if self._finder.has_rules("PartitionRecord"):
            budget = SliceBudget()
            for topic in self._image.topics:
                yield from self.report_topic(topic, budget)
        yield from self.report_behind_topics()

    def report_before_topics(self) -> Slices[None]:
        """Report the losses of what is written before the topics."""
        yield from _visit(self._before_topics())

    def report_behind_topics(self) -> Slices[None]:
        """Report the losses of what is written behind the topics."""
        yield from _visit(self._behind_topics())

    def report_topic(self, topic: Topic, budget: SliceBudget) -> Slices[None]:
        """Report the losses of a topic's partitions."""
        loses_something, context = self._finder.any_of("PartitionRecord"), self._finder.context
        if loses_something is None:
            return
        items = topic.items()
        while part := list(islice(items, VISITS_PER_SLICE)):
            for partition_id, partition in part:
                if loses_something(partition, context):
                    self._report_partition(topic, partition_id, partition)
            if budget.spend(len(part)):
                yield

    def _before_topics(self) -> Iterator[VersionedRecord]:
        yield from self._features()
        yield from self._cluster()

    def _behind_topics(self) -> Iterator[VersionedRecord]:
        yield from self._configs()
        yield from self._client_quotas()
        yield from self._producer_ids()
        yield from self._acls()
        yield from self._scram()
        yield from self._delegation_tokens()
        self._unknown_tags()

    def _features(self) -> Iterator[VersionedRecord]:
        # First of all and at version 0: readers need the level to decode the rest.
        yield VersionedRecord(FeatureLevelRecord(METADATA_VERSION, self._at.level), 0)
        for loss in self._feature_losses:
            self._on_loss(loss)
        for name, level in self._levels.items():
            yield VersionedRecord(FeatureLevelRecord(name, level), 0)
        state = ZkMigrationStateRecord(self._image.features.zk_migration_state)
        self._report("ZkMigrationStateRecord", ZK_MIGRATION_STATE_KEY, state, original=lambda: (state, 0))
        # "None" is the default; Kafka 3 writes it, Kafka 4 does not.
        if state.zk_migration_state != NO_ZK_MIGRATION and self._at.migration_supported:
            yield VersionedRecord(state, 0)

    def _cluster(self) -> Iterator[VersionedRecord]:
        for broker_id, broker in sorted(self._image.cluster.brokers.items()):
            record, version = broker.to_record(self._at)
            self._report(
                "RegisterBrokerRecord",
                broker_key(broker_id),
                broker,
                written=partial(_same, record),
                original=partial(broker.to_record, self._own),
            )
            yield VersionedRecord(record, version)
        for controller_id, controller in sorted(self._image.cluster.controllers.items()):
            if self._at.controller_registration_supported:
                yield VersionedRecord(*controller.to_record(self._at))
            else:
                original = partial(controller.to_record, METADATA_VERSIONS[-1])
                self._report("RegisterControllerRecord", controller_key(controller_id), controller, original=original)

    def _topics(self) -> Iterator[VersionedRecord]:
        has_rules = self._finder.has_rules("PartitionRecord")
        for topic in self._image.topics:
            yield VersionedRecord(TopicRecord(topic.name, topic.topic_id), 0)
            for partition_id, partition in topic.items():
                if has_rules:
                    self._report_partition(topic, partition_id, partition)
                yield self._partition(topic, partition_id, partition)

    def _partition(self, topic: Topic, partition_id: int, partition: Partition) -> VersionedRecord:
        record, version = self._converted(partition).to_record(
            topic.topic_id, partition_id, self._at, elr_enabled=self.elr_enabled
        )
        return VersionedRecord(record, version)

    def _converted(self, partition: Partition) -> Partition:
        if self.elr_enabled:
            return partition
        return without_elr(partition, bumps_epoch=self._options.bumps_partition_epochs)

    def _report_partition(self, topic: Topic, partition_id: int, partition: Partition) -> None:
        rules = self._finder.matches("PartitionRecord", partition)
        if not rules:
            return
        topic_id = topic.topic_id
        losses = self._finder.find(
            "PartitionRecord",
            partition_key(topic_id, partition_id),
            partition,
            written=lambda: self._partition(topic, partition_id, partition).record,
            topic_name=topic.name,
            original=partial(partition.to_record, topic_id, partition_id, self._own, elr_enabled=True),
            rules=rules,
        )
        for loss in losses:
            self._on_loss(loss)

    def _configs(self) -> Iterator[VersionedRecord]:
        for (resource_type, resource_name), name, value in self._image.configs:
            written = VersionedRecord(ConfigRecord(resource_type, resource_name, name, value), 0)
            if self._finder.has_rules("ConfigRecord"):
                key = config_key(resource_type, resource_name, name)
                record = partial(_same, written.record)
                self._report("ConfigRecord", key, written.record, written=record, original=partial(_same, written))
            yield written

    def _client_quotas(self) -> Iterator[VersionedRecord]:
        for entity, key, value in self._image.client_quotas:
            yield VersionedRecord(*client_quota_record(entity, key, value))

    def _producer_ids(self) -> Iterator[VersionedRecord]:
        next_producer_id = self._image.producer_ids.next_producer_id
        if next_producer_id >= 0:
            yield VersionedRecord(ProducerIdsRecord(-1, -1, next_producer_id), 0)

    def _acls(self) -> Iterator[VersionedRecord]:
        for acl_id, acl in sorted(self._image.acls.acls.items(), key=itemgetter(0)):
            written = VersionedRecord(*acl.to_record(acl_id))
            self._report(
                "AccessControlEntryRecord",
                acl_key(acl_id),
                acl,
                written=partial(_same, written.record),
                original=partial(_same, written),
            )
            yield written

    def _scram(self) -> Iterator[VersionedRecord]:
        for user, credential in sorted(self._image.scram.credentials.items(), key=itemgetter(0)):
            record = VersionedRecord(*credential.to_record(user))
            key = scram_key(user.name, user.mechanism)
            self._report("UserScramCredentialRecord", key, credential, original=partial(_same, record))
            if self._at.scram_supported:
                yield record

    def _delegation_tokens(self) -> Iterator[VersionedRecord]:
        for token_id, token in sorted(self._image.delegation_tokens.tokens.items(), key=itemgetter(0)):
            record = VersionedRecord(*token.to_record(token_id))
            key = delegation_token_key(token_id)
            self._report("DelegationTokenRecord", key, token, original=partial(_same, record))
            if self._at.delegation_token_supported:
                yield record

    def _unknown_tags(self) -> None:
        for key, tags in sorted(self._image.unknown_tags.tags.items(), key=repr):
            topic_name = self._image.topics.names.get(key.identity[0]) if key.kind in {"topic", "partition"} else None
            for tag in tags:
                self._report("", key, tag, topic_name=topic_name, original=lambda: None)

    def _report(
        self,
        record: str,
        key: ObjectKey,
        row: object,
        *,
        original: Callable[[], tuple[WireMessage, int] | None],
        written: Callable[[], WireMessage] | None = None,
        topic_name: str | None = None,
    ) -> None:
        """Report the losses of one object."""
        losses = self._finder.find(record, key, row, original=original, written=written, topic_name=topic_name)
        for loss in losses:
            self._on_loss(loss)


def _visit(records: Iterator[VersionedRecord]) -> Slices[None]:
    budget = SliceBudget()
    for _ in records:
        if budget.spend(1):
            yield


def _same(value: T) -> T:
    return value
