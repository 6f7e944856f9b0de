"""`falkirk features describe --kip-584`: finalized levels with their minimum, in the KIP's own table.

    Feature: f  SupportedMinVersion: 1  SupportedMaxVersion: 2  FinalizedMinVersionLevel: 1     FinalizedMax...

The spacing is that of the KIP's samples, whose columns are not aligned: two spaces behind the name and each supported
version, five behind each finalized level. A missing value is a dash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.features.description_view import finalized_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.client.feature_metadata import FeatureMetadata

# The field of the document that each cell is, and what stands behind it.
_CELLS: Final = (
    ("Feature", "feature", "  "),
    ("SupportedMinVersion", "supported_min", "  "),
    ("SupportedMaxVersion", "supported_max", "  "),
    ("FinalizedMinVersionLevel", "finalized_min", "     "),
    ("FinalizedMaxVersionLevel", "finalized_max", "     "),
    ("Epoch", "epoch", ""),
)


@dataclass(frozen=True, slots=True)
class Kip584Description:
    """A `Result`: supported and finalized features, also those that are only one of both."""

    features: FeatureMetadata

    def text(self) -> Iterator[str]:
        """Yield a line for each feature, by name; all levels are numbers, those of metadata.version too."""
        epoch = self.features.finalized_features_epoch
        for row in self._rows():
            shown = row | {"epoch": epoch}
            yield "".join(
                f"{label}: {'-' if shown[field] is None else shown[field]}{space}" for label, field, space in _CELLS
            )

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields, with null for a dash."""
        return {
            "epoch": self.features.finalized_features_epoch,
            "inter_broker_protocol": finalized_protocol(self.features),
            "features": list(self._rows()),
        }

    def _rows(self) -> Iterator[dict[str, Any]]:  # Any: names and levels
        supported, finalized = self.features.supported_features, self.features.finalized_features
        for name in sorted({*supported, *finalized}):
            runs, agreed = supported.get(name), finalized.get(name)
            yield {
                "feature": name,
                "supported_min": None if runs is None else runs.min_version,
                "supported_max": None if runs is None else runs.max_version,
                "finalized_min": None if agreed is None else agreed.min_version_level,
                "finalized_max": None if agreed is None else agreed.max_version_level,
            }
