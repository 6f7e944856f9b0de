"""Hooks of a lift: what they get, and what of a failure an operator reads."""

import asyncio
import math
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from falkirk.lift.errors import HookError
from falkirk.lift.hooks import KEEP_BUNDLE, START, START_FALKIRK, STOP, HookRunner
from falkirk.lift.lift_file import Hooks
from falkirk.protocol.endpoint import Endpoint

AT = Endpoint("kafka-2", 9093)


class Noted:
    """A runner of commands, and what it noted."""

    def __init__(self, folder: Path, commands: Hooks, *, limit_s: float = 60) -> None:
        self.log = folder / "state" / "hooks.log"
        self.noted: list[tuple[str, object]] = []
        self.runner = HookRunner(commands, release="3.9", limit_s=limit_s, log=self.log, note=self._note)

    def run(self, name: str) -> None:
        asyncio.run(self.runner.run(name, 2, AT))

    def _note(self, event, fields) -> None:
        self.noted.append((event, fields.get("text")))


def test_a_hook_gets_its_node_in_the_environment(tmp_path):
    command = f"echo $LIFT_NODE_ID $LIFT_HOST $LIFT_PORT $LIFT_RELEASE > {tmp_path}/out"
    Noted(tmp_path, Hooks(stop=command)).run(STOP)
    assert (tmp_path / "out").read_text() == "2 kafka-2 9093 3.9\n"


def test_the_hook_that_keeps_the_undo_bundle_gets_its_place_and_where_to_copy_it(tmp_path):
    (tmp_path / "bundle.zip").write_text("undo")
    into = tmp_path / "kept.zip"
    runner = Noted(tmp_path, Hooks(keep_bundle="cp $LIFT_BUNDLE $LIFT_INTO")).runner
    variables = {"LIFT_BUNDLE": str(tmp_path / "bundle.zip"), "LIFT_INTO": str(into)}
    asyncio.run(runner.run(KEEP_BUNDLE, 2, AT, **variables))
    assert into.read_text() == "undo"


def test_a_hook_that_fails_is_named_with_its_node_and_its_last_line(tmp_path):
    hooks = Noted(tmp_path, Hooks(stop="echo begun; echo no such unit >&2; exit 5"))
    with pytest.raises(
        HookError, match=r"^hook stop of node 2 ended with status 5; the last line of .*hooks.log: no such unit$"
    ):
        hooks.run(STOP)
    assert hooks.log.read_text() == "begun\nno such unit\n"


def test_a_hook_that_is_killed_or_prints_nothing_is_named_too(tmp_path):
    with pytest.raises(
        HookError, match=r"^hook stop of node 2 was killed by signal 9; the last line of .*hooks.log: nothing$"
    ):
        Noted(tmp_path, Hooks(stop="kill -9 $$")).run(STOP)


def test_a_hook_that_hangs_is_killed_with_what_it_has_started(tmp_path):
    hooks = Noted(
        tmp_path, Hooks(stop=f"(sleep 3600; touch {tmp_path}/late) & echo $! > {tmp_path}/pid; wait"), limit_s=2
    )
    with pytest.raises(HookError, match=r"^hook stop of node 2 has not ended within 2 s, and was killed$"):
        hooks.run(STOP)
    command_line = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline")
    # It ends, and then has no command line, or no process any more.
    with suppress(FileNotFoundError, ProcessLookupError):
        while command_line.read_bytes():
            time.sleep(0.01)
    assert not (tmp_path / "late").exists()


def test_a_server_that_a_hook_leaves_behind_keeps_nobody_waiting(tmp_path):
    hooks = Noted(tmp_path, Hooks(start=f"sleep 60 & echo $! > {tmp_path}/pid"))
    hooks.run(START)
    pid = int((tmp_path / "pid").read_text())
    assert Path(f"/proc/{pid}").exists()
    os.kill(pid, signal.SIGKILL)


def test_what_has_no_command_is_requested_of_a_person_once(tmp_path):
    hooks = Noted(tmp_path, Hooks())
    hooks.run(START_FALKIRK)
    hooks.run(START_FALKIRK)
    [(event, text)] = hooks.noted
    assert event == "by-hand"
    assert "start falkirk in place of controller 2 at kafka-2:9093" in str(text)
    assert hooks.runner.limit_s(STOP) == math.inf
