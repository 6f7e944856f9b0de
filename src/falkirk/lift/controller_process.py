"""Falkirk's controller of a lift: formatted without voters, and run as a process of its own.

It outlives the command that started it: a command that is killed while this controller is the only voter must not take
the quorum with it. The next command finds it by its listener.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from falkirk.client.connection import NodeConnection
from falkirk.client.errors import ClientError
from falkirk.lift.errors import LiftError
from falkirk.lift.journal import OriginalVoter, VoterListener
from falkirk.node.config.quorum_properties import BOOTSTRAP_SERVERS
from falkirk.operations.errors import OperationError
from falkirk.operations.storage_format import FormatOptions, format_request
from falkirk.server.serve_program import last_line, serve_command
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.formatting.errors import FormatterError
from falkirk.storage.formatting.formatter import format_storage
from falkirk.storage.meta_properties import parse_meta_properties
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.properties_file import format_property

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.client.config import ClientConfig
    from falkirk.lift.lift_file import Place
    from falkirk.protocol.endpoint import Endpoint

PROPERTIES: Final = "server.properties"
LOG: Final = "server.log"
_PID: Final = "pid"
_DATA: Final = "data"
_START_S: Final = 60.0
_STOP_S: Final = 60.0
_POLL_S: Final = 0.1


class ControllerProcess:
    """The controller of a place, for one cluster. `bootstrap`: where the cluster's own voters listen."""

    def __init__(
        self, place: Place, *, cluster_id: str, bootstrap: Iterable[Endpoint], level: str, config: ClientConfig
    ) -> None:
        self._place = place
        self._cluster_id = cluster_id
        self._bootstrap = tuple(bootstrap)
        self._level = level
        self._config = config.within(2000)
        self._home = Path(place.directory)

    @property
    def node_id(self) -> int:
        """Its id."""
        return self._place.node_id

    @property
    def as_voter(self) -> OriginalVoter:
        """The voter that it is, or can be. Raises LiftError before it is formatted."""
        path = self._home / _DATA / "meta.properties"
        try:
            meta = parse_meta_properties(path.read_bytes(), file=str(path))
        except (OSError, CorruptFileError) as error:
            raise LiftError(f"falkirk's controller is not formatted: {error}") from error
        if meta.cluster_id != self._cluster_id:
            raise LiftError(f"{path}: the directory is of cluster {meta.cluster_id}, not {self._cluster_id}")
        if meta.node_id != self.node_id:
            raise LiftError(f"{path}: the directory is of node {meta.node_id}, and place.node_id is {self.node_id}")
        endpoint = self._place.endpoint
        listener = VoterListener(name=self._place.listener_name, host=endpoint.host, port=endpoint.port)
        return OriginalVoter(
            node_id=self._place.node_id, directory_id=(meta.directory_id or b"").hex(), listeners=(listener,)
        )

    def check_directory(self) -> None:
        """Raise LiftError if the directory is neither empty nor this controller's own."""
        if self._is_formatted:
            _ = self.as_voter
            return
        # A command that was killed may have left its own files, before the directory was formatted.
        if self._home.exists() and {path.name for path in self._home.iterdir()} - {PROPERTIES, LOG, _PID, _DATA}:
            raise LiftError(f"{self._home}: the directory of falkirk's controller must be empty at the beginning")

    def format(self) -> None:
        """Write its configuration, and format its directory unless that was done. Raises LiftError."""
        self.check_directory()
        data = self._home / _DATA
        data.mkdir(parents=True, exist_ok=True)
        # Anew each time: what was wrong in the place of an earlier start may have been corrected.
        properties = controller_properties(self._place, self._bootstrap)
        text = b"".join(format_property(key, value) for key, value in properties.items())
        # It may have passwords.
        (self._home / PROPERTIES).touch(mode=0o600)
        (self._home / PROPERTIES).write_bytes(text)
        if self._is_formatted:
            return
        options = FormatOptions(cluster_id=self._cluster_id, release_version=self._level, no_initial_controllers=True)
        try:
            request = format_request(self._place.run_as, properties, options)
            format_storage(request, PosixDisk(), random.SystemRandom(), time.time_ns() // 1_000_000)
        except (OperationError, FormatterError) as error:
            raise LiftError(f"falkirk's controller cannot be formatted: {error}") from error

    async def ensure_running(self) -> None:
        """Start it if nothing answers at its listener. Raises LiftError if it does not come up."""
        if await self._answers():
            return
        self.format()
        pid = self._spawn()
        (self._home / _PID).write_text(f"{pid}\n")
        deadline_s = time.monotonic() + _START_S
        while not await self._answers():
            # Not by its command line, which is empty for a moment while a process begins.
            if _reaped(pid) or time.monotonic() > deadline_s:
                raise LiftError(
                    f"falkirk's controller did not start at {self._place.listener}: the last line of "
                    f"{self._home / LOG}: {last_line(self._home / LOG)}"
                )
            await asyncio.sleep(_POLL_S)

    async def revive(self) -> None:
        """Start it again if it has been formatted: the quorum may have no leader without it. Raises LiftError."""
        if self._is_formatted:
            await self.ensure_running()

    async def stop(self) -> None:
        """Stop it in order, and wait until it has ended. Raises LiftError."""
        pid = self._pid()
        if pid is None:
            return
        deadline_s = time.monotonic() + _STOP_S
        os.kill(pid, signal.SIGTERM)
        while self._pid() is not None:
            _reaped(pid)
            if time.monotonic() > deadline_s:
                raise LiftError(f"falkirk's controller (process {pid}) has not ended within {_STOP_S:.0f} s")
            await asyncio.sleep(_POLL_S)

    @property
    def is_running(self) -> bool:
        """True while the process that was started last runs."""
        return self._pid() is not None

    def undo_bundles(self) -> list[Path]:
        """Return the undo bundles that it has written, oldest first."""
        return sorted(self._home.rglob("falkirk-undo/*.zip"), key=lambda path: path.stat().st_mtime)

    @property
    def _is_formatted(self) -> bool:
        return (self._home / _DATA / "meta.properties").exists()

    def _spawn(self) -> int:
        """Start `falkirk serve` in a session of its own, so that a signal to this command does not reach it."""
        command = serve_command(self._home / PROPERTIES, self._place.run_as.name)
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(self._home / LOG), append, 0o644),
        ]
        return os.posix_spawn(command[0], command, os.environ, file_actions=files, setsid=True)

    async def _answers(self) -> bool:
        connection = NodeConnection(self._place.endpoint, self._config)
        try:
            await connection.versions()
        except ClientError:
            return False
        finally:
            await connection.close()
        return True

    def _pid(self) -> int | None:
        """Return the process of this controller; None if it has ended."""
        try:
            pid = int((self._home / _PID).read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if str(self._home / PROPERTIES).encode() in command else None


def controller_properties(place: Place, bootstrap: Iterable[Endpoint]) -> dict[str, str]:
    """Return the server.properties of falkirk's controller. `bootstrap`: where the cluster's own voters listen."""
    name, endpoint = place.listener_name, place.endpoint
    return {
        "listener.security.protocol.map": f"{name}:PLAINTEXT",
        **place.properties,
        "process.roles": "controller",
        "node.id": str(place.node_id),
        "controller.listener.names": name,
        "listeners": f"{name}://{endpoint}",
        "advertised.listeners": f"{name}://{endpoint}",
        BOOTSTRAP_SERVERS: ",".join(map(str, bootstrap)),
        "log.dirs": str(Path(place.directory) / _DATA),
        "falkirk.lift": "true",
    }


def _reaped(pid: int) -> bool:
    """Collect the exit status of a process that this one has started; return whether it has ended."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False
