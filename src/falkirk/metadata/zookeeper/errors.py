"""What is wrong with what stands in ZooKeeper."""

from __future__ import annotations

from falkirk.metadata.errors import MetadataError


class ZnodeError(MetadataError):
    """A znode holds what cannot be meant. The message names its path and what is wrong, in one line."""

    def __init__(self, path: str, fault: str) -> None:
        super().__init__(f"znode {path}: {fault}")
        self.path = path
        self.fault = fault
