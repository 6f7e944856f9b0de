"""A group whose members move up together with a feature of the cluster, and never back.

KIP-584, "Use case: group_coordinator feature flag": the leader periodically asks any broker for the finalized levels.
When it learns of a higher level it makes the group rebalance. The level is in the metadata of the members, so neither a
member that meets a broker with stale metadata nor a later leader falls back.

    level = FeatureLevel("group.version", supported=SupportedRange(0, 2))
    level.hear({"group.version": 1})                  # finalized levels; True: the group has to rebalance
    level.user_data                                   # in the subscription of each member
    level.decide({member_id: user_data, ...})         # by the leader: the level for all, in each assignment
    level.apply(user_data)                            # by each member; raises LevelUnsupportedError
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.supported_range import SupportedRange


_SUBSCRIBED: Final = struct.Struct(">hhh")
_ASSIGNED: Final = struct.Struct(">h")


class LevelUnsupportedError(Exception):
    """The group runs at a level that this member does not support."""

    def __init__(self, feature: str, level: int, supported: SupportedRange) -> None:
        self.level = level
        super().__init__(f"the group uses {feature} at level {level}, this member supports {supported}")


class FeatureLevel:
    """`level`: the one in use, as agreed by the group; `heard`: the highest one known to be finalized."""

    def __init__(self, feature: str, supported: SupportedRange) -> None:
        self.level = supported.lowest
        self.heard = supported.lowest
        self._feature = feature
        self._supported = supported
        # What all members supported when this one led last: a higher level gains nothing until another member joins.
        self._all_have = supported.highest

    def hear(self, finalized_levels: Mapping[str, int]) -> bool:
        """Apply a broker's finalized levels; return whether a rebalance could raise the group's level.

        A lower level, or none, comes from a stale broker and is ignored. (By the KIP, a feature is lowered only after
        its clients are.)
        """
        self.heard = max(self.heard, finalized_levels.get(self._feature, self.heard))
        return min(self.heard, self._all_have) > self.level

    @property
    def user_data(self) -> bytes:
        """The content of a subscription: the level in use, the highest finalized one heard, the highest supported."""
        return _SUBSCRIBED.pack(self.level, self.heard, self._supported.highest)

    def decide(self, members: Mapping[str, bytes]) -> bytes:
        """Return the content of an assignment: the highest level that any member knows to be finalized and all support.

        It is never below a member's current level. Raises RemoteProtocolError for malformed `user_data`.
        """
        reported = [_unpacked(_SUBSCRIBED, data) for data in members.values()]
        in_use = max((level for level, _, _ in reported), default=self.level)
        heard = max((heard for _, heard, _ in reported), default=self.heard)
        self._all_have = min((highest for _, _, highest in reported), default=self._supported.highest)
        return _ASSIGNED.pack(max(in_use, min(heard, self._all_have)))

    def apply(self, data: bytes) -> None:
        """Run at the level that the leader decided on. Raises LevelUnsupportedError, RemoteProtocolError."""
        (level,) = _unpacked(_ASSIGNED, data)
        if level > self._supported.highest:
            raise LevelUnsupportedError(self._feature, level, self._supported)
        self.level = max(self.level, level)
        self.heard = max(self.heard, level)


def _unpacked(layout: struct.Struct, data: bytes) -> tuple[int, ...]:
    if len(data) != layout.size:
        raise RemoteProtocolError(f"{len(data)} bytes, a level has {layout.size}", offset=0)
    return layout.unpack(data)
