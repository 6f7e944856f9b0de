"""A producer that runs in the background, and the proof that no acked record is lost."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_java import CLIENT_RELEASE, jvm_command, program_jar
from kafka_node import dies_with_parent

_POLL_S = 0.05


class Load:
    """`java/Load.java` as a process."""

    def __init__(self, bootstrap_servers: str, topic: str, folder: Path, *, codec: str = "none") -> None:
        self._output = folder / f"load-{topic}.txt"
        self._errors = folder / f"load-{topic}-errors.txt"
        arguments = ["--bootstrap", bootstrap_servers, "--topic", topic, "--codec", codec]
        command = jvm_command(
            CLIENT_RELEASE, "Load", arguments, heap_mb=128, log_level="warn", jars=[program_jar("Load", CLIENT_RELEASE)]
        )
        with self._output.open("wb") as output, self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*dies_with_parent(), *command], stdin=subprocess.PIPE, stdout=output, stderr=errors
            )

    def acked(self) -> int:
        """The number of acked records so far."""
        lines = [line for line in self._output.read_text().split("\n")[:-1] if line.isdigit()]
        return int(lines[-1]) if lines else 0

    def await_more(self, count: int = 50, timeout_s: float = 60) -> None:
        """Return when `count` more records have been acked; raises TimeoutError."""
        wanted = self.acked() + count
        deadline = time.monotonic() + timeout_s
        while self.acked() < wanted:
            if time.monotonic() > deadline or self._process.poll() is not None:
                tail = self._errors.read_text()[-3000:]
                raise TimeoutError(f"{self.acked()} of {wanted} records were acked within {timeout_s} s:\n{tail}")
            time.sleep(_POLL_S)

    def finish(self, timeout_s: float = 120) -> dict[str, Any]:  # Any: a JSON document
        """Stop producing, read everything back, and return what the program found."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout_s)
        last = self._output.read_text().rstrip("\n").rpartition("\n")[2]
        if not last.startswith("{"):
            raise AssertionError(f"Load ended without a result:\n{self._errors.read_text()[-4000:]}")
        document: dict[str, Any] = json.loads(last)
        return document

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


@contextmanager
def producing(bootstrap_servers: str, topic: str, folder: Path, *, codec: str = "none") -> Iterator[Load]:
    """Produce while the block runs, which should call `finish`."""
    load = Load(bootstrap_servers, topic, folder, codec=codec)
    try:
        yield load
    finally:
        load.kill()
