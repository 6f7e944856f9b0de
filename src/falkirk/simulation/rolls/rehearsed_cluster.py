"""A real cluster's metadata and members, as a rehearsal begins with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedNode:
    """One node. `directory_ids`: of its log directories, the one with the metadata log first; there is at least one."""

    node_id: int
    release: Release
    is_controller: bool
    is_broker: bool
    directory_ids: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedCluster:
    """All nodes; controllers are voters. `image`: what all of them have; brokers in it that are no nodes are gone."""

    image: MetadataImage
    nodes: tuple[RehearsedNode, ...]
    has_dynamic_voters: bool

    @property
    def metadata_version(self) -> MetadataVersion:
        """The finalized level; there is one."""
        version = self.image.features.metadata_version
        assert version is not None, "looked at before"
        return version

    @property
    def controllers(self) -> list[int]:
        """Ids of the controllers."""
        return [node.node_id for node in self.nodes if node.is_controller]

    @property
    def brokers(self) -> list[int]:
        """Ids of the brokers."""
        return [node.node_id for node in self.nodes if node.is_broker]

    def node(self, node_id: int) -> RehearsedNode:
        """Give a node."""
        return next(node for node in self.nodes if node.node_id == node_id)
