"""The znode of finalized features: KIP-584's `/features`, Kafka's `/feature`.

Version 1 (Kafka's V1), which the KIP's own example numbers 0, has both levels:
`{"features":{"group_coordinator":{"max_version_level":2,"min_version_level":1}},"version":1,"status":1}`.
Version 2 (KIP-778) has `max_version_level` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.metadata.zookeeper.znode_json import INT16_MAX, read_object, read_version, write_json

if TYPE_CHECKING:
    from falkirk.metadata.zookeeper.znode_json import ZnodeObject

_VERSIONS: Final = range(3)
_WITH_BOTH_LEVELS: Final = 1
_WITHOUT_MINIMUM: Final = 2  # KIP-778
_LOWEST_LEVEL: Final = 1
_MIN: Final = "min_version_level"
_MAX: Final = "max_version_level"


def decode_features(data: bytes, path: str) -> FeatureState:
    """Decode finalized features. A min level that version 2 leaves out is 1.

    Raises ZnodeError for everything that the KIP's schema does not allow, also for the level 0 of its own example.
    """
    znode = read_object(data, path)
    version = read_version(znode, _VERSIONS)
    is_enabled = znode.number("status", 0, 1) == 1
    return FeatureState(
        is_enabled, {name: _range(part, version) for name, part in znode.named_parts("features", "feature")}
    )


def encode_features(state: FeatureState, *, kip_778: bool) -> bytes:
    """Encode finalized features; equal states are equal bytes. With `kip_778` min levels are not written."""
    return write_json(
        {
            "features": {
                name: {_MAX: levels.max_level} if kip_778 else {_MAX: levels.max_level, _MIN: levels.min_level}
                for name, levels in sorted(state.features.items())
            },
            "version": _WITHOUT_MINIMUM if kip_778 else _WITH_BOTH_LEVELS,
            "status": int(state.is_enabled),
        }
    )


def _range(part: ZnodeObject, version: int) -> FinalizedRange:
    highest = part.number(_MAX, _LOWEST_LEVEL, INT16_MAX)
    if version == _WITHOUT_MINIMUM and _MIN not in part:
        return FinalizedRange(_LOWEST_LEVEL, highest)
    lowest = part.number(_MIN, _LOWEST_LEVEL, INT16_MAX)
    if lowest > highest:
        raise part.fault(f"{_MIN} {lowest} is above {_MAX} {highest}")
    return FinalizedRange(lowest, highest)
