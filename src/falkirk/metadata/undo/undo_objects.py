"""The objects of an undo bundle: each object's record before a change of levels, and as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.broker_registration import BrokerRegistration
from falkirk.metadata.levels.writer import LossReport, WriterOptions, assess, written_records
from falkirk.metadata.losses.loss import UNKNOWN_TAG, Loss
from falkirk.metadata.records.record_key import broker_key, feature_key
from falkirk.metadata.undo.undo_bundle import Bundle, KeptTag, ObjectChange
from falkirk.protocol.messages import FeatureLevelRecord, RegisterBrokerRecord
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, METADATA_VERSIONS, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.protocol.messages import VotersRecord


def live_bundle(
    image: MetadataImage,
    levels: Mapping[str, int],
    *,
    cluster_id: str,
    kraft_version: int,
    voters: VotersRecord | None,
) -> Bundle:
    """Return the bundle that undoes a change of feature levels in a running cluster, for `falkirk logdir undo`.

    `image` is the one just before the change. `levels` has the new level of each feature that changes (0: it is
    removed), with or without metadata.version and eligible.leader.replicas.version. Coordinator partitions are not
    changed, so there are no groups. An unknown tagged field of a struct in a record is named by the struct's place.
    """
    own = image.features.metadata_version
    assert own is not None, "a running cluster has a metadata.version"
    to = MetadataVersion.of_level(levels.get(METADATA_VERSION, own.level))
    elr_level = levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION)
    options = WriterOptions(
        metadata_version=to,
        bootstrap_levels_bind=False,
        bumps_partition_epochs=True,
        elr_enabled=None if elr_level is None else elr_level > 0,
    )
    changes = [*object_changes(image, assess(image, options), options, _counted_tag)]
    return Bundle(
        cluster_id=cluster_id,
        level_before=own.level,
        level_after=to.level,
        release_after=to.release,
        features_before=image.features.levels(kraft_version=kraft_version),
        kraft_version_before=kraft_version,
        kraft_version_after=kraft_version,
        voters=voters if kraft_version > 0 else None,
        objects=(*changes, *_feature_changes(image, levels, {change.key for change in changes})),
        groups={},
    )


def object_changes(
    image: MetadataImage, report: LossReport, options: WriterOptions, kept_tag: Callable[[Loss], KeptTag]
) -> Iterator[ObjectChange]:
    """Yield each object of `report` once, whatever it lost, and brokers that read differently afterwards.

    `report` is the result of `assess` with the same options; `kept_tag` names an unknown tagged field.
    """
    losses = (*report.losses, *report.inaccessible, *report.dropped_features)
    keys = {loss.key for loss in losses} | set(map(broker_key, image.cluster.brokers))
    written = written_records(image, options, keys)
    done: set[ObjectKey] = set()
    tags: dict[ObjectKey, list[KeptTag]] = {}
    first: dict[ObjectKey, Loss] = {}
    for loss in losses:
        first.setdefault(loss.key, loss)
        if loss.kind == UNKNOWN_TAG:
            tags.setdefault(loss.key, []).append(kept_tag(loss))
    for loss in losses:
        original = None if loss.key in done else loss.original
        if original is not None:
            done.add(loss.key)
            yield ObjectChange(
                kind=loss.kind,
                key=loss.key_text,
                before=original,
                written=written.get(loss.key),
                unknown_tags=tuple(tags.pop(loss.key, ())),
            )
    yield from _broker_changes(image, written, done)
    for key, found in tags.items():
        loss = first[key]
        yield ObjectChange(
            kind=loss.kind, key=loss.key_text, before=None, written=written.get(key), unknown_tags=tuple(found)
        )


def _broker_changes(
    image: MetadataImage, written: Mapping[ObjectKey, VersionedRecord], done: set[ObjectKey]
) -> Iterator[ObjectChange]:
    """Yield brokers without a loss whose registration reads differently afterwards: an empty list for none."""
    own = image.features.metadata_version or METADATA_VERSIONS[-1]
    for broker_id, broker in image.cluster.brokers.items():
        key = broker_key(broker_id)
        record = written[key].record
        assert isinstance(record, RegisterBrokerRecord)
        if key not in done and BrokerRegistration.from_record(record) != broker:
            yield ObjectChange(kind="broker", key=key.text(), before=broker.to_record(own), written=written[key])


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
