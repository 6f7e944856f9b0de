"""The notation of the release tables: each release lists only its changes since the release before it.

`releases/` has one module per release, `metadata_version_rows` one row per metadata.version. They are plain literals,
meant to be read, and are themselves the notation: nothing is generated from them. `tools/generate_versions.py` wrote
them from `schemas/facts`, which was read off the released jars, and `--check` compares every fact with them.

Ranges are written `0-5`, `3` or `none`. None: unchanged since the release before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

# Where a release's numbers come from:
#   jars        all that tools/facts_from_jars.py reads off the published jars
#   api ranges  only the API ranges were read: enough to speak with such a client or broker, not to run as one
Source = Literal["jars", "api ranges"]


@dataclass(frozen=True, slots=True)
class Api:
    """One API that the release changed. A row that gives `versions` restates `stable` and `deprecated` with it."""

    key: int
    name: str
    versions: str | None = None
    # The part of `versions` that is offered without unstable.api.versions.enable, where that is not all.
    stable: str | None = None
    # Still served, but logged as deprecated (3.7 to 3.9).
    deprecated: str | None = None
    # First flexible version: compact and tagged from there on, and the headers too.
    flexible: int | None = None
    # Of zkBroker, broker, controller: the listeners that serve it.
    listeners: str | None = None
    # A broker passes it on to the controller.
    forwardable: bool | None = None
    # Only for other nodes: needs CLUSTER_ACTION on the cluster.
    cluster_action: bool | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a feature."""

    level: int
    # A cluster formatted at this metadata.version or above starts at this level; level 0 needs none.
    bootstrap: str | None = None
    # Other features and the level they must have at least.
    requires: "Mapping[str, int]" = field(default_factory=dict)
    # What the level lets nodes do.
    brings: str = ""
    # The version of what nodes write at this level.
    writes: "Mapping[str, int]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature that the release added or changed, restated in full."""

    name: str
    # `none`: supported only with unstable.feature.versions.enable.
    supported: str
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class MetadataVersions:
    """The metadata.versions of the release; restated by every release."""

    # The lowest that a cluster may run at, and the lowest that it may be formatted at where that is another one.
    minimum: str
    latest_production: str
    # The highest with unstable.feature.versions.enable.
    latest_testing: str
    minimum_bootstrap: str | None = None
    # Unstable levels that meant something else in this release than they do since: the row as it stood there.
    drafts: tuple[MetadataVersionRow, ...] = ()


@dataclass(frozen=True, slots=True)
class MetadataVersionRow:
    """One metadata.version, by what it changed since the one below it.

    Those without a level are older than KRaft: they are only values of inter.broker.protocol.version.
    """

    name: str
    level: int | None = None
    # The metadata log can hold something that it could not hold before.
    changes_metadata: bool = False
    # No release runs it in production.
    unstable: bool = False
    # Abilities that begin, and that end, here.
    supports: str = ""
    ends: str = ""
    # Record and record batch versions written from here on.
    writes: "Mapping[str, int]" = field(default_factory=dict)
    # Versions of the requests that brokers send to each other from here on.
    sends: "Mapping[str, int]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """One record type that the release changed: in the metadata log or in a coordinator's topic.

    A metadata record's name is that of its message; a coordinator record's is what its key and value have in common.
    `versions` are those of the value, `none` where the release no longer has the type.
    """

    id: int
    name: str
    versions: str
    # First flexible version of a coordinator's value; None: never. Metadata records are flexible from 0.
    flexible: int | None = None


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """One control record type; `version` is None for transaction markers, which have no message of their own."""

    type: int
    name: str
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChanges:
    """What one release changed. Where it is `api ranges`, all but `apis` is empty because it was not read."""

    release: str
    since: str | None
    read_from: Source
    # What stands here without having been read, and what it follows from.
    derived: str | None = None
    # ZooKeeper is gone: zkBroker is taken off the listeners of every API.
    removes_zookeeper: bool = False
    apis: tuple[Api, ...] = ()
    metadata_versions: MetadataVersions | None = None
    features: tuple[Feature, ...] = ()
    metadata_records: tuple[Record, ...] = ()
    control_records: tuple[ControlRecord, ...] = ()
    group_records: tuple[Record, ...] = ()
    transaction_records: tuple[Record, ...] = ()
    share_records: tuple[Record, ...] = ()
