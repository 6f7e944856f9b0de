"""A real ZooKeeper server in Java, as a process: for tries and tests.

DIR/zoo.cfg            what it is started with
DIR/data/              its snapshots and transaction logs
DIR/zookeeper.log      what it logs
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOST: Final = "127.0.0.1"
LOG_FILE: Final = "zookeeper.log"
_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
# Small: a few znodes and clients. It should start quickly.
_JAVA_OPTIONS: Final = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.apache.logging.log4j.level=INFO",
)
_JARS: Final = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "metrics-core-*.jar",
    "netty-handler-4*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "snappy-java-*.jar",
)
_POLL_S: Final = 0.05


class ZooKeeperServer:
    """One server, standing alone unless `settings` say otherwise. After a kill it may be started again.

    `port` 0 is any free one, and stays the same. `settings` are lines of zoo.cfg that win over our own. The methods
    block: an event loop runs them aside.
    """

    def __init__(
        self,
        directory: Path,
        *,
        class_path: str,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self.directory = directory
        self.port = port or _free_port()
        self._class_path = class_path
        self._settings = settings or {}
        self._java_options = java_options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The value for `zookeeper.connect`."""
        return f"{HOST}:{self.port}"

    @property
    def log_file(self) -> Path:
        """The path of its log."""
        return self.directory / LOG_FILE

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    def start(self, timeout_s: float = 60) -> None:
        """Start it, and wait until it serves. Raises ServerError if it does not come up."""
        assert self._process is None
        java = _java()
        data = self.directory / "data"
        data.mkdir(parents=True, exist_ok=True)
        settings = {
            "dataDir": str(data),
            "clientPort": str(self.port),
            "clientPortAddress": HOST,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr",
            **self._settings,
        }
        config = self.directory / "zoo.cfg"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the operator's Java
                [java, *_JAVA_OPTIONS, *self._java_options, "-cp", self._class_path, _MAIN, str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A group of its own: on Ctrl-C the parent stops it after its clients.
                start_new_session=True,
            )
        try:
            self._await_serving(time.monotonic() + timeout_s)
        except BaseException:
            self.kill()
            raise

    def stop(self, timeout_s: float = 10) -> None:
        """Stop it: asked at first, then killed. Nothing is to be done if it does not run."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End it at once, as a crash does: sessions and data are what they were, for the next start."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def wait(self) -> None:
        """Wait until it has ended, for whatever reason."""
        assert self._process is not None
        self._process.wait()

    def _await_serving(self, deadline: float) -> None:
        assert self._process is not None
        while not _is_serving(self.port):
            if self._process.poll() is not None:
                raise ServerError(f"ZooKeeper did not start: {_fault(self.log_file)}")
            if time.monotonic() > deadline:
                raise ServerError(f"ZooKeeper does not serve; its log is {self.log_file}")
            time.sleep(_POLL_S)


def find_class_path(given: str | None) -> str:
    """Return the class path of ZooKeeper: a directory with jars or a class path as given, else PySpark's jars.

    Raises ServerError if there is no ZooKeeper.
    """
    if given is not None:
        directory = Path(given)
        if not directory.is_dir():
            return given
        if not any(directory.glob("zookeeper-*.jar")):
            raise ServerError(f"{given}: no zookeeper-*.jar is there")
        return str(directory / "*")
    spark = importlib.util.find_spec("pyspark")
    if spark is None or not spark.submodule_search_locations:
        raise ServerError(
            "no ZooKeeper is known: name its jars with --class-path (the directory libs of Kafka 3.x, or lib of "
            "ZooKeeper), or install the extra `spark` (pip install 'falkirk[spark]'), which brings one"
        )
    jars = Path(spark.submodule_search_locations[0]) / "jars"
    # Only a few of the 250 jars: opening all of them would take a second.
    found = [jar for pattern in _JARS for jar in sorted(jars.glob(pattern))]
    if not found:
        raise ServerError(f"{jars}: no ZooKeeper is there; name its jars with --class-path")
    return os.pathsep.join(map(str, found))


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, and has no bin/java" if home else "no java on the path, and no JAVA_HOME"
        raise ServerError(f"ZooKeeper needs Java: {where}")
    return java


def _is_serving(port: int) -> bool:
    """Ask with the command `srvr`; a server that serves says in which mode."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while piece := connection.recv(4096):
                answer += piece
    except OSError:
        return False
    return b"\nMode: " in answer


def _fault(log: Path) -> str:
    """Return the last line with an exception, or the last one."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() or ["its log is empty"]
    exceptions = [line for line in lines if _is_exception(line)]
    return f"{(exceptions or lines)[-1].strip()} ({log})"


def _is_exception(line: str) -> bool:
    name = line.removeprefix("Caused by: ").partition(":")[0]
    return " " not in name and name.endswith(("Exception", "Error"))


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
