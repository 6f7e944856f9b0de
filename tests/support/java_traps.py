"""Stubs of `java`, `javac` and `mvn` that stand first on the PATH while a test without a JVM mark runs.

They also catch a program that the test starts and that starts Java in turn.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("java", "javac", "mvn")
SCRIPT = """#!/bin/sh
echo "${{0##*/}} $*" >> '{calls}'
echo "${{0##*/}}: this test bears none of the marks interop, spark and zookeeper, so it must not start Java" >&2
exit 97
"""


class JavaTraps:
    """Writes the stubs into an existing folder of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = folder / "calls"
        for name in PROGRAMS:
            (folder / name).write_text(SCRIPT.format(calls=self._calls))
            (folder / name).chmod(0o755)

    @contextmanager
    def laid(self) -> Iterator[None]:
        """Put the stubs on the PATH for the duration of the block."""
        before = {name: os.environ.get(name) for name in ("PATH", "JAVA_HOME")}
        os.environ["PATH"] = f"{self._folder}{os.pathsep}{before['PATH'] or os.defpath}"
        os.environ.pop("JAVA_HOME", None)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def remove_calls(self) -> list[str]:
        """Return the command lines that were caught since the last call."""
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return calls
