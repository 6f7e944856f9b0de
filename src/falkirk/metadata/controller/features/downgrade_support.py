"""Which servers follow when metadata.version is lowered (KIP-1155): they show it by what they support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from falkirk.metadata.controller.cluster.registration_check import FeatureRange
    from falkirk.metadata.image.cluster import ClusterImage

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


def node_supports_downgrade(cluster: ClusterImage, node_id: int) -> bool:
    """Return whether a registered node follows, in each of its roles; one that nobody knows does not."""
    registered = (cluster.brokers.get(node_id), cluster.controllers.get(node_id))
    known = [each for each in registered if each is not None]
    return bool(known) and all(supports_downgrade(each.features) for each in known)


def voters_without_support(cluster: ClusterImage, voters: Iterable[int]) -> tuple[int, ...]:
    """Return the voters, by id, that do not get a lowering's records, so cannot count for its commit."""
    return tuple(voter for voter in sorted(voters) if not node_supports_downgrade(cluster, voter))


def can_commit_lowering(cluster: ClusterImage, voters: Collection[int]) -> bool:
    """Return whether those voters that do are a majority: without one a lowering would never be committed."""
    return 2 * len(voters_without_support(cluster, voters)) < len(voters)
