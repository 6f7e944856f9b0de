"""Finalized features besides metadata.version: their levels, what those need, and where a new cluster starts.

Sources: KIP-584 (features), KIP-778 (metadata.version), KIP-1022 (dependencies and defaults).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.versions.errors import UnknownFeatureLevelError
from falkirk.versions.metadata_version import FeatureLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.supported_range import SupportedRange

KRAFT_VERSION: Final = "kraft.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"
FALKIRK_DOWNGRADE: Final = "falkirk.downgrade"
"""Supported at 0-1 by servers that can lower metadata.version at replay (KIP-1155); it is never finalized.

Not in the tables of any release: KIP-1155's own marker, a metadata.version, was never given a level.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelOfFeature:
    """One level of one feature, in one release."""

    level: FeatureLevel
    # A cluster formatted at this metadata.version or above starts at this level at least.
    bootstrap_metadata_version: "MetadataVersion"
    # The level that other features must have at least; in order of their names.
    dependencies: "Mapping[str, FeatureLevel]"
    # What the level lets nodes do: names of abilities.
    abilities: frozenset[str]
    # The version of what nodes write at this level, as `quorum_state` and `transaction_log_value`.
    writes: "Mapping[str, int]" = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature in one release."""

    name: str
    # What brokers and controllers support; None: only with unstable.feature.versions.enable.
    supported: "SupportedRange | None"
    supported_unstable: "SupportedRange"
    levels: tuple[LevelOfFeature, ...]

    def level(self, level: int) -> LevelOfFeature:
        """Return one level. Raises UnknownFeatureLevelError."""
        for known in self.levels:
            if known.level == level:
                return known
        raise UnknownFeatureLevelError(
            f"{self.name} has no level {level}: levels are {self.supported_unstable.lowest} to "
            f"{self.supported_unstable.highest}"
        )

    def default_level(self, metadata_version: MetadataVersion) -> FeatureLevel:
        """Return the level of a new cluster that is formatted at this metadata.version."""
        reached = (known.level for known in self.levels if known.bootstrap_metadata_version <= metadata_version)
        return max(reached, default=FeatureLevel(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedFeature:
    """A finalized feature whose level a release does not support; `supported` None: it does not know the feature."""

    name: str
    level: FeatureLevel
    supported: "SupportedRange | None"

    def __str__(self) -> str:
        """Return the feature and both levels, as `share.version 2 (supports 0-1)`."""
        known = "unknown" if self.supported is None else f"supports {self.supported}"
        return f"{self.name} {self.level} ({known})"


def is_supported(level: int, supported: SupportedRange | None) -> bool:
    """Return whether a server supports a level of a feature; `supported` None, an unknown feature: only level 0."""
    return level == 0 if supported is None else level in supported


def unsupported_features(
    finalized: Mapping[str, int], supported: Mapping[str, SupportedRange]
) -> tuple[UnsupportedFeature, ...]:
    """Return the finalized features that a node does not support, sorted by name.

    Every node supports level 0, "not enabled". A controller exits on any of these, a broker runs on
    without those whose name it does not know (kraft-interop, section 3).
    """
    return tuple(
        UnsupportedFeature(name=name, level=FeatureLevel(level), supported=supported.get(name))
        for name, level in sorted(finalized.items())
        if level != 0 and not is_supported(level, supported.get(name))
    )
