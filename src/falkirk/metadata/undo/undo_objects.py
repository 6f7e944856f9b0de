"""The objects of an undo bundle: each object's record before a change of levels, and as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.broker_registration import BrokerRegistration
from falkirk.metadata.levels.writer import LossReport, WriterOptions, written_records
from falkirk.metadata.losses.loss import UNKNOWN_TAG, Loss
from falkirk.metadata.records.record_key import broker_key
from falkirk.metadata.undo.undo_bundle import KeptTag, ObjectChange
from falkirk.protocol.messages import RegisterBrokerRecord
from falkirk.versions.metadata_version import METADATA_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.metadata.records.record_key import ObjectKey


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
