"""Find the clusters that the operator names: an inventory file, directories, patterns, URIs.

An inventory is YAML:

    clusters:
      - name: orders
        nodes:
          - id: 1
            log_dirs: [/data/kafka-1/d0, /data/kafka-1/d1]
            server_properties: /etc/kafka-1/server.properties    # names the voters where nothing else does
            request_logs: ["/logs/kafka-1/kafka-request.log*"]
        log_dirs: ["s3://backups/orders/*"]     # directories of nodes that are not listed one by one
        request_logs: []
        watch_journal: watch.sqlite             # of a `falkirk watch` that follows the cluster under this name
        as_of: 120000                           # tables hold the state before this offset of the metadata log
        owner: orders-oncall@example.com        # this and team, region, environment: columns of table `clusters`

Relative paths start at the inventory's own directory. Without an inventory, directories are sorted into clusters by
their `meta.properties`, and each cluster is named by its id.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.filesystem import Location, expand, open_location
from falkirk.pipeline.fleet import (
    UNKNOWN_CLUSTER,
    ClusterTags,
    FleetCluster,
    FleetLogDir,
    FleetNode,
    RequestLog,
    is_cluster_name,
    names_chosen,
)
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.log_dir_names import LIVE_MARKER, OWN_SUFFIXES
from falkirk.storage.meta_properties import FILE_NAME, parse_meta_properties
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.posix_disk import PosixDisk, link_outside
from falkirk.storage.properties_file import parse_properties

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.storage.properties_file import PropertiesFile

_INVENTORY_SUFFIXES: Final = (".yaml", ".yml")
_DEPTH_MAX: Final = 4


class NodeEntry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A node of the inventory; without an id, its directories name the node."""

    id: int | None = None
    log_dirs: list[str] = msgspec.field(default_factory=list)
    server_properties: str | None = None
    request_logs: list[str] = msgspec.field(default_factory=list)


