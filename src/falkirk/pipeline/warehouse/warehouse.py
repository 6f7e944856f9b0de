"""A directory of Delta Lake tables, with a manifest for each cluster.

    WAREHOUSE/<table>/_delta_log/               which data files a version of the table has
    WAREHOUSE/<table>/cluster=<name>/<file>.parquet
    WAREHOUSE/_falkirk/warehouse.json           format of the whole
    WAREHOUSE/_falkirk/clusters/<name>.json     the manifest: what the data files were made of
    WAREHOUSE/_falkirk/intent.json              a commit that is under way
    WAREHOUSE/_falkirk/commits/<number>.json    the mark of a commit: the version of each table
    WAREHOUSE/_falkirk/current.json             the mark of the last one

Workers write data files under new names in their final places. A commit is decided when its intent is written, and is
rolled forward from there: one Delta commit for each table, the manifests, the marks. The next writer completes one that
was killed. Readers take the versions of a mark, so they see all tables at one moment, whatever is committed meanwhile.
Only `fleet vacuum` removes data files.
"""

from __future__ import annotations

import fcntl
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from pyarrow import fs, parquet

import falkirk
from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.fleet import is_cluster_name
from falkirk.pipeline.warehouse.commit import Intent, Mark, make_intent
from falkirk.pipeline.warehouse.delta import commit_files, delta_uri, widen
from falkirk.pipeline.warehouse.manifest import FORMAT, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from falkirk.pipeline.warehouse.commit import Change
    from falkirk.pipeline.warehouse.manifest import DataFile

