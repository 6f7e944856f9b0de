"""The records that a release reads and writes: in the metadata log, in control batches, in coordinator topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRecordSupport:
    """One type of metadata record: the name is that of its message."""

    id: int
    name: str
    versions: "SupportedRange"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecordSupport:
    """One type of control record and the version that is written; None for transaction markers (no message)."""

    type: int
    name: str
    version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorRecordSupport:
    """One type of record in a coordinator's topic. The type is the int16 that the record's key begins with."""

    id: int
    key_name: str
    value_name: str
    value_versions: "SupportedRange"
    # First flexible version of the value; None: none is.
    flexible_from: int | None
