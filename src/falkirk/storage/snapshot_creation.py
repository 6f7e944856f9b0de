"""Writes a snapshot of the image in steps: a node has other work to do in between (KIP-630)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.storage.disk import Disk
    from falkirk.storage.snapshot_writer import SnapshotWriter

# About 5 ms of work with records that have to be encoded.
VALUES_PER_STEP: Final = 1_000


class SnapshotCreation:
    """Appends to a partial file, which becomes the snapshot when it is complete.

    A crash leaves a partial file, which is removed when the log is opened. `values`: the image's records with their
    frames. `piece_bytes`: how much is written and synced at once. `complete` makes the partial file the snapshot.
    """

    def __init__(
        self,
        disk: Disk,
        path: str,
        values: Iterable[bytes],
        writer: SnapshotWriter,
        *,
        piece_bytes: int,
        complete: Callable[[], None],
    ) -> None:
        assert piece_bytes > 0
        self.records = 0
        self._disk = disk
        self._path = path
        self._values = iter(values)
        self._writer = writer
        self._piece_bytes = piece_bytes
        self._complete = complete
        # What is to be written, the first of it last.
        self._pending: list[memoryview] = []
        self._is_finished = False
        self._is_over = False

    def step(self) -> bool:
        """Encode or write one piece; return whether the snapshot is complete. Raises OSError."""
        assert not self._is_over
        if not self._pending and not self._is_finished:
            self._make()
        if self._pending:
            batch = self._pending.pop()
            self._disk.append(self._path, batch[: self._piece_bytes])
            if len(batch) > self._piece_bytes:
                self._pending.append(batch[self._piece_bytes :])
        if self._pending or not self._is_finished:
            return False
        self._is_over = True
        self._complete()
        return True

    def abandon(self) -> None:
        """Remove what was written. Raises OSError."""
        assert not self._is_over
        self._is_over = True
        if self._disk.exists(self._path):
            self._disk.remove(self._path)

    def _make(self) -> None:
        added = list(islice(self._values, VALUES_PER_STEP))
        self.records += len(added)
        made = list(self._writer.append_all(added))
        self._is_finished = len(added) < VALUES_PER_STEP
        if self._is_finished:
            made.extend(self._writer.finish())
        self._pending = [memoryview(batch) for batch in reversed(made)]
