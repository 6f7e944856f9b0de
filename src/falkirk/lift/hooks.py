"""An operator's commands that stop and start nodes on their own machines; what has no command a person does.

Sources: a hook is run by `/bin/sh -c`, with LIFT_NODE_ID, LIFT_HOST, LIFT_PORT and LIFT_RELEASE in its environment.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from falkirk.lift.errors import HookError
from falkirk.server.serve_program import last_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from falkirk.lift.lift_file import Hooks
    from falkirk.protocol.endpoint import Endpoint

STOP: Final = "stop"
START: Final = "start"
START_FALKIRK: Final = "start_falkirk"
STOP_FALKIRK: Final = "stop_falkirk"
ROLL: Final = "roll"
KEEP_BUNDLE: Final = "keep_bundle"
HOOKS_LOG: Final = "hooks.log"
_BY_HAND: Final[Mapping[str, str]] = {
    STOP: "stop Kafka's controller {node_id} at {endpoint}",
    START: "start Kafka's controller {node_id} at {endpoint}, with the binaries of before",
    START_FALKIRK: "start falkirk in place of controller {node_id} at {endpoint}: `falkirk serve server.properties "
    "--override falkirk.lift=true`, with the controller's own server.properties, as the user that owns its directories",
    STOP_FALKIRK: "stop falkirk in place of controller {node_id} at {endpoint}",
}


class HookRunner:
    """Runs hooks, whose output goes to `log`. `release`: of the older binaries; `note` records what happened."""

    def __init__(
        self,
        commands: Hooks,
        *,
        release: str,
        limit_s: float,
        log: Path,
        note: Callable[[str, Mapping[str, object]], None],
    ) -> None:
        self._commands = commands
        self._release = release
        self._limit_s = limit_s
        self._log = log
        self._note = note
        # What a person was last requested to do: once is enough.
        self._requested: tuple[str, int] | None = None

    def limit_s(self, *names: str) -> float:
        """Return how long these hooks may take; infinite where a person does one."""
        by_hand = any(self._command(name) is None for name in names)
        return float("inf") if by_hand else self._limit_s * len(names)

    async def run(self, name: str, node_id: int, endpoint: Endpoint, **variables: str) -> None:
        """Run a hook to its end, or request a person to do it. Raises HookError if it fails, hangs or is not found.

        `variables`: more of its environment.
        """
        command = self._command(name)
        if command is None:
            self._request(name, node_id, endpoint)
            return
        self._requested = None
        environment = {
            "LIFT_NODE_ID": str(node_id),
            "LIFT_HOST": endpoint.host,
            "LIFT_PORT": str(endpoint.port),
            "LIFT_RELEASE": self._release,
            **variables,
        }
        what = f"hook {name} of node {node_id}"
        self._note("hook-begun", {"hook": name, "node_id": node_id})
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            begin = log.tell()
            # A file and no pipe: a server that the command leaves behind would keep a pipe open.
            process = await asyncio.create_subprocess_shell(
                command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        try:
            status = await asyncio.wait_for(process.wait(), self._limit_s)
        except TimeoutError as error:
            raise HookError(f"{what} has not ended within {self._limit_s:.0f} s, and was killed") from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if status != 0:
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            raise HookError(f"{what} {how}; the last line of {self._log}: {last_line(self._log, since=begin)}")

    def _command(self, name: str) -> str | None:
        command: str | None = getattr(self._commands, name)
        return command

    def _request(self, name: str, node_id: int, endpoint: Endpoint) -> None:
        if self._requested != (name, node_id):
            self._requested = (name, node_id)
            text = _BY_HAND[name].format(node_id=node_id, endpoint=endpoint)
            self._note("by-hand", {"hook": name, "node_id": node_id, "text": text})
