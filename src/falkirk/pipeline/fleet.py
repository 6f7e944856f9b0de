"""A fleet as its inventory or its directories describe it: clusters, nodes, data directories."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from falkirk.pipeline.errors import InventoryError
from falkirk.storage.log_dir_names import is_plain_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from falkirk.pipeline.filesystem import Location
    from falkirk.storage.meta_properties import MetaProperties
    from falkirk.storage.properties_file import PropertiesFile


UNKNOWN_CLUSTER: Final = "(unknown)"
"""Problems with directories that do not name their cluster are recorded under this name."""


def is_cluster_name(text: str) -> bool:
    """Return whether a text may name a cluster in the warehouse: it becomes part of file names there."""
    return text == UNKNOWN_CLUSTER or is_plain_name(text)


def names_chosen(names: Collection[str], patterns: Sequence[str], *, among: str) -> frozenset[str]:
    """Return the names that match one of the patterns of `--clusters`, and UNKNOWN_CLUSTER, which may be any of them.

    Raises InventoryError for a pattern that matches none `among` those.
    """
    chosen = {UNKNOWN_CLUSTER}
    for pattern in patterns:
        matching = fnmatch.filter(names, pattern)
        if not matching:
            raise InventoryError(f"--clusters: no cluster of {among} is called {pattern}")
        chosen.update(matching)
    return frozenset(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLogDir:
    """One data directory and its meta.properties. `is_live`: fetched from a running cluster."""

    location: Location
    meta: MetaProperties
    is_live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetNode:
    """All data directories of one node. `metadata_dir` is the one with the metadata partition, if any."""

    node_id: int
    log_dirs: tuple[FleetLogDir, ...]
    metadata_dir: FleetLogDir | None
    server_properties: PropertiesFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLog:
    """A request log; `node_id` if the inventory names the node that wrote it."""

    location: Location
    node_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTags:
    """What an inventory says of a cluster beside its files: columns of table `clusters`."""

    owner: str | None = None
    team: str | None = None
    region: str | None = None
    environment: str | None = None


TAGS: Final = tuple(field.name for field in fields(ClusterTags))
"""Names of the tags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetCluster:
    """One cluster. `cluster_id` is None if only its request logs are known."""

    name: str
    cluster_id: str | None
    nodes: tuple[FleetNode, ...] = ()
    request_logs: tuple[RequestLog, ...] = ()
    # The state is that before this offset of the metadata log; None: at its end.
    as_of: int | None = None
    tags: ClusterTags = ClusterTags()
    # Journal of a watch that follows the cluster under the same name.
    watch_journal: Location | None = None
