"""Progress of long work, on stderr and only where somebody watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from falkirk.logdir.downgrade import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class CopyProgress(Progress):
    """A bar over the bytes of the work."""

    def __init__(self, title: str = "copying") -> None:
        self._title = title
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, total_bytes: int) -> None:
        """Show the bar, if stderr is a terminal."""
        if not sys.stderr.isatty():
            return
        from rich.console import Console  # noqa: PLC0415 - only where somebody watches
        from rich.progress import (  # noqa: PLC0415 - same
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar  # noqa: PLC0415 - same

        columns = (TextColumn(self._title), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=max(total_bytes, 1))

    def advance(self, copied_bytes: int) -> None:
        """Move the bar."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, copied_bytes)


@contextmanager
def reading() -> Iterator[None]:
    """Show that the metadata is being read, which takes seconds for a million partitions."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only where somebody watches

    with Console(stderr=True).status("reading metadata"):
        yield
