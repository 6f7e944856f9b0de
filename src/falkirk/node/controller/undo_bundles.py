"""The undo bundles of a controller: one for each lowering that is committed.

The active controller writes the bundle before it decides, so that nothing is lowered that cannot be undone; it gets its
name when the change is replayed. Every other controller writes its own then: the death of one loses no bundle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.undo.live_bundle import LiveBundle
from falkirk.node.controller.undo_bundle_file import UndoBundleFile, remove_partial, undo_directory
from falkirk.node.effects import Fact
from falkirk.node.sliced_work import WorkCancelledError
from falkirk.slices import SliceBudget
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.publishing.level_change import LevelChange
    from falkirk.node.effects import Effect
    from falkirk.node.step import Step
    from falkirk.raft.replica import RaftReplica
    from falkirk.slices import Slices
    from falkirk.storage.disk import Disk

VISITS_PER_TOPIC: Final = 20
"""Judging a topic costs that much besides its partitions."""


class _Prepared(NamedTuple):
    file: UndoBundleFile
    path: str
    epoch: int


class UndoBundles:
    """`raft` has the voters of each moment."""

    def __init__(self, step: Step, raft: RaftReplica, disk: Disk, effects: Callable[[Effect], None]) -> None:
        self._step = step
        self._raft = raft
        self._disk = disk
        self._effects = effects
        self._directory = undo_directory(step.config)
        self._prepared: _Prepared | None = None
        remove_partial(disk, self._directory, step.config.node_id)

    def new_file(self, *, is_replayed: bool = False) -> UndoBundleFile:
        """Begin a bundle. Raises OSError."""
        return UndoBundleFile(self._disk, self._directory, self._step.config.node_id, is_replayed=is_replayed)

    def path(self, image: MetadataImage, levels: Mapping[str, int], offset: int) -> str:
        """Return where the bundle of a change at `offset` goes, the same name on every controller."""
        before = image.features.metadata_version
        assert before is not None, "a running cluster has a metadata.version"
        after = MetadataVersion.of_level(levels.get(METADATA_VERSION, before.level))
        return f"{self._directory}/{self._step.cluster_id}-{offset}-{before}-{after}.zip"

    def finish(
        self, bundle: LiveBundle, image: MetadataImage, offset: int, *, is_kraft_version_raised: bool = False
    ) -> bytes:
        """Return the last bytes of a bundle; `image` is the one just before the change, which begins at `offset`.

        `is_kraft_version_raised`: that is appended just before it, and is not yet.
        """
        raft = self._raft
        kraft_version, voters = raft.voters_raised() if is_kraft_version_raised else raft.voters_before(offset)
        return bundle.finish(
            image, cluster_id=self._step.cluster_id, kraft_version=kraft_version, voters=voters, offset=offset
        )

    def prepare(self, file: UndoBundleFile, path: str) -> None:
        """Make a complete file durable for a change that is about to be appended. Raises OSError."""
        file.prepare()
        self._prepared = _Prepared(file, path, self._raft.epoch)

    def keep(self, change: LevelChange) -> Slices[None]:
        """Rename the prepared file, or write the bundle of a change that another controller decided on."""
        path = self.path(change.image, change.levels, change.offset)
        prepared, self._prepared = self._prepared, None
        try:
            if prepared is not None and (prepared.path, prepared.epoch) == (path, change.epoch):
                prepared.file.complete(path)
            else:
                yield from self._write(change, path)
        except OSError as error:
            self._effects(Fact("error", "undo-bundle-not-written", {"path": path, "reason": str(error)}))
        else:
            self._effects(Fact("info", "undo-bundle-written", {"path": path}))

    def _write(self, change: LevelChange, path: str) -> Slices[None]:
        bundle = LiveBundle(change.image, change.levels)
        file = self.new_file(is_replayed=True)
        budget = SliceBudget()
        try:
            for name, topic in bundle.missing(change.image):
                for data, visits in bundle.add(change.image, name, topic):
                    file.append(data)
                    if budget.spend(visits + VISITS_PER_TOPIC):
                        yield
            file.append(self.finish(bundle, change.image, change.offset))
            file.complete(path)
        except (Exception, WorkCancelledError):
            file.discard()
            raise
