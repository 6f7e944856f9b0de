"""Progress of work on a fleet, on stderr and only where somebody watches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class FleetProgress:
    """A bar for each phase of the work."""

    def __init__(self) -> None:
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415 - only where somebody watches
            from rich.progress import Progress as Bars  # noqa: PLC0415 - same

            self._bars = Bars(console=Console(stderr=True))
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def update(self, title: str, done: int, total: int) -> None:
        """Move the bar of a phase."""
        if self._bars is None:
            return
        if title not in self._tasks:
            self._tasks[title] = self._bars.add_task(title, total=total)
        self._bars.update(self._tasks[title], completed=done, total=total)
