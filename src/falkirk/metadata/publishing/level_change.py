"""Changes of feature levels as the log has them, for those that act when one is replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.levels.writer import LossReport
    from falkirk.slices import Slices


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """The levels that a batch, or a metadata transaction, sets.

    `image` has everything before it. `offset`: where it begins; `epoch`: that of the batch that ends it.
    """

    image: "MetadataImage"
    levels: "Mapping[str, int]"
    offset: int
    epoch: int

    def lowers(self, feature: str) -> bool:
        """Return whether a feature comes to a lower level, or goes."""
        before = self.image.features.levels()
        return feature in self.levels and self.levels[feature] < before.get(feature, 0)

    @property
    def is_lowering(self) -> bool:
        """Return whether any feature comes to a lower level."""
        return any(map(self.lowers, self.levels))

    @property
    def lowers_metadata_version(self) -> bool:
        """Return whether metadata.version falls."""
        return self.lowers(METADATA_VERSION)


class LevelObserver(Protocol):
    """Is told of each change of levels, also of one that a restarted node replays once more."""

    def before_change(self, change: LevelChange) -> Slices[None]:
        """Do what takes the image before the change, in slices, before anything of it is replayed."""

    def lowered(self, report: LossReport) -> Slices[None]:
        """Follow a lowering of metadata.version, in slices; `report` is what was lost."""
