"""Which types of group records a cluster's coordinators write at its finalized levels.

Records of other types are orphaned: a group wrote them before a downgrade, or no release writes them any more. Levels
do not show an early access that `server.properties` enables (consumer groups in 3.7 to 3.9, share groups in 4.0):
records of such groups count as orphaned, as after a downgrade to these releases, which do not have them by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.record_type import PARTS, GroupRecordType, GroupType
from falkirk.versions.features import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

FEATURE_OF_GROUPS: Final = {
    GroupType.CONSUMER: GROUP_VERSION,
    GroupType.SHARE: SHARE_VERSION,
    GroupType.STREAMS: STREAMS_VERSION,
}
"""By group type, the feature without which coordinators write none of its records: any level but 0 will do."""


_SUBSCRIPTIONS: Final = frozenset({GroupRecordType.CONSUMER_GROUP_PARTITION_METADATA})
_EARLY: Final = frozenset({GroupRecordType.SHARE_GROUP_PARTITION_METADATA})
SUBSCRIPTIONS_HASHED_SINCE: Final = int(MetadataVersion.parse("4.1-IV0").level)
"""From this metadata.version on a hash in the group's own record replaces its partition metadata."""
_ALWAYS_WRITTEN: Final = frozenset({GroupRecordType.OFFSET_COMMIT, GroupRecordType.GROUP_METADATA})
"""The classic protocol's types, without the oldest offset commits (0), which were last written by Kafka 0.9."""


@dataclass(frozen=True, slots=True)
class _WritingRule:
    """Types written while a feature is enabled, by nodes of a release before this metadata.version."""

    types: frozenset[int]
    feature: str
    metadata_version_below: int | None = None


_RULES: Final = (
    *(
        _WritingRule(
            frozenset(type_ for type_, (of, _) in PARTS.items() if of is group_type) - _SUBSCRIPTIONS - _EARLY, feature
        )
        for group_type, feature in FEATURE_OF_GROUPS.items()
    ),
    _WritingRule(_SUBSCRIPTIONS, GROUP_VERSION, SUBSCRIPTIONS_HASHED_SINCE),
)
"""All other types that are written at all; only the early access of 4.0 wrote share groups' partition metadata (9)."""


def is_written(type_: int, levels: Mapping[str, int]) -> bool:
    """Return whether coordinators write records of a known type at these finalized levels."""
    if type_ in _ALWAYS_WRITTEN:
        return True
    return any(
        type_ in rule.types
        and levels.get(rule.feature, 0) > 0
        and (rule.metadata_version_below is None or levels.get(METADATA_VERSION, 0) < rule.metadata_version_below)
        for rule in _RULES
    )
