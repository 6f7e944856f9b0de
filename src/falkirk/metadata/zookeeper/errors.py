"""Errors of znodes."""

from __future__ import annotations

from falkirk.metadata.records.errors import MetadataError


class ZnodeError(MetadataError):
    """A malformed znode. The message names its path and what is wrong, in one line."""

    def __init__(self, path: str, fault: str) -> None:
        super().__init__(f"znode {path}: {fault}")
        self.path = path
        self.fault = fault
