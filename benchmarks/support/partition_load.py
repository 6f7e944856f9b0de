"""How long a broker takes to load a partition of a coordinator's topic: ours against real Kafka, with the same log.

Compared are the time that each broker reports after loading the partition, and the processor time from the start of the
process until the coordinator answers, minus that of a start with an empty partition. The JVM is as cold as in any
broker that was just started.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.record import Record
from support.kafka_peer import Peer
from support.line import print_line
from support.process import cpu_seconds
from support.server import Server, falkirk_servers, kafka_servers

SEGMENT = f"{0:020}.log"
TURNS = 3
WAIT_S = 180

Serve = Callable[[], AbstractContextManager[list[Server]]]


class PartitionLoads:
    """`create` makes the partition at a broker's port; `error` asks for something in it, which is NONE once loaded."""

    def __init__(
        self, partition: str, segment: Path, *, create: Callable[[int], None], error: Callable[[int], int]
    ) -> None:
        self._partition = partition
        self._segment = segment
        self._create = create
        self._error = error

    def both_sides(
        self,
        kafka: Peer,
        folder: Path,
        properties: Mapping[str, object],
        *,
        ours: re.Pattern[bytes],
        theirs: re.Pattern[bytes],
    ) -> tuple["LoadSide", "LoadSide"]:
        """Measure both in turn. `ours`, `theirs`: what each side logs, with the milliseconds, when it has loaded."""
        broker = {"roles": "broker,controller", "properties": properties}
        sides = (
            LoadSide(partial(falkirk_servers, folder / "falkirk", 1, **broker), ours, self),
            LoadSide(partial(kafka_servers, kafka, folder / "kafka", 1, **broker), theirs, self),
        )
        for side in sides:
            side.prepare()
        for _ in range(TURNS):
            for side in sides:
                side.turn()
        return sides

    def print(self, name: str, ours: "LoadSide", theirs: "LoadSide", *, budget: float) -> None:
        """Print the wall time, and the ratio of processor times beside it."""
        cpu = ours.cpu_seconds, theirs.cpu_seconds
        print_line(name, ours.seconds, theirs.seconds, budget=budget, cpu=cpu)

    def create(self, server: Server) -> Path:
        """Make the partition; return its directory."""
        self._create(server.broker_port)
        return server.home / "log" / self._partition

    def put(self, directory: Path) -> None:
        """Put the segment into the partition of a stopped broker."""
        for file in directory.glob("0*"):
            file.unlink()
        shutil.copyfile(self._segment, directory / SEGMENT)
        (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")

    def is_served(self, server: Server) -> bool:
        """Return whether what is in the partition is answered."""
        try:
            return self._error(server.broker_port) == ErrorCode.NONE
        except ConnectionError:
            return False


class LoadSide:
    """One broker's directory, started again and again."""

    def __init__(self, serve: Serve, loaded: re.Pattern[bytes], loads: PartitionLoads) -> None:
        self._serve = serve
        self._loaded = loaded
        self._loads = loads
        self.seconds: list[float] = []
        self.cpu_seconds: list[float] = []
        self._empty_cpu = 0.0

    def prepare(self) -> None:
        """Create the partition, measure a plain start, and put the segment in place."""
        with self._serve() as (server,):
            directory = self._loads.create(server)
        with self._serve() as (server,):
            self._await_load(server, time.monotonic() + WAIT_S)
            self._empty_cpu = cpu_seconds(server.pid)
        self._loads.put(directory)
        self._start()

    def turn(self) -> None:
        """Start the broker and wait until it serves what it has loaded."""
        seconds, cpu = self._start()
        self.seconds.append(seconds)
        self.cpu_seconds.append(cpu - self._empty_cpu)

    def _start(self) -> tuple[float, float]:
        """Return the load time that the broker reports, and the processor time of the process until it answers."""
        with self._serve() as (server,):
            deadline = time.monotonic() + WAIT_S
            while not self._loads.is_served(server):
                assert time.monotonic() < deadline, "the partition is not served"
                time.sleep(0.05)
            cpu = cpu_seconds(server.pid)
            return self._await_load(server, deadline), cpu

    def _await_load(self, server: Server, deadline: float) -> float:
        while (found := self._loaded.search((server.home / "server.log").read_bytes())) is None:
            assert time.monotonic() < deadline, "nothing is told of the load"
            time.sleep(0.05)
        return int(found[1]) / 1_000


def write_segment(
    file: Path, records: Iterator[tuple[bytes, bytes]], count: int, batch_records: int, now_ms: int
) -> None:
    """Write the log of a partition: `count` keys and values in batches of `batch_records`."""
    with file.open("wb") as log:
        for base in range(0, count, batch_records):
            batch = [Record(base + at, now_ms, *next(records)) for at in range(batch_records)]
            log.write(build_batch(batch, base_offset=base, leader_epoch=0))
    # What was written is not to be written back while something is measured.
    os.sync()
