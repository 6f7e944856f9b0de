"""Progress of long work, on stderr if it is a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from rich.progress import Progress as Bars
    from rich.progress import TaskID


class PhaseProgress:
    """A bar for each phase of the work."""

    def __init__(self) -> None:
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415 - for a terminal only
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
        """Move the bar of a phase, and show it if it is new."""
        if self._bars is None:
            return
        if title not in self._tasks:
            self._tasks[title] = self._bars.add_task(title, total=total)
        self._bars.update(self._tasks[title], completed=done, total=total)


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows what is being done, step by step."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - for a terminal only

    with Console(stderr=True).status("connecting") as status:
        yield status.update


@contextmanager
def reading() -> Iterator[None]:
    """Show that metadata is being read, which takes seconds for a million partitions."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - for a terminal only

    with Console(stderr=True).status("reading metadata"):
        yield
