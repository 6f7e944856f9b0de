"""A directory of tables: Parquet files by table and cluster, and a manifest for each cluster.

    WAREHOUSE/<table>/cluster=<name>/<file>.parquet
    WAREHOUSE/_falkirk/warehouse.json           format of the whole
    WAREHOUSE/_falkirk/clusters/<name>.json     the manifest: which data files count
    WAREHOUSE/_falkirk/intents/<name>.json      data files that a commit adds or removes, or that are forgotten
    WAREHOUSE/_falkirk/staging/<run>/           data files of a run that has not committed yet

Spark ignores names that begin with `_`. New data files have unique names and are moved in before the manifest is
replaced; old ones are removed after it. Files left by a run that was killed are not in the manifest, and the next run
removes them.
"""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyarrow import fs

import falkirk
from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.fleet import is_cluster_name
from falkirk.pipeline.warehouse.manifest import FORMAT, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_OWN: Final = "_falkirk"
_WAREHOUSE: Final = f"{_OWN}/warehouse.json"
_LOCK: Final = f"{_OWN}/lock"
_CLUSTERS: Final = f"{_OWN}/clusters"
_INTENTS: Final = f"{_OWN}/intents"
_STAGING: Final = f"{_OWN}/staging"
_JSON: Final = ".json"
_ASIDE: Final = ".aside"


class WarehouseFile(msgspec.Struct, kw_only=True):
    """The file that marks a directory as a warehouse."""

    format: int
    written_by: str
    keeps_secrets: bool = True
    """Whether tables have passwords and SCRAM credentials; older warehouses do."""


