"""Work that a node does over many steps, a slice in each, so that no step is long.

Sliced work is a generator: it does a bounded amount, yields, and goes on in a later step. All of it is started here and
nowhere else, so `SlicedWorks` knows what a node is busy with; docs/internals/node.md lists it. A slice is bounded by
what it handles (records, partitions, bytes), never by a clock: the simulator runs the same slices.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TypeAlias

    Slices: TypeAlias = Generator[None, None, None]


class WorkCancelledError(BaseException):
    """Raised inside the generator of cancelled work, which may clean up.

    Not `GeneratorExit`: that also comes when a node that has stopped is collected as garbage, and the next one may
    already use the same files. No `Exception` either, so that handlers of faults let it pass.
    """


def cancel_slices(slices: Generator[None, None, object]) -> None:
    """Raise WorkCancelledError inside a generator, where it stands; nothing if it is finished."""
    with suppress(WorkCancelledError, StopIteration):
        slices.throw(WorkCancelledError())


class SlicedWork:
    """One piece of work. It ends when its generator does, or when it is cancelled (a new epoch, a newer snapshot)."""

    __slots__ = ("_slices", "is_finished", "name", "slices_done")

    def __init__(self, name: str, slices: Slices) -> None:
        self.name = name
        self.slices_done = 0
        # True once nothing of it will run any more, for whatever reason.
        self.is_finished = False
        self._slices = slices

    def progress(self) -> None:
        """Do the next slice. What it raises ends the work, and is the caller's."""
        try:
            next(self._slices)
        except StopIteration:
            self.is_finished = True
        except BaseException:
            self.is_finished = True
            raise
        self.slices_done += 1

    def cancel(self) -> None:
        """End it where it stands, with WorkCancelledError."""
        if self.is_finished:
            return
        self.is_finished = True
        cancel_slices(self._slices)


class SlicedWorks:
    """All sliced work of a node. `wake`: requests another step at once."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._under_way: list[SlicedWork] = []
        # Names of the works of which the step has done a slice, but not all at once; each step begins with none.
        self.progressed: list[str] = []

    def start(self, name: str, slices: Slices) -> SlicedWork:
        """Start work; its first slice runs within this step or the next one."""
        work = SlicedWork(name, slices)
        self._under_way.append(work)
        self._wake()
        return work

    def begin(self, name: str, slices: Slices) -> SlicedWork:
        """Do the first slice of work now; if that is all of it, as it mostly is with small work, nothing is started."""
        work = SlicedWork(name, slices)
        work.progress()
        if not work.is_finished:
            self.progressed.append(name)
            self._under_way.append(work)
            self._wake()
        return work

    def begin_last(self, name: str, slices: Slices) -> SlicedWork:
        """Begin work, once all that is under way now is finished."""
        before = tuple(self._under_way)
        return self.start(name, _after(before, slices)) if self.is_busy else self.begin(name, slices)

    def progress(self) -> None:
        """Do one slice of the work that has waited longest."""
        while self._under_way:
            work = self._under_way.pop(0)
            if work.is_finished:
                continue
            self.progressed.append(work.name)
            work.progress()
            if not work.is_finished:
                self._under_way.append(work)
            return

    @property
    def is_busy(self) -> bool:
        """True while the node must be stepped again at once."""
        return any(not work.is_finished for work in self._under_way)

    @property
    def names(self) -> tuple[str, ...]:
        """What is under way, in the order of the next slices."""
        return tuple(work.name for work in self._under_way if not work.is_finished)


def _after(before: tuple[SlicedWork, ...], slices: Slices) -> Slices:
    while not all(work.is_finished for work in before):
        yield
    yield from slices
