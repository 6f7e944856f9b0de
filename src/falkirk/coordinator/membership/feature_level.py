"""A group whose members move up together with a feature of the cluster, and never back.

KIP-584, "Use case: group_coordinator feature flag": the leader asks any broker, now and then, what is finalized. When
it hears of a higher level it makes the group rebalance; the level goes with the metadata of the members, so whoever
meets a broker that does not know of the change yet does not fall back, nor does a leader that comes after.

    level = FeatureLevel("group.version", supported=SupportedRange(0, 2))
    level.hear({"group.version": 1})                  # what is finalized; True: the group has to rebalance
    level.user_data                                   # in the subscription of each member
    level.decide({member_id: user_data, ...})         # by the leader: what all shall run at, in each assignment
    level.take(user_data)                             # by each member; raises LevelUnsupportedError
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.supported_range import SupportedRange


class LevelUnsupportedError(Exception):
    """The group runs at a level that this member does not have."""

    def __init__(self, feature: str, level: int, supported: SupportedRange) -> None:
        self.level = level
        super().__init__(f"the group uses {feature} at level {level}, this member supports {supported}")


class FeatureLevel:
    """`level`: what this member runs at, as the group has agreed; `heard`: the highest known to be finalized."""

    def __init__(self, feature: str, supported: SupportedRange) -> None:
        self.level = supported.lowest
        self.heard = supported.lowest
        self._feature = feature
        self._supported = supported
        # What all members had when this one led last: to hear of more gains nothing until somebody joins anew.
        self._all_have = supported.highest

    def hear(self, finalized_levels: Mapping[str, int]) -> bool:
        """Take in what a broker says is finalized; say whether the group has something to gain by a rebalance.

        A lower level, or none, is what a stale broker says: it changes nothing. (To take the feature down, its clients
        are taken down first, says the KIP.)
        """
        self.heard = max(self.heard, finalized_levels.get(self._feature, self.heard))
        return min(self.heard, self._all_have) > self.level

    @property
    def user_data(self) -> bytes:
        """What a subscription carries: the level in use, the level heard of, the highest one supported."""
        return _SUBSCRIBED.pack(self.level, self.heard, self._supported.highest)

    def decide(self, members: Mapping[str, bytes]) -> bytes:
        """Give what an assignment carries: the highest level that anybody heard of and all have.

        It is never below what some member is at. Raises RemoteProtocolError for what is no `user_data`.
        """
        told = [_unpacked(_SUBSCRIBED, data) for data in members.values()]
        in_use = max((level for level, _, _ in told), default=self.level)
        heard = max((heard for _, heard, _ in told), default=self.heard)
        self._all_have = min((highest for _, _, highest in told), default=self._supported.highest)
        return _ASSIGNED.pack(max(in_use, min(heard, self._all_have)))

    def take(self, data: bytes) -> None:
        """Run at the level that the leader has decided on. Raises LevelUnsupportedError, RemoteProtocolError."""
        (level,) = _unpacked(_ASSIGNED, data)
        if level > self._supported.highest:
            raise LevelUnsupportedError(self._feature, level, self._supported)
        self.level = max(self.level, level)
        self.heard = max(self.heard, level)


_SUBSCRIBED: Final = struct.Struct(">hhh")
_ASSIGNED: Final = struct.Struct(">h")


def _unpacked(layout: struct.Struct, data: bytes) -> tuple[int, ...]:
    if len(data) != layout.size:
        raise RemoteProtocolError(f"{len(data)} bytes where a level is told in {layout.size}", offset=0)
    return layout.unpack(data)
