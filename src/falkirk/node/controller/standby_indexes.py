"""The indexes of a controller, kept on every one while it follows: activation must not cost as much as the image."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.sliced_work import SlicedWorks, Slices

NAME: Final = "controller indexes"


class StandbyIndexes:
    """A publisher of the loader. A small delta is applied at once; a large one, as of a snapshot, over many steps."""

    def __init__(self, works: SlicedWorks) -> None:
        self._works = works
        self._indexes = ControllerIndexes()
        self._pending: deque[MetadataDelta] = deque()
        self._is_behind = False

    @property
    def current(self) -> ControllerIndexes | None:
        """The indexes of the last published image; None while they are behind it."""
        return None if self._is_behind else self._indexes

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:  # noqa: ARG002 - the publishers' seam
        """Apply a delta, or begin to, or let it wait for those before it."""
        self._pending.append(delta)
        if not self._is_behind:
            self._works.begin(NAME, self._catch_up())

    def _catch_up(self) -> Slices:
        self._is_behind = True
        self._indexes = yield from self._indexes.changed_in_slices(self._take_pending())
        self._is_behind = False

    def _take_pending(self) -> Iterator[MetadataDelta]:
        while self._pending:
            yield self._pending.popleft()
