"""Works out what lowering features does to every topic, over many slices, while the image moves on.

Each topic is judged on its own and kept with what was found. Topics that changed since are judged again, until those
that are left fit one slice: then all of it holds for one image, and a decision can rest on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from falkirk.metadata.controller.state.broker_partitions import PartitionChanges
from falkirk.metadata.controller.state.partition_set import PartitionKey
from falkirk.metadata.controller.state.prepared_lowering import PreparedLowering
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.topics import TopicsImage
from falkirk.metadata.levels.feature_scrubbing import scrubbing_options, scrubbing_records
from falkirk.metadata.levels.lowering import PartitionLowering, lowering_options
from falkirk.metadata.levels.writer import Assessor, LossReport
from falkirk.metadata.losses.loss_finder import row_context
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import ClearElrRecord, FeatureLevelRecord, PartitionChangeRecord
from falkirk.slices import VISITS_PER_SLICE, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.losses.condition import RowContext
    from falkirk.metadata.losses.loss import Loss
    from falkirk.slices import Slices
    from falkirk.versions.metadata_version import MetadataVersion


_NO_LOSSES: Final = LossReport()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweringPlan:
    """What is lowered: `scrubs_elr`, eligible leader replicas are removed; `to`, metadata.version falls to that.

    `others`: the levels of all other features afterwards, by name.
    """

    scrubs_elr: bool
    to: "MetadataVersion | None"
    others: "Mapping[str, int]"


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessedLowering:
    """The losses of a plan for one image; `records` remove eligible leader replicas."""

    elr_losses: "list[Loss]"
    records: list[VersionedRecord]
    report: LossReport
    prepared: PreparedLowering


class _JudgedTopic(NamedTuple):
    """A topic, what it loses, the records that remove its eligible leader replicas, and the topic afterwards."""

    topic: "Topic"
    elr_losses: "list[Loss]"
    records: list[VersionedRecord]
    report: LossReport
    after: "Topic"


class LoweringWork:
    """One plan, worked out for the image that a controller decides on."""

    def __init__(self, plan: LoweringPlan, state: ControllerState) -> None:
        self.plan = plan
        self._state = state
        self._settled_topics: TopicsImage | None = None
        self._assessed: AssessedLowering | None = None
        self._restart()

    def settle(self) -> Slices[None]:
        """Go on until everything holds for the image of the very step that the last slice runs in."""
        while True:
            image = self._state.image
            if image.features != self._base.features or row_context(image) != self._row_context:
                self._restart()
                continue
            if self.is_settled:
                return
            self._assessed = None
            changed = self._changed(image)
            if self._others_of is None or sum(map(_size, changed)) > VISITS_PER_SLICE:
                yield from self._judge_others(image)
                budget = SliceBudget()
                for name, topic in changed:
                    yield from self._judge(name, topic, budget)
                continue
            for name, topic in changed:
                exhaust(self._judge(name, topic, SliceBudget()))
            exhaust(self._judge_others(image))
            self._settled_topics = image.topics
            return

    @property
    def is_settled(self) -> bool:
        """Whether everything holds for the image as it is now."""
        image = self._state.image
        return image.topics is self._settled_topics and self._others_of == _parts_beside_topics(image)

    def assessed(self) -> AssessedLowering:
        """Return what was worked out; it must be settled."""
        assert self.is_settled
        if self._assessed is None:
            self._assessed = self._joined()
        return self._assessed

    def _joined(self) -> AssessedLowering:
        """Put together what was found, in the order of writing."""
        before, behind = self._others
        found = AssessedLowering(
            elr_losses=[],
            records=[],
            report=LossReport(),
            prepared=PreparedLowering(
                topics=self._state.image.topics,
                after=TopicsImage(by_name=self._after, names=self._state.image.topics.names),
                report=before,
                partitions=self._partitions,
            ),
        )
        _extend(found.report, before)
        for name in sorted(self._with_losses):
            each = self._judged[name]
            found.elr_losses.extend(each.elr_losses)
            found.records.extend(each.records)
            _extend(found.report, each.report)
        _extend(found.report, behind)
        if len(found.records) < len(found.elr_losses):
            found.records.append(VersionedRecord(ClearElrRecord(""), 0))
        return found

    def _restart(self) -> None:
        """Begin anew: what all topics are judged by has changed, or nothing was judged yet."""
        image = self._base = self._state.image
        self._row_context: RowContext = row_context(image)
        # The image that topics and the rest are judged by: its features are those before metadata.version falls.
        self._scrubbing = Assessor(image, scrubbing_options(image)) if self.plan.scrubs_elr else None
        self._lowering = self._assessor(image)
        self._judged: dict[str, _JudgedTopic] = {}
        self._with_losses: set[str] = set()
        self._removed: set[str] = set()
        self._partitions = self._state.partitions
        self._after = image.topics.by_name
        self._settled_topics = None
        self._assessed = None
        self._others: tuple[LossReport, LossReport] = (LossReport(), LossReport())
        self._others_of: tuple[object, ...] | None = None

    def _assessor(self, image: MetadataImage) -> Assessor | None:
        if self.plan.to is None:
            return None
        delta = MetadataDelta(image)
        for name, level in self.plan.others.items():
            delta.replay(FeatureLevelRecord(name, level))
        features = image.features if delta.features is None else delta.features.apply()
        return Assessor(msgspec.structs.replace(image, features=features), lowering_options(self.plan.to))

    def _changed(self, image: MetadataImage) -> list[tuple[str, Topic | None]]:
        """Return the topics that differ from those that were judged, None for those that are gone, which come first."""
        if image.topics is self._settled_topics:
            return []
        judged, by_name, base = self._judged, image.topics.by_name, self._base.topics
        gone = [name for name in judged if name not in by_name]
        if base is not image.topics:
            known = judged.keys() | self._removed
            gone += [name for name in base.by_name if name not in by_name and name not in known]
        changed: list[tuple[str, Topic | None]] = [(name, None) for name in gone]
        for name, topic in by_name.items():
            found = judged.get(name)
            if found is None or found.topic is not topic:
                changed.append((name, topic))
        return changed

    def _judge_others(self, image: MetadataImage) -> Slices[None]:
        parts = _parts_beside_topics(image)
        if parts == self._others_of:
            return
        assessor = self._assessor(msgspec.structs.replace(image, topics=TopicsImage(names=image.topics.names)))
        if assessor is not None:
            self._others = yield from assessor.others()
        self._others_of = parts

    def _judge(self, name: str, topic: Topic | None, budget: SliceBudget) -> Slices[None]:
        """Judge a topic, or forget it if it is gone."""
        known = self._judged.pop(name, None)
        old = None if name in self._removed else self._base.topics.by_name.get(name)
        if known is not None:
            old = known.after
        if topic is None:
            self._removed.add(name)
            self._with_losses.discard(name)
            if name in self._after:
                self._after = self._after.delete(name)
            self._index(old, None)
            return
        judged = yield from self._judged_topic(topic, budget)
        self._judged[name] = judged
        if judged.after is not self._after.get(name):
            self._after = self._after.set(name, judged.after)
        if judged.elr_losses or judged.report != _NO_LOSSES:
            self._with_losses.add(name)
        else:
            self._with_losses.discard(name)
        self._index(old, judged.after)

    def _judged_topic(self, topic: Topic, budget: SliceBudget) -> Slices[_JudgedTopic]:
        after, elr_losses, report = topic, [], _NO_LOSSES
        records: list[VersionedRecord] = []
        if self._scrubbing is not None:
            elr_losses = (yield from self._scrubbing.topic(topic, budget)).losses
            records = scrubbing_records(self._base, elr_losses)
            partitions = {loss.key.identity[1]: loss.row.without_elr() for loss in elr_losses}
            rows = {loss.key.identity[1]: loss.row for loss in elr_losses}
            for record, _ in records:
                assert isinstance(record, PartitionChangeRecord), "one for each partition without in-sync replicas"
                partitions[record.partition_id] = rows[record.partition_id].changed_by(record)
            after = topic.with_partitions(partitions) if partitions else topic
        if self._lowering is not None and self.plan.to is not None:
            report = yield from self._lowering.topic(after, budget)
            lowering = PartitionLowering(
                drops_elr=not self._lowering.elr_enabled,
                drops_directories=not self.plan.to.directory_assignment_supported,
            )
            lowered = yield from lowering.changes(after, budget)
            if lowered:
                after = after.with_partitions(lowered)
        return _JudgedTopic(topic, elr_losses, records, report, after)

    def _index(self, old: Topic | None, new: Topic | None) -> None:
        """Change the index where a topic differs from what it was."""
        if old is not None and new is not None and old.topic_id != new.topic_id:
            self._index(old, None)
            old = None
        changes, is_changed = PartitionChanges(), False
        before = {} if old is None else dict(old.items())
        after = {} if new is None else dict(new.items())
        topic = new or old
        for partition_id in {**before, **after}:
            was, now = before.get(partition_id), after.get(partition_id)
            if was is not now and topic is not None:
                is_changed = True
                changes.add(PartitionKey(topic.topic_id, partition_id), was, now)
        if is_changed:
            self._partitions = self._partitions.changed_by(changes)


def _size(changed: tuple[str, Topic | None]) -> int:
    return 1 if changed[1] is None else max(changed[1].partition_count, 1)


def _parts_beside_topics(image: MetadataImage) -> tuple[object, ...]:
    """Return everything else that can lose something; topics' names are those of their unknown tagged fields."""
    names = image.topics.names if image.unknown_tags.tags else None
    areas = (image.features, image.cluster, image.configs, image.acls, image.scram, image.delegation_tokens)
    return (*areas, image.unknown_tags, names)


def _extend(report: LossReport, more: LossReport) -> None:
    report.losses.extend(more.losses)
    report.inaccessible.extend(more.inaccessible)
    report.dropped_features.extend(more.dropped_features)
