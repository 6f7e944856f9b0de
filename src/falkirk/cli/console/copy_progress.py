"""The progress bar of copying and checking directories, on stderr if it is a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

from falkirk.logdir.write_tree import Progress

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class CopyProgress(Progress):
    """A bar over bytes."""

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
        from rich.console import Console  # noqa: PLC0415 - for a terminal only
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
