"""The metadata and nodes of a real cluster, with which a rehearsal begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedNode:
    """A node. `directory_ids`: of its log directories, the one with the metadata log first; there is at least one."""

    node_id: int
    release: "Release"
    is_controller: bool
    is_broker: bool
    directory_ids: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedCluster:
    """All nodes; controllers are voters. `image`: the metadata of all nodes; its brokers that are no nodes are gone."""

    image: "MetadataImage"
    nodes: tuple[RehearsedNode, ...]
    has_dynamic_voters: bool

    @property
    def metadata_version(self) -> MetadataVersion:
        """The finalized level, which must exist."""
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
        """Return the node with that id."""
        return next(node for node in self.nodes if node.node_id == node_id)
