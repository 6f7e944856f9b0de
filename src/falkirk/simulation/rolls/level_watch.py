"""How metadata.version has changed so far, as what is committed says, and what each lowering had to lose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.metadata.lowering import lowering_options
from falkirk.metadata.writer import assess

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.loss import Loss
    from falkirk.versions.metadata_version import MetadataVersion


class LevelChange(NamedTuple):
    """`end_offset`: behind the batch; `losses`: of the image just before it, None if nobody saw that."""

    end_offset: int
    before: MetadataVersion
    after: MetadataVersion
    losses: tuple[Loss, ...] | None

    @property
    def is_lowering(self) -> bool:
        """Say whether the level fell."""
        return self.after < self.before


class LevelWatch:
    """Publisher of a loader that is given each committed batch once, alone."""

    def __init__(self) -> None:
        self.changes: list[LevelChange] = []
        self.level: MetadataVersion | None = None

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Take note of the level behind a batch."""
        if delta.features is not None:
            self._look(image, delta.image)

    def jumped(self, image: MetadataImage) -> None:
        """Take note of the level behind batches that nobody has any more."""
        self._look(image, None)

    @property
    def lowerings(self) -> list[LevelChange]:
        """Those that lowered it."""
        return [change for change in self.changes if change.is_lowering]

    def _look(self, image: MetadataImage, image_before: MetadataImage | None) -> None:
        before, after = self.level, image.features.metadata_version
        self.level = after
        if before is None or after is None or before == after:
            return
        losses = None
        if image_before is not None:
            losses = tuple(assess(image_before, lowering_options(after)).losses) if after < before else ()
        self.changes.append(LevelChange(image.provenance.end_offset, before, after, losses))
