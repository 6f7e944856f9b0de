"""What Spark writes for its developers: kept in a file, if a command fails, and one sentence of it for its user."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# The last line of a traceback of a Python worker, or the first of a Java exception.
_OF_PYTHON: Final = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(?P<reason>\S.*)", re.MULTILINE)
_OF_JAVA: Final = re.compile(r"^(?:: |Caused by: )?(?:[a-z]\w*\.)+[A-Z]\w*: (?P<reason>\S.*)", re.MULTILINE)
_LINE_MAX: Final = 500


@contextmanager
def open_log() -> Iterator[IO[bytes]]:
    """Open a file for what Spark's JVM writes; it goes by itself, even when this process is killed."""
    with tempfile.TemporaryFile(prefix="falkirk-spark-") as log:
        yield log


def keep_log(log: IO[bytes], error: Exception) -> str:
    """Copy what is in the log, and an error's own text, to a file that stays; return its name."""
    log.seek(0)
    with tempfile.NamedTemporaryFile(prefix="falkirk-spark-", suffix=".log", delete=False) as kept:
        shutil.copyfileobj(log, kept)
        kept.write(f"{error}\n".encode(errors="backslashreplace"))
    return kept.name


def one_sentence(error: Exception) -> str:
    """Return what one of Spark's errors says, without its stack traces."""
    text = str(error).strip()
    found = _OF_PYTHON.search(text) or _OF_JAVA.search(text)
    return (found["reason"] if found else text.partition("\n")[0])[:_LINE_MAX].strip()
