"""Clients that use API versions which a release does not offer: removed ones (KIP-896), or later ones.

An API that needs a feature is no use where the target drops the feature, whatever versions the release offers.

A client that sends ApiVersions falls back by itself if it has a version in common with the node: that is a change, not
a blocker. Common versions are known for Apache's own Java client, whose versions are those of its release. Of other
software only the versions in use are known, and sending ApiVersions counts as enough.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.records.written_records import FEATURE_OF_GROUPS
from falkirk.pipeline.transforms.api_usage import CLIENT_COLUMNS, known_usage
from falkirk.pipeline.transforms.feature_targets import kept_level
from falkirk.pipeline.transforms.feature_use import API_FEATURES
from falkirk.versions.api_support import Listener
from falkirk.versions.errors import UnknownReleaseError
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.versions.supported_range import SupportedRange

JAVA_CLIENT: Final = "apache-kafka-java"
# DescribeCluster, GetTelemetrySubscriptions, PushTelemetry, DescribeTopicPartitions: clients that ask first go without
# (KIP-700, KIP-714, KIP-966).
_DONE_WITHOUT: Final = frozenset({60, 71, 72, 75})
_NOTHING: Final = "nothing"
# Feature -> what its users can do without it. Producers follow transaction.version by themselves (KIP-890).
_INSTEAD: Final = {
    FEATURE_OF_GROUPS[GroupType.CONSUMER]: "set group.protocol=classic before",
    FEATURE_OF_GROUPS[GroupType.STREAMS]: "set group.protocol=classic before",
    FEATURE_OF_GROUPS[GroupType.SHARE]: "stop it before: there are no share groups",
}
_USED: Final = (
    *(name for name in CLIENT_COLUMNS if name != "is_inter_broker"),
    "api_key",
    "api",
    "api_version",
    "requests",
    "last_timestamp",
    "negotiates",
)
_FATE_TYPES: Final[dict[str, pa.DataType]] = {
    "why": pa.string(),
    "offered": pa.string(),
    "usable_version": pa.int32(),
    "is_blocker": pa.bool_(),
    "what_to_do": pa.string(),
    "detail": pa.string(),
}
_FATES: Final = pa.schema(_FATE_TYPES)
_INPUT_COLUMNS: Final = [
    "api_key",
    "api_version",
    "serves_controllers",
    "software_name",
    "software_version",
    "negotiates",
]


def client_blockers(release: Release, at: MetadataVersion | None = None) -> Transform:
    """Return the rows of `client_changes` for clients that stop working, as far as is known."""
    return lambda tables: client_changes(release, at)(tables).filter("is_blocker")


def client_changes(release: Release, at: MetadataVersion | None = None) -> Transform:
    """Return a row for each client, API and version in use that a release does not offer to clients.

    `at`: the level there, which decides on features; None: they are not judged.

    Columns: client and request as in `api_usage` (without nodes' own traffic and forwarded requests), requests,
    last_timestamp, negotiates; and those of ApiFate.
    """
    # Workers look the names up again: the releases' tables are not pickled.
    name, level = release.name, None if at is None else int(at.level)

    def transform(tables: Tables) -> DataFrame:
        usage = known_usage(tables).filter(~sf.col("is_inter_broker") & ~sf.col("is_forwarded")).select(*_USED)
        schema = StructType([*usage.schema, *from_arrow_schema(_FATES)])
        return usage.mapInArrow(lambda batches: _not_offered(batches, name, level), schema)

    return transform


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiFate:
    """The outcome for a version in use that a release does not offer."""

    why: str
    """`removed` (below the offered versions), `newer` (above them), `no such API`, `feature dropped`."""
    offered: str | None
    """Offered versions, `4-17`."""
    usable_version: int | None
    """The highest version that both are known to support."""
    is_blocker: bool
    """Whether the client stops working, as far as is known."""
    what_to_do: str
    detail: str


def api_fate(
    release: Release,
    api_key: int,
    version: int,
    *,
    listener: Listener,
    client: SupportedRange | None,
    negotiates: bool,
    at: MetadataVersion | None = None,
) -> ApiFate | None:
    """Return the outcome for a version in use; None if the release offers it, and keeps the feature it needs `at`.

    `client` has the versions that the client's software supports, None if unknown; `negotiates`: it sends ApiVersions
    before it chooses one.
    """
    offered = _offered(release, listener).get(api_key)
    if offered is None:
        is_blocker = not (negotiates and api_key in _DONE_WITHOUT)
        what = "what the client does with it ends" if is_blocker else "the client does without"
        return ApiFate(
            why="no such API",
            offered=None,
            usable_version=None,
            is_blocker=is_blocker,
            what_to_do="let the client do without it" if is_blocker else _NOTHING,
            detail=f"Kafka {release.word} has no such API: {what}",
        )
    needed = None if at is None else _dropped_feature(release, at, api_key, version)
    if needed is not None:
        return ApiFate(
            why="feature dropped",
            offered=str(offered),
            usable_version=None,
            is_blocker=True,
            what_to_do=_INSTEAD[needed],
            detail=f"it works with {needed} alone, which Kafka {release.word} does not have at {at}",
        )
    if version in offered:
        return None
    common = None if client is None else client.intersection(offered)
    usable = common.highest if common is not None else None
    is_blocker = not negotiates or (client is not None and common is None)
    outcome = _outcome(client, usable, negotiates=negotiates)
    return ApiFate(
        why="removed" if version < offered.lowest else "newer",
        offered=str(offered),
        usable_version=usable,
        is_blocker=is_blocker,
        what_to_do=f"take a client that speaks {offered}" if is_blocker else _NOTHING,
        detail=f"Kafka {release.word} offers {offered}, not {version}: {outcome}",
    )


def client_versions(software_name: str | None, software_version: str | None, api_key: int) -> SupportedRange | None:
    """Return the versions of an API that a client's software supports; None if unknown."""
    if software_name != JAVA_CLIENT or software_version is None:
        return None
    try:
        # A patch release has the versions of its minor release.
        release = Release.parse(".".join(software_version.split(".")[:2]))
    except UnknownReleaseError:
        return None
    api = release.apis.get(api_key)
    return None if api is None else api.stable_versions


@functools.cache
def _dropped_feature(release: Release, at: MetadataVersion, api_key: int, version: int) -> str | None:
    """Return the feature that an API needs and a release drops at a level; None if there is none."""
    for (key, first), (feature, level) in API_FEATURES.items():
        if key == api_key and version >= first and feature in _INSTEAD:
            kept, _ = kept_level(feature, level, at, release)
            return feature if kept < level else None
    return None


def _outcome(client: SupportedRange | None, usable: int | None, *, negotiates: bool) -> str:
    if usable is not None and negotiates:
        return f"the client falls back to {usable} by itself"
    if client is not None:
        return f"the client has {client}"
    if negotiates:
        return "the client negotiates versions and should fall back by itself; its own versions are not known"
    return "the client does not ask what the node speaks, and fails"


def _not_offered(batches: Iterable[pa.RecordBatch], release: str, level: int | None) -> Iterator[pa.RecordBatch]:
    to, at = Release.parse(release), None if level is None else MetadataVersion.of_level(level)
    for batch in batches:
        fates = [_fate(to, at, row) for row in batch.select(_INPUT_COLUMNS).to_pylist()]
        rows = [row for row, fate in enumerate(fates) if fate is not None]
        found = [fate for fate in fates if fate is not None]
        arrays = [pa.array([getattr(fate, field.name) for fate in found], field.type) for field in _FATES]
        kept = batch.take(pa.array(rows, pa.int64()))
        yield pa.RecordBatch.from_arrays([*kept.columns, *arrays], names=[*kept.schema.names, *_FATES.names])


def _fate(release: Release, at: MetadataVersion | None, row: dict[str, Any]) -> ApiFate | None:  # Any: column values
    return api_fate(
        release,
        row["api_key"],
        row["api_version"],
        listener=Listener.CONTROLLER if row["serves_controllers"] else Listener.BROKER,
        client=client_versions(row["software_name"], row["software_version"], row["api_key"]),
        negotiates=row["negotiates"],
        at=at,
    )


@functools.cache
def _offered(release: Release, listener: Listener) -> dict[int, SupportedRange]:
    return release.api_ranges(listener)
