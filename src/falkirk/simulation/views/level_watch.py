"""The changes of metadata.version in committed records, and the losses of each lowering."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.levels.feature_scrubbing import scrub_eligible_leader_replicas
from falkirk.metadata.levels.lowering import lowering_options
from falkirk.metadata.levels.writer import assess
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.losses.loss import Loss
    from falkirk.versions.metadata_version import MetadataVersion


class LevelChange(NamedTuple):
    """`end_offset`: of the batch; `losses`: of the image just before it, None if that image is unknown."""

    end_offset: int
    before: "MetadataVersion"
    after: "MetadataVersion"
    losses: "tuple[Loss, ...] | None"

    @property
    def is_lowering(self) -> bool:
        """True if the level fell."""
        return self.after < self.before


def _without_elr(image: MetadataImage) -> MetadataImage:
    """Return the image after the records of the same update that switch eligible leader replicas off."""
    if not image.features.is_elr_enabled:
        return image
    delta = MetadataDelta(image)
    for record, _ in scrub_eligible_leader_replicas(image).records:
        delta.replay(record)
    delta.replay(FeatureLevelRecord(ELIGIBLE_LEADER_REPLICAS_VERSION, 0))
    return delta.apply(image.provenance)


class LevelWatch:
    """A publisher; its loader must load each committed batch once, in a load of its own."""

    def __init__(self) -> None:
        self.changes: list[LevelChange] = []
        self.level: MetadataVersion | None = None

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Record the level after a batch."""
        if delta.features is not None:
            self._record(image, delta.image)

    def jumped(self, image: MetadataImage) -> None:
        """Record the level after batches that no node has any more."""
        self._record(image, None)

    @property
    def lowerings(self) -> list[LevelChange]:
        """The changes that lowered the level."""
        return [change for change in self.changes if change.is_lowering]

    def _record(self, image: MetadataImage, image_before: MetadataImage | None) -> None:
        before, after = self.level, image.features.metadata_version
        self.level = after
        if before is None or after is None or before == after:
            return
        losses: tuple[Loss, ...] | None = None if image_before is None else ()
        if image_before is not None and after < before:
            if not image.features.is_elr_enabled:
                image_before = _without_elr(image_before)
            losses = tuple(assess(image_before, lowering_options(after)).losses)
        self.changes.append(LevelChange(image.provenance.end_offset, before, after, losses))