class ClusterEntry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A cluster of the inventory. Directories and request logs here belong to nodes not listed in `nodes`."""

    name: str
    nodes: list[NodeEntry] = msgspec.field(default_factory=list)
    log_dirs: list[str] = msgspec.field(default_factory=list)
    request_logs: list[str] = msgspec.field(default_factory=list)
    watch_journal: str | None = None
    as_of: int | None = None
    owner: str | None = None
    team: str | None = None
    region: str | None = None
    environment: str | None = None


class InventoryFile(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The whole inventory file."""

    clusters: list[ClusterEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All clusters, and by cluster name the rows of table `problems` for directories that could not be read."""

    clusters: tuple[FleetCluster, ...]
    problems: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # Any: values of columns


def find_fleet(inputs: Sequence[str], *, request_logs: Sequence[str] = (), as_of: int | None = None) -> Fleet:
    """Find the clusters that inventories (`*.yaml`, `*.yml`), directories, patterns and URIs name.

    `request_logs` and `as_of` apply to the only cluster of the inputs. Raises InventoryError if something does not
    exist or contradicts something else.
    """
    finder = _Finder()
    for text in inputs:
        if text.endswith(_INVENTORY_SUFFIXES):
            _add_inventory(finder, text)
        else:
            finder.add_directories(None, None, [text])
    if request_logs or as_of is not None:
        name = finder.only_cluster("--request-log" if request_logs else "--as-of")
        finder.add_request_logs(name, None, request_logs)
        finder.as_of[name] = as_of
    return finder.fleet()


def only_clusters(fleet: Fleet, patterns: Sequence[str]) -> Fleet:
    """Return the clusters whose names match one of the patterns, all without a pattern.

    Raises InventoryError for a pattern that matches none.
    """
    if not patterns:
        return fleet
    wanted = names_chosen([cluster.name for cluster in fleet.clusters], patterns, among="the inputs")
    return Fleet(
        clusters=tuple(cluster for cluster in fleet.clusters if cluster.name in wanted),
        problems={name: rows for name, rows in fleet.problems.items() if name in wanted},
    )


def _add_inventory(finder: _Finder, text: str) -> None:
    file = Path(text)
    try:
        inventory = msgspec.yaml.decode(file.read_bytes(), type=InventoryFile)
    except OSError as error:
        raise InventoryError(f"{text}: {error.strerror}") from error
    except (msgspec.ValidationError, msgspec.DecodeError) as validation_error:
        raise InventoryError(f"{text}: {' '.join(str(validation_error).split())}") from validation_error
    for entry in inventory.clusters:
        if not is_cluster_name(entry.name) or entry.name == UNKNOWN_CLUSTER:
            raise InventoryError(
                f"{text}: {entry.name!r} is no name for a cluster (letters, digits, '.', '_' and '-'; no '.' first)"
            )
        finder.begin_cluster(entry.name, text)
        finder.as_of[entry.name] = entry.as_of
        finder.tags[entry.name] = ClusterTags(
            owner=entry.owner, team=entry.team, region=entry.region, environment=entry.environment
        )
        for node in (*entry.nodes, NodeEntry(log_dirs=entry.log_dirs, request_logs=entry.request_logs)):
            finder.add_directories(entry.name, node.id, [_beside(file, path) for path in node.log_dirs])
            if node.server_properties is not None:
                finder.add_server_properties(entry.name, node.id, _beside(file, node.server_properties))
            finder.add_request_logs(entry.name, node.id, [_beside(file, path) for path in node.request_logs])
        if entry.watch_journal is not None:
            finder.add_watch_journal(entry.name, _beside(file, entry.watch_journal))


def _beside(file: Path, path: str) -> str:
    return path if "://" in path else str(file.parent / path)


class _Finder:
    """Collects directories by cluster."""

    def __init__(self) -> None:
        self.as_of: dict[str, int | None] = {}
        self.tags: dict[str, ClusterTags] = {}
        # Name -> URI -> directory; clusters of an inventory begin without any.
        self._log_dirs: dict[str, dict[str, FleetLogDir]] = {}
        self._request_logs: dict[str, list[RequestLog]] = {}
        self._watch_journals: dict[str, Location] = {}
        self._properties: dict[tuple[str, int], PropertiesFile] = {}
        self._problems: dict[str, list[dict[str, Any]]] = {}  # Any: values of columns

    def begin_cluster(self, name: str, inventory: str) -> None:
        """Add an empty cluster of an inventory."""
        if name in self._log_dirs:
            raise InventoryError(f"{inventory}: two clusters are called {name}")
        self._log_dirs[name] = {}

    def add_directories(self, name: str | None, node_id: int | None, patterns: Sequence[str]) -> None:
        """Search for data directories; without a name each goes to the cluster in its meta.properties."""
        for pattern in patterns:
            found = [log_dir for place in _places(pattern) for log_dir in self._log_dirs_in(name, place)]
            if not found:
                raise InventoryError(
                    f"{pattern}: no Kafka log directory here, nor in a folder of it (none has a {FILE_NAME})"
                )
            for log_dir in found:
                self._add(name, node_id, log_dir)

    def add_server_properties(self, name: str, node_id: int | None, path: str) -> None:
        """Read a node's server.properties."""
        [file] = _places(path)
        try:
            properties = parse_properties(read_bounded(file.disk, file.path, file=file.uri), file=file.uri)
        except CorruptFileError as error:
            raise InventoryError(f"{error}") from error
        owner = node_id if node_id is not None else _number(properties.get("node.id") or properties.get("broker.id"))
        if owner is None:
            raise InventoryError(f"{file.uri}: has no node.id, and the inventory names none")
        self._properties[name, owner] = properties

    def add_request_logs(self, name: str, node_id: int | None, patterns: Sequence[str]) -> None:
        """Add the request logs that patterns match."""
        for pattern in patterns:
            for place in _places(pattern):
                if place.disk.is_directory(place.path):
                    raise InventoryError(f"{place.uri}: a directory, and no request log; name the files, e.g. with *")
                self._request_logs.setdefault(name, []).append(RequestLog(location=place, node_id=node_id))

    def add_watch_journal(self, name: str, path: str) -> None:
        """Add the journal of a watch, which is a file of this machine."""
        places = _places(path)
        if len(places) != 1 or not isinstance(places[0].disk, PosixDisk) or places[0].disk.is_directory(places[0].path):
            raise InventoryError(f"cluster {name}: watch_journal: {path} is not one file of this machine")
        self._watch_journals[name] = places[0]

    def only_cluster(self, option: str) -> str:
        """Return the name of the only cluster. Raises InventoryError if there are none or several."""
        if len(self._log_dirs) != 1:
            names = ", ".join(self._log_dirs) or "none"
            raise InventoryError(f"{option} is for one cluster, and here are {names}: write an inventory")
        return next(iter(self._log_dirs))

    def fleet(self) -> Fleet:
        """Return everything found."""
        clusters = []
        for name, log_dirs in self._log_dirs.items():
            ids = {log_dir.meta.cluster_id for log_dir in log_dirs.values()}
            clusters.append(
                FleetCluster(
                    name=name,
                    cluster_id=ids.pop() if ids else None,
                    nodes=tuple(
                        replace(node, server_properties=self._properties.get((name, node.node_id)))
                        for node in _nodes(name, list(log_dirs.values()))
                    ),
                    request_logs=tuple(self._request_logs.get(name, ())),
                    as_of=self.as_of.get(name),
                    tags=self.tags.get(name, ClusterTags()),
                    watch_journal=self._watch_journals.get(name),
                )
            )
            if not log_dirs and not self._request_logs.get(name) and name not in self._watch_journals:
                raise InventoryError(
                    f"cluster {name}: the inventory names neither log_dirs nor request_logs nor a watch_journal of it"
                )
        self._note_clones(clusters)
        return Fleet(clusters=tuple(clusters), problems=self._problems)

    def _log_dirs_in(self, name: str | None, place: Location) -> Iterator[FleetLogDir]:
        for directory in _search(place, depth=0):
            file = directory / FILE_NAME
            outside = link_outside(directory.path) if isinstance(directory.disk, PosixDisk) else None
            if outside is not None:
                link, target = outside
                self._add_problem(name, file, f"{link}: a symbolic link to {target}, outside of the log directory")
                continue
            try:
                meta = parse_meta_properties(read_bounded(file.disk, file.path, file=file.uri), file=file.uri)
            except (CorruptFileError, OSError) as error:
                self._add_problem(name, file, f"{error}")
                continue
            if meta.version == 0 or meta.node_id is None or meta.cluster_id is None:
                self._add_problem(
                    name, file, f"{file.uri}: version {meta.version}; not a KRaft node's directory (version 1)"
                )
                continue
            if name is None and not is_cluster_name(meta.cluster_id):
                self._add_problem(
                    name,
                    file,
                    f"{file.uri}: cluster.id {meta.cluster_id!r} is no name; name the cluster in an inventory",
                )
                continue
            marker = directory / LIVE_MARKER
            yield FleetLogDir(location=directory, meta=meta, is_live=marker.disk.exists(marker.path))

    def _add(self, name: str | None, node_id: int | None, log_dir: FleetLogDir) -> None:
        cluster_id = log_dir.meta.cluster_id
        assert cluster_id is not None
        if node_id is not None and log_dir.meta.node_id != node_id:
            raise InventoryError(
                f"{log_dir.location.uri} is of node {log_dir.meta.node_id}; the inventory has node {node_id}"
            )
        in_cluster = self._log_dirs.setdefault(cluster_id if name is None else name, {})
        for other in in_cluster.values():
            if other.meta.cluster_id != cluster_id:
                raise InventoryError(
                    f"cluster {name}: {log_dir.location.uri} belongs to cluster {cluster_id}, "
                    f"{other.location.uri} to cluster {other.meta.cluster_id}"
                )
            break
        in_cluster[log_dir.location.uri] = log_dir

    def _note_clones(self, clusters: list[FleetCluster]) -> None:
        """Add a problem to each cluster that has the id of another."""
        names: dict[str, list[str]] = {}
        for cluster in clusters:
            if cluster.cluster_id is not None:
                names.setdefault(cluster.cluster_id, []).append(cluster.name)
        for cluster_id, clones in names.items():
            for name in clones if len(clones) > 1 else ():
                others = ", ".join(other for other in clones if other != name)
                detail = f"{others} has the same cluster.id {cluster_id}: copies, or one cluster under several names"
                row = {"source": None, "kind": "same cluster id", "count": 1, "detail": detail}
                self._problems.setdefault(name, []).append(row)

    def _add_problem(self, name: str | None, file: Location, detail: str) -> None:
        row = {"source": file.uri, "kind": "unreadable file", "count": 1, "detail": detail}
        self._problems.setdefault(name or UNKNOWN_CLUSTER, []).append(row)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdigit() else None


def _places(pattern: str) -> list[Location]:
    try:
        places = [open_location(uri) for uri in expand(pattern)]
        missing = [place for place in places if not place.disk.exists(place.path)]
    except OSError as error:
        raise InventoryError(f"{pattern}: {error}") from error
    if missing:
        raise InventoryError(f"{pattern}: no such file or directory")
    if not places:
        raise InventoryError(f"{pattern}: matches nothing")
    return places


def _search(place: Location, depth: int) -> Iterator[Location]:
    """Yield the data directories at or below a place; none nests in another."""
    if not place.disk.is_directory(place.path):
        return
    names = place.disk.list(place.path)
    if FILE_NAME in names:
        yield place
    elif depth < _DEPTH_MAX:
        for name in names:
            if not name.endswith(OWN_SUFFIXES):
                yield from _search(place / name, depth + 1)


def _nodes(name: str, log_dirs: list[FleetLogDir]) -> tuple[FleetNode, ...]:
    by_node: dict[int, list[FleetLogDir]] = {}
    for log_dir in log_dirs:
        assert log_dir.meta.node_id is not None
        by_node.setdefault(log_dir.meta.node_id, []).append(log_dir)
    return tuple(_node(name, node_id, found) for node_id, found in sorted(by_node.items()))


def _node(name: str, node_id: int, log_dirs: list[FleetLogDir]) -> FleetNode:
    node = FleetNode(node_id=node_id, log_dirs=tuple(log_dirs), metadata_dir=None)
    for log_dir in log_dirs:
        metadata = log_dir.location / METADATA_DIRECTORY
        if not metadata.disk.is_directory(metadata.path):
            continue
        if node.metadata_dir is not None:
            raise InventoryError(
                f"cluster {name}: node {node_id} has two metadata partitions, in {node.metadata_dir.location.uri} and "
                f"{log_dir.location.uri}: name one copy of it only"
            )
        node = replace(node, metadata_dir=log_dir)
    return node
