"""Which servers follow when metadata.version is lowered (KIP-1155): they show it by what they support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from falkirk.metadata.controller.cluster.registration_check import FeatureRange

KIP_1155_LEVEL: Final[int | None] = None
"""The metadata.version whose support says that a server of Kafka can lower it. No release up to 4.4 has one."""


def supports_downgrade(features: Iterable[FeatureRange], *, kip_1155_level: int | None = KIP_1155_LEVEL) -> bool:
    """Return whether a server that registered with these features lowers its image where the log says so.

    Ours say it by a feature of their own, which is never finalized; Kafka's would by KIP-1155's metadata.version.
    """
    highest = {feature.name: feature.max_supported_version for feature in features}
    if highest.get(FALKIRK_DOWNGRADE, 0) >= 1:
        return True
    return kip_1155_level is not None and highest.get(METADATA_VERSION, 0) >= kip_1155_level


def can_commit_lowering(voters: Collection[int], lowering_support: Mapping[int, bool]) -> bool:
    """Return whether the voters that follow are a majority: the others do not get a lowering's records."""
    return 2 * sum(lowering_support.get(voter, False) for voter in voters) > len(voters)


def can_commit_by_snapshot(voters: Collection[int], lowering_support: Mapping[int, bool]) -> bool:
    """Return whether the voters that follow, and one of the others that has the snapshot, block any other majority.

    Then a snapshot behind the lowering commits it, which the others get in place of the record.
    """
    following = sum(lowering_support.get(voter, False) for voter in voters)
    return following > 0 and following + 1 + len(voters) // 2 + 1 > len(voters)
