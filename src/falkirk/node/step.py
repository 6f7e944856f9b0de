"""What the parts of a node share: the configuration, the time of the step that runs, and a way to ask for more work."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.node.sliced_work import SlicedWorks
from falkirk.protocol.messages import REQUESTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.protocol.chance import Chance


STEP_MS_MAX: Final = 50
"""Processor time that a step may take: raft and heartbeats wait that long for it."""


class Step:
    """`now_ms`: the time of the step that runs. `has_work`: periodic work must run before the step ends.

    `works`: the work that goes on over many steps. `api_keys`, `records_applied` and `bytes_persisted` (both of the
    metadata log): what the step has done so far.
    """

    __slots__ = (
        "api_keys",
        "bytes_persisted",
        "cluster_id",
        "config",
        "has_work",
        "now_ms",
        "random",
        "records_applied",
        "works",
    )

    def __init__(self, config: NodeConfig, *, cluster_id: str, random: Chance, now_ms: int) -> None:
        self.config = config
        self.cluster_id = cluster_id
        self.random = random
        self.now_ms = now_ms
        self.has_work = True
        self.works = SlicedWorks(self.wake)
        self.api_keys: list[int] = []
        self.records_applied = 0
        self.bytes_persisted = 0

    def begin(self, now_ms: int) -> None:
        """Begin a step: nothing is done yet."""
        self.now_ms = now_ms
        self.records_applied = self.bytes_persisted = 0
        self.api_keys.clear()
        self.works.progressed.clear()

    @property
    def work_done(self) -> Mapping[str, object]:
        """What the step has done, as fields of a fact; nothing that it has not done."""
        apis = Counter(REQUESTS[api_key].removesuffix("Request") for api_key in self.api_keys)
        done = {
            "apis": dict(apis),
            "sliced_works": list(self.works.progressed),
            "records_applied": self.records_applied,
            "bytes_persisted": self.bytes_persisted,
        }
        return {name: value for name, value in done.items() if value}

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