class Warehouse:
    """A warehouse at a path or URI that PyArrow supports; a path must be visible to all workers."""

    def __init__(self, uri: str) -> None:
        self.uri = uri if "://" in uri else str(Path(uri).resolve())
        try:
            self.filesystem, self.root = fs.FileSystem.from_uri(self.uri)
        # PyArrow raises NotImplementedError for a scheme that it was built without.
        except (ValueError, NotImplementedError, OSError) as error:
            raise WarehouseError(f"{uri}: {error}") from error

    @classmethod
    def open(cls, uri: str) -> Warehouse:
        """Open an existing warehouse. Raises WarehouseError."""
        warehouse = cls(uri)
        if not warehouse._exists(_WAREHOUSE):
            raise WarehouseError(f"{uri}: no warehouse here; `falkirk fleet ingest` makes one")
        warehouse._check_format()
        return warehouse

    @classmethod
    def make(cls, uri: str, *, keep_secrets: bool = False) -> Warehouse:
        """Open a warehouse, or create one in a new or empty directory. Raises WarehouseError.

        All tables of a warehouse have secrets, or none has: another `keep_secrets` than before is refused.
        """
        warehouse = cls(uri)
        if warehouse._exists(_WAREHOUSE):
            warehouse._check_format()
            warehouse._check_secrets(keep_secrets=keep_secrets)
            return warehouse
        info = warehouse.filesystem.get_file_info(warehouse.root)
        is_file = info.type == fs.FileType.File
        if is_file or warehouse._list(""):
            reason = "a file" if is_file else "not empty, and no warehouse"
            raise WarehouseError(f"{uri}: {reason}; name a new or empty directory")
        about = WarehouseFile(format=FORMAT, written_by=f"falkirk {falkirk.__version__}", keeps_secrets=keep_secrets)
        try:
            warehouse.replace(_WAREHOUSE, msgspec.json.encode(about))
        except OSError as error:
            raise WarehouseError(f"{uri}: cannot be written: {error}") from error
        return warehouse

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer's lock and remove what an unfinished run left behind. Raises WarehouseError."""
        if not isinstance(self.filesystem, fs.LocalFileSystem):
            self._clear()
            yield
            return
        with (Path(self.root) / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise WarehouseError(f"{self.uri}: another falkirk is writing here") from error
            self._clear()
            yield

    def manifest(self, cluster: str) -> Manifest | None:
        """Return the manifest of a cluster; None if the warehouse holds nothing of it."""
        path = _manifest_path(cluster)
        return self._read_manifest(path) if self._exists(path) else None

    def manifests(self) -> list[Manifest]:
        """Return all manifests, by name of the cluster."""
        paths = [f"{_CLUSTERS}/{name}" for name in self._list(_CLUSTERS) if name.endswith(_JSON)]
        with ThreadPoolExecutor() as pool:
            return list(pool.map(self._read_manifest, paths))

    def staging(self, run: str) -> str:
        """Return the directory of a run's uncommitted data files, relative to the warehouse."""
        return f"{_STAGING}/{run}"

    def commit(self, manifest: Manifest, run: str, before: Manifest | None) -> None:
        """Commit a manifest atomically; its new data files are moved out of the run's staging directory first."""
        target_manifest = _manifest_path(manifest.cluster)
        old = set() if before is None else before.paths()
        new = sorted(manifest.paths() - old)
        intent = f"{_INTENTS}/{manifest.cluster}{_JSON}"
        self.replace(intent, msgspec.json.encode(sorted(manifest.paths() ^ old)))
        for path in new:
            target = self.path(path)
            self.filesystem.create_dir(target.rpartition("/")[0], recursive=True)
            self.filesystem.move(self.path(f"{self.staging(run)}/{path}"), target)
        self.replace(target_manifest, msgspec.json.encode(manifest))
        for path in sorted(old - manifest.paths()):
            self._remove(path)
        self._remove(intent)

    def check_known(self, clusters: Iterable[str]) -> None:
        """Raise WarehouseError that names the clusters of which nothing is here."""
        unknown = [cluster for cluster in clusters if self.manifest(cluster) is None]
        if unknown:
            raise WarehouseError(f"{self.uri}: no cluster is called {', '.join(unknown)}")

    def forget(self, cluster: str) -> Manifest:
        """Remove a cluster from all tables at once; return what it had."""
        manifest = self.manifest(cluster)
        assert manifest is not None, "the caller has checked it"
        intent = f"{_INTENTS}/{cluster}{_JSON}"
        self.replace(intent, msgspec.json.encode(sorted(manifest.paths())))
        self._remove(_manifest_path(cluster))
        for path in sorted(manifest.paths()):
            self._remove(path)
        self._remove(intent)
        return manifest

    def path(self, relative: str) -> str:
        """Return the path of a file in `filesystem`."""
        return f"{self.root}/{relative}" if relative else self.root

    def replace(self, relative: str, data: bytes) -> None:
        """Create or replace a small file, whole or not at all."""
        target = self.path(relative)
        self.filesystem.create_dir(target.rpartition("/")[0], recursive=True)
        with self.filesystem.open_output_stream(f"{target}{_ASIDE}") as stream:
            stream.write(data)
        self.filesystem.move(f"{target}{_ASIDE}", target)

    def end_run(self, run: str) -> None:
        """Remove a run's staging directory."""
        path = self.path(self.staging(run))
        if self.filesystem.get_file_info(path).type == fs.FileType.Directory:
            self.filesystem.delete_dir(path)

    def _clear(self) -> None:
        """Remove what unfinished runs left behind."""
        for name in self._list(_INTENTS):
            if not name.endswith(_JSON):
                continue
            manifest = self.manifest(name.removesuffix(_JSON))
            live = set() if manifest is None else manifest.paths()
            for path in msgspec.json.decode(self._read(f"{_INTENTS}/{name}"), type=list[str]):
                if path not in live:
                    self._remove(path)
            self._remove(f"{_INTENTS}/{name}")
        for name in self._list(_STAGING):
            self.end_run(name)

    def keeps_secrets(self) -> bool:
        """Return whether tables have passwords and SCRAM credentials."""
        about: WarehouseFile = self._decode(_WAREHOUSE, WarehouseFile)
        return about.keeps_secrets

    def _check_secrets(self, *, keep_secrets: bool) -> None:
        keeps = self.keeps_secrets()
        if keeps and not keep_secrets:
            raise WarehouseError(
                f"{self.uri}: its tables hold secrets (--keep-secrets, or an older falkirk): "
                "name another directory, or go on with --keep-secrets"
            )
        if keep_secrets and not keeps:
            raise WarehouseError(f"{self.uri}: its tables hold no secrets: name another directory for --keep-secrets")

    def _check_format(self) -> None:
        about = self._decode(_WAREHOUSE, WarehouseFile)
        if about.format > FORMAT:
            raise WarehouseError(
                f"{self.uri}: written by {about.written_by} in format {about.format}; this falkirk "
                f"({falkirk.__version__}) reads up to format {FORMAT}"
            )

    def _read_manifest(self, path: str) -> Manifest:
        manifest: Manifest = self._decode(path, Manifest)
        if manifest.format > FORMAT:
            raise WarehouseError(
                f"{self.uri}/{path}: of a newer falkirk, in format {manifest.format}; this one ({falkirk.__version__}) "
                f"reads up to format {FORMAT}"
            )
        return manifest

    def _decode(self, path: str, type_: type[Any]) -> Any:  # Any: of that type
        try:
            return msgspec.json.decode(self._read(path), type=type_)
        except msgspec.DecodeError as error:
            raise WarehouseError(f"{self.uri}/{path}: damaged: {error}") from error

    def _read(self, relative: str) -> bytes:
        with self.filesystem.open_input_file(self.path(relative)) as file:
            return bytes(file.read())

    def _exists(self, relative: str) -> bool:
        return bool(self.filesystem.get_file_info(self.path(relative)).type != fs.FileType.NotFound)

    def _list(self, relative: str) -> Sequence[str]:
        selector = fs.FileSelector(self.path(relative), allow_not_found=True)
        return sorted(info.base_name for info in self.filesystem.get_file_info(selector))

    def _remove(self, relative: str) -> None:
        if self._exists(relative):
            self.filesystem.delete_file(self.path(relative))


def check_cluster_name(cluster: str) -> None:
    """Raise WarehouseError if a name leads elsewhere as part of a path."""
    if not is_cluster_name(cluster):
        raise WarehouseError(f"{cluster!r} is no name for a cluster, and no name of a file")


def _manifest_path(cluster: str) -> str:
    check_cluster_name(cluster)
    return f"{_CLUSTERS}/{cluster}{_JSON}"
