"""Copies log directories: reflinked where the file system can, else byte by byte, holes kept.

Nothing is hard-linked. A started Kafka truncates, appends to and maps files in place, closed segments among them when a
follower truncates, and would change the source through the same inode.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections import deque
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.logdir.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

_FICLONE: Final = 0x40049409
_CHUNK_BYTES: Final = 16 * 1024 * 1024
# Errors of file systems and kernels without support.
_UNSUPPORTED: Final = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EPERM)
# Copying waits for the disk more than for the processor.
_WORKERS: Final = 4
# Space that stays free beside the copy.
_SPARE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One file to copy; `allocated` is its size on the disk (less than its length if it has holes)."""

    source: Path
    target: Path
    allocated: int


@dataclass(slots=True)
class CopyPlan:
    """Folders to make, parents first, and files to copy."""

    folders: list[tuple[Path, Path]]
    files: list[FileCopy]

    @property
    def bytes_to_copy(self) -> int:
        """Size of the files on the disk."""
        return sum(file.allocated for file in self.files)


def plan_copy(source: Path, target: Path, *, leave_out: AbstractSet[Path]) -> CopyPlan:
    """List the folders and files of a copy without the paths in `leave_out`; a folder left out is not entered.

    Symbolic links are followed: a copy must not share a file with its source.
    """
    plan = CopyPlan([], [])
    waiting = deque([(source, target)])
    while waiting:
        folder, into = waiting.popleft()
        plan.folders.append((folder, into))
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = folder / entry.name
                if path in leave_out:
                    continue
                if entry.is_dir():
                    waiting.append((path, into / entry.name))
                elif entry.is_file():
                    plan.files.append(FileCopy(path, into / entry.name, entry.stat().st_blocks * 512))
    return plan


def check_space(plans: Iterable[CopyPlan], out: Path) -> None:
    """Raise OutputError if the copies do not fit; reflinks take next to no space."""
    plans = list(plans)
    wanted = sum(plan.bytes_to_copy for plan in plans)
    existing = next(parent for parent in (out, *out.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    first = next((file for plan in plans for file in plan.files if file.allocated), None)
    if wanted + _SPARE_BYTES > free and not (first and _reflinks(first.source, existing)):
        raise OutputError(f"{out}: {_mib(wanted)} to copy, {_mib(free)} free on {existing}")


@contextmanager
def copying(plans: Sequence[CopyPlan], *, advance: Callable[[int], None]) -> Iterator[None]:
    """Make the folders at once, copy the files while the block runs; owner, mode and times are kept.

    The block may write other files into the folders. `advance` is called with the bytes of each file, from other
    threads. When the block or a copy fails, no more copies are begun and the error is raised.
    """
    for plan in plans:
        for _, folder in plan.folders:
            folder.mkdir(parents=True, exist_ok=True)
    workers = ThreadPoolExecutor(_WORKERS)
    try:
        copies = [workers.submit(_copy_file, file, advance) for plan in plans for file in plan.files]
        yield
        for copy in as_completed(copies):
            copy.result()
    finally:
        workers.shutdown(cancel_futures=True)
    for plan in plans:
        for source, folder in reversed(plan.folders):
            _copy_status(source.stat(), folder)


def _copy_file(file: FileCopy, advance: Callable[[int], None]) -> None:
    with file.source.open("rb") as source, file.target.open("xb") as target:
        status = os.fstat(source.fileno())
        if not _clone(source.fileno(), target.fileno()):
            for begin, end in _data_ranges(source.fileno(), status.st_size):
                _copy_range(source.fileno(), target.fileno(), begin, end)
            os.ftruncate(target.fileno(), status.st_size)
    _copy_status(status, file.target)
    advance(file.allocated)


def _copy_status(status: os.stat_result, path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, status.st_uid, status.st_gid)
    path.chmod(stat.S_IMODE(status.st_mode))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _clone(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


def _reflinks(source: Path, folder: Path) -> bool:
    """Return whether the file system reflinks, by trying it with a real file in a folder that exists."""
    probe = folder / f".falkirk-reflink-{os.getpid()}"
    try:
        with source.open("rb") as original, probe.open("xb") as copy:
            return _clone(original.fileno(), copy.fileno())
    except OSError:
        return False
    finally:
        probe.unlink(missing_ok=True)


def _data_ranges(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that are not holes."""
    at = 0
    while at < size:
        try:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            raise
        at = os.lseek(descriptor, begin, os.SEEK_HOLE)
        yield begin, at


def _copy_range(source: int, target: int, begin: int, end: int) -> None:
    while begin < end:
        copied = _copy_some(source, target, begin, min(end - begin, _CHUNK_BYTES))
        if copied == 0:
            raise OutputError(f"file ended at byte {begin} while it was copied")
        begin += copied


def _copy_some(source: int, target: int, at: int, count: int) -> int:
    try:
        return os.copy_file_range(source, target, count, at, at)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return os.pwrite(target, os.pread(source, count, at), at)


def _mib(count: int) -> str:
    return f"{count / 1024 / 1024:,.0f} MiB"