_OWN: Final = "_falkirk"
_WAREHOUSE: Final = f"{_OWN}/warehouse.json"
_LOCK: Final = f"{_OWN}/lock"
_CLUSTERS: Final = f"{_OWN}/clusters"
_INTENT: Final = f"{_OWN}/intent.json"
_COMMITS: Final = f"{_OWN}/commits"
_CURRENT: Final = f"{_OWN}/current.json"
_JSON: Final = ".json"
_ASIDE: Final = ".aside"
T = TypeVar("T")


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
            self.filesystem, self.root = fs.FileSystem.from_uri(self.uri + _store_settings(self.uri))
        # PyArrow raises NotImplementedError for a scheme that it was built without.
        except (ValueError, NotImplementedError, OSError) as error:
            raise WarehouseError(f"{uri}: {error}") from error
        self.is_local = isinstance(self.filesystem, fs.LocalFileSystem)

    @classmethod
    def open(cls, uri: str) -> Warehouse:
        """Open an existing warehouse. Raises WarehouseError."""
        warehouse = cls(uri)
        warehouse.check_format()
        return warehouse

    @classmethod
    def make(cls, uri: str, *, keep_secrets: bool = False) -> Warehouse:
        """Open a warehouse, or create one in a new or empty directory. Raises WarehouseError.

        All tables of a warehouse have secrets, or none has: another `keep_secrets` than before is refused.
        """
        warehouse = cls(uri)
        if warehouse._exists(_WAREHOUSE):
            warehouse.check_format()
            warehouse._check_secrets(keep_secrets=keep_secrets)
            return warehouse
        info = warehouse.filesystem.get_file_info(warehouse.root)
        is_file = info.type == fs.FileType.File
        if is_file or warehouse._list(""):
            reason = "a file" if is_file else "not empty, and no warehouse"
            raise WarehouseError(f"{uri}: {reason}; name a new or empty directory")
        if warehouse.is_local and "%" in warehouse.root:
            raise WarehouseError(f"{uri}: a path with %, in which no Delta table can be written")
        try:
            warehouse.mark_format(keeps_secrets=keep_secrets)
        except OSError as error:
            raise WarehouseError(f"{uri}: cannot be written: {error}") from error
        return warehouse

    def mark_format(self, *, keeps_secrets: bool) -> None:
        """Write the file that marks a warehouse of this format."""
        about = WarehouseFile(format=FORMAT, written_by=f"falkirk {falkirk.__version__}", keeps_secrets=keeps_secrets)
        self.replace(_WAREHOUSE, msgspec.json.encode(about))

    def check_seen(self) -> None:
        """Raise WarehouseError in a worker that does not see this warehouse, and would write one of its own."""
        if self.is_local and not self._exists(_WAREHOUSE):
            raise WarehouseError(
                f"{self.uri}: not seen by Spark's worker on {socket.gethostname()}: "
                "name a directory that all workers share, or an object store"
            )

    @contextmanager
    def writing(self, *, wait: bool = False) -> Iterator[None]:
        """Hold the writer's lock, and complete a commit that was killed. Raises WarehouseError.

        Without `wait` another writer is an error.
        """
        if not self.is_local:
            self._complete()
            yield
            return
        with (Path(self.root) / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except OSError as error:
                raise WarehouseError(f"{self.uri}: another falkirk is writing here") from error
            self._complete()
            yield

    def manifest(self, cluster: str) -> Manifest | None:
        """Return the manifest of a cluster; None if the warehouse holds nothing of it."""
        return self._decode(_manifest_path(cluster), Manifest)

    def clusters(self) -> list[str]:
        """Return the names of all clusters, in order."""
        return [name.removesuffix(_JSON) for name in self._list(_CLUSTERS) if name.endswith(_JSON)]

    def manifests(self) -> list[Manifest]:
        """Return all manifests, by name of the cluster."""
        return self._decode_all(_CLUSTERS, Manifest)

    def rows(self, file: DataFile) -> list[dict[str, Any]]:  # Any: values of columns
        """Read a data file of few rows."""
        return parquet.read_table(self.path(file.path), filesystem=self.filesystem, partitioning=None).to_pylist()

    def mark(self, number: int | None = None) -> Mark:
        """Return the mark of a commit, or of the last one; number 0 if there was none yet. Raises WarehouseError."""
        if number is None:
            return self._decode(_CURRENT, Mark) or Mark()
        found = self._decode(_mark_path(number), Mark)
        if found is None:
            raise WarehouseError(f"{self.uri}: no commit {number} here; `falkirk fleet history` lists them")
        return found

    def marks(self) -> list[Mark]:
        """Return the marks of all commits that can still be read, the oldest first."""
        return self._decode_all(_COMMITS, Mark)

    def forget_mark(self, mark: Mark) -> None:
        """Remove the mark of a commit whose data files are about to go."""
        self.filesystem.delete_file(self.path(_mark_path(mark.number)))

    def commit(self, changes: Sequence[Change]) -> Mark:
        """Commit all changes at one moment; their data files are written. Returns the mark. Raises WarehouseError."""
        for change in changes:
            check_cluster_name(change.cluster)
        intent = make_intent(changes, number=self.mark().number + 1, at_ms=time.time_ns() // 1_000_000)
        for table, files in intent.tables.items():
            if files.added:
                widen(self.table_uri(table), table)
        self.replace(_INTENT, msgspec.json.encode(intent))
        return self._roll_forward(intent)

    def check_known(self, clusters: Iterable[str]) -> None:
        """Raise WarehouseError that names the clusters of which nothing is here."""
        unknown = [cluster for cluster in clusters if self.manifest(cluster) is None]
        if unknown:
            raise WarehouseError(f"{self.uri}: no cluster is called {', '.join(unknown)}")

    def table_uri(self, table: str) -> str:
        """Return where a table is, as delta-rs takes it."""
        return f"{delta_uri(self.uri)}/{table}"

    def path(self, relative: str) -> str:
        """Return the path of a file in `filesystem`."""
        return f"{self.root}/{relative}" if relative else self.root

    def replace(self, relative: str, data: bytes) -> None:
        """Create or replace a small file, whole or not at all; a store does so by itself."""
        target = self.path(relative)
        if not self.is_local:
            with self.filesystem.open_output_stream(target) as stream:
                stream.write(data)
            return
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}{_ASIDE}")
        aside.write_bytes(data)
        aside.replace(path)

    def remove_tree(self, relative: str) -> None:
        """Remove a directory with everything in it, if it is there."""
        if self._exists(relative):
            self.filesystem.delete_dir(self.path(relative))

    def _complete(self) -> None:
        """Complete a commit that was killed."""
        intent = self._decode(_INTENT, Intent)
        if intent is not None:
            self._roll_forward(intent)

    def _roll_forward(self, intent: Intent) -> Mark:
        """Do what is left of a commit: every step may have been done before."""
        before = self.mark()
        mark = before
        if before.number < intent.number:
            with ThreadPoolExecutor() as pool:
                found = pool.map(partial(self._commit_table, intent), intent.tables)
                versions = before.versions | dict(zip(intent.tables, found, strict=True))
                list(pool.map(self._put_manifest, intent.manifests.items()))
            changed = tuple(intent.manifests)
            mark = Mark(number=intent.number, at_ms=intent.at_ms, versions=versions, changed=changed)
            data = msgspec.json.encode(mark)
            self.replace(_mark_path(mark.number), data)
            self.replace(_CURRENT, data)
        self.filesystem.delete_file(self.path(_INTENT))
        return mark

    def _commit_table(self, intent: Intent, table: str) -> int:
        files = intent.tables[table]
        uri = self.table_uri(table)
        return commit_files(uri, table, intent.number, intent.at_ms, added=files.added, removed=files.removed)

    def _put_manifest(self, item: tuple[str, Manifest | None]) -> None:
        cluster, manifest = item
        path = _manifest_path(cluster)
        if manifest is not None:
            self.replace(path, msgspec.json.encode(manifest))
        elif self._exists(path):
            self.filesystem.delete_file(self.path(path))

    def keeps_secrets(self) -> bool:
        """Return whether tables have passwords and SCRAM credentials."""
        return self._about().keeps_secrets

    def _check_secrets(self, *, keep_secrets: bool) -> None:
        keeps = self.keeps_secrets()
        if keeps and not keep_secrets:
            raise WarehouseError(
                f"{self.uri}: its tables hold secrets (--keep-secrets, or an older falkirk): "
                "name another directory, or go on with --keep-secrets"
            )
        if keep_secrets and not keeps:
            raise WarehouseError(f"{self.uri}: its tables hold no secrets: name another directory for --keep-secrets")

    def check_format(self, format_: int = FORMAT) -> None:
        """Raise WarehouseError if this is no warehouse, or one of another format."""
        about = self._about()
        if about.format > FORMAT:
            raise WarehouseError(
                f"{self.uri}: written by {about.written_by} in format {about.format}; this falkirk "
                f"({falkirk.__version__}) reads up to format {FORMAT}"
            )
        if about.format < format_:
            raise WarehouseError(f"{self.uri}: written by an older falkirk; `falkirk fleet migrate` makes it current")
        if about.format > format_:
            raise WarehouseError(f"{self.uri}: is current; there is nothing to migrate")

    def _about(self) -> WarehouseFile:
        about = self._decode(_WAREHOUSE, WarehouseFile)
        if about is None:
            raise WarehouseError(f"{self.uri}: no warehouse here; `falkirk fleet ingest` makes one")
        return about

    def _decode_all(self, folder: str, type_: type[T]) -> list[T]:
        paths = [f"{folder}/{name}" for name in self._list(folder) if name.endswith(_JSON)]
        with ThreadPoolExecutor() as pool:
            return [each for each in pool.map(lambda path: self._decode(path, type_), paths) if each is not None]

    def _decode(self, path: str, type_: type[T]) -> T | None:
        """Read a small file; None if it is not there. Raises WarehouseError."""
        try:
            with self.filesystem.open_input_file(self.path(path)) as file:
                return msgspec.json.decode(bytes(file.read()), type=type_)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise WarehouseError(f"{self.uri}/{path}: damaged: {error}") from error

    def _exists(self, relative: str) -> bool:
        return bool(self.filesystem.get_file_info(self.path(relative)).type != fs.FileType.NotFound)

    def _list(self, relative: str) -> Sequence[str]:
        selector = fs.FileSelector(self.path(relative), allow_not_found=True)
        return sorted(info.base_name for info in self.filesystem.get_file_info(selector))


def _store_settings(uri: str) -> str:
    """Return what PyArrow's S3 needs in a URI to write a small file in one request, and not in three."""
    return "?allow_delayed_open=true" if uri.startswith("s3://") and "?" not in uri else ""


def check_cluster_name(cluster: str) -> None:
    """Raise WarehouseError if a name leads elsewhere as part of a path."""
    if not is_cluster_name(cluster):
        raise WarehouseError(f"{cluster!r} is no name for a cluster, and no name of a file")


def _manifest_path(cluster: str) -> str:
    check_cluster_name(cluster)
    return f"{_CLUSTERS}/{cluster}{_JSON}"


def _mark_path(number: int) -> str:
    return f"{_COMMITS}/{number:020}{_JSON}"
