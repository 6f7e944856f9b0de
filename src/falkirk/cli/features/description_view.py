"""`falkirk features describe`: the finalized features of a cluster, and the supported features of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.versions.errors import UnknownInterBrokerProtocolError, UnknownMetadataVersionError
from falkirk.versions.inter_broker_protocol import IBP_FEATURE, of_feature_level
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.cli.console.kafka_tool import KafkaTool
    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.versions.release import Release

_LABELS = ("Feature", "SupportedMinVersion", "SupportedMaxVersion", "FinalizedVersionLevel", "Epoch")
_TABS = "\t".join(f"{label}: {{}}" for label in _LABELS)
_COLUMNS = "  ".join(
    f"{label}: {{{width}}}" for label, width in zip(_LABELS, (":<40", ":<15", ":<15", ":<15", ""), strict=True)
)


@dataclass(frozen=True, slots=True)
class FeatureDescription:
    """A `Result`; levels of metadata.version are named as in the tool's release."""

    tool: KafkaTool
    features: FeatureMetadata

    def text(self) -> Iterator[str]:
        """Yield a line for each supported feature, as kafka-features prints it."""
        epoch = self.features.finalized_features_epoch
        line = _COLUMNS if self.tool.form.describes_in_columns else _TABS
        for name in sorted(self.features.supported_features):
            supported = self.features.supported_features[name]
            finalized = self._finalized(name) or 0
            levels = (supported.min_version, supported.max_version, finalized)
            names = [level_name(self.tool.release, name, level) for level in levels]
            yield line.format(name, *names, "-" if epoch is None else epoch)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields; `finalized` is null where a feature has no level."""
        return {
            "epoch": self.features.finalized_features_epoch,
            "inter_broker_protocol": finalized_protocol(self.features),
            "features": [
                {
                    "feature": name,
                    "supported_min": levels.min_version,
                    "supported_max": levels.max_version,
                    "finalized": self._finalized(name),
                    "finalized_name": self._finalized_name(name),
                }
                for name, levels in sorted(self.features.supported_features.items())
            ],
        }

    def _finalized(self, name: str) -> int | None:
        found = self.features.finalized_features.get(name)
        return None if found is None else found.max_version_level

    def _finalized_name(self, name: str) -> str | None:
        level = self._finalized(name)
        return None if level is None else level_name(self.tool.release, name, level)


def finalized_protocol(features: FeatureMetadata) -> str | None:
    """Return the name of the inter-broker protocol in force if `ibp-feature` is finalized (KIP-584).

    None: each broker's configuration decides, brokers have a quorum, or falkirk does not know the level.
    """
    found = features.finalized_features.get(IBP_FEATURE)
    try:
        return None if found is None else of_feature_level(found.max_version_level).name
    except UnknownInterBrokerProtocolError:
        return None


def level_name(release: Release, feature: str, level: int) -> str:
    """Return a level as kafka-features prints it."""
    if feature != METADATA_VERSION:
        return str(level)
    try:
        return release.metadata_version(level).name
    except UnknownMetadataVersionError:
        return f"UNKNOWN {level}"
