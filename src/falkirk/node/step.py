"""What the parts of a node share: the configuration, the time of the step that runs, and a way to ask for more work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from falkirk.node.sliced_work import SlicedWorks

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.protocol.chance import Chance


class Step:
    """`now_ms`: the time of the step that runs. `has_work`: periodic work must run before the step ends.

    `works`: the work that goes on over many steps.
    """

    __slots__ = ("cluster_id", "config", "has_work", "now_ms", "random", "works")

    def __init__(self, config: NodeConfig, *, cluster_id: str, random: Chance, now_ms: int) -> None:
        self.config = config
        self.cluster_id = cluster_id
        self.random = random
        self.now_ms = now_ms
        self.has_work = True
        self.works = SlicedWorks(self.wake)

    def wake(self) -> None:
        """Request periodic work before the step ends."""
        self.has_work = True


class CommittedMetadata(Protocol):
    """The metadata as far as it is committed and applied on this node."""

    @property
    def image(self) -> MetadataImage:
        """The last published image."""
        ...

    @property
    def applied_offset(self) -> int:
        """The end offset of what was applied."""
        ...
