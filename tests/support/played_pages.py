"""Pages of docs/ whose commands are run as a reader types them, and whose output is compared.

A `console` block has lines `$ command` and what they print. A command ends with status 0, unless `$ echo $?` follows.
A line `...` stands for any lines. What differs from run to run (ports, ids, times, offsets, directories) is left out of
the comparison. All blocks of a page are one session of bash, in the directory that the page's stage has prepared:
`<!-- stage: NAME -->`.
"""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kafka_ports import free_move

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ANYTHING = "..."
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STAGE = re.compile(r"^<!-- stage: ([\w-]+) -->$", re.MULTILINE)
_STATUS = "echo $?"
_MARK = "\x1eended:"
# A page that takes longer hangs: the longest take half a minute, with real Kafka two.
_PAGE_TIMEOUT_S = 400
# Ports that a page names. Played, they and the ten behind each are moved to where all are free.
_PORT = re.compile(r"\b[23]9\d{3}\b")
_PORTS_USED = 10
# What is different in every run.
_CHANGING = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\b[A-Za-z0-9_-]{22}\b"), "UUID"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|seconds?)\b"), "TIME"),
    (re.compile(r"\b(offset|offsets|epoch|up to|pid):? \d+", re.IGNORECASE), r"\1 N"),
    (re.compile(r"\b[\d,.]+ (metadata records|batches|bytes|KiB|MiB|GiB)"), r"N \1"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*"), "WHEN"),
    (re.compile(r"\d\d:\d\d:\d\d(\.\d+)?\b"), "WHEN"),
)


@dataclass(frozen=True)
class Played:
    """A command of a page, and the lines behind it."""

    command: str
    expected: list[str]


def pages_of(*stages: str) -> list[str]:
    """Return the pages with one of these stages, relative to docs/."""
    return sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if stage_of(page) in stages)


def stage_of(page: Path) -> str | None:
    found = _STAGE.search(page.read_text())
    return found.group(1) if found else None


def commands_of(text: str) -> list[Played]:
    """Return a page's commands in their order. A command goes on in lines that begin with `> `, as in a terminal."""
    played: list[Played] = []
    for block in _BLOCK.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                played.append(Played(line[2:], []))
            elif line.startswith("> ") and not played[-1].expected:
                played[-1] = Played(f"{played[-1].command}\n{line[2:]}", [])
            else:
                played[-1].expected.append(line)
    return played


def play(page: str, directory: Path) -> None:
    """Run a page's commands in a folder of a clone. Raises AssertionError where one does not print what the page has.

    The clone is `directory`, with what a page needs of ours: the demo's data and the tools.
    """
    for name in ("demo", "tools"):
        (directory / name).symlink_to(ROOT / name)
    folder = directory / "lessons"
    folder.mkdir()
    commands = commands_of(_with_free_ports((DOCS / page).read_text()))
    assert commands, f"{page} has no console block"
    script = "".join(f"{each.command}\n__s=$?; printf '\\n{_MARK}%s\\n' $__s; (exit $__s)\n" for each in commands)
    given = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "200",
    }
    bash = subprocess.Popen(
        ["bash", "--norc"],
        cwd=folder,
        env=given,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        # What runs in the background has the pipe too: the last command of such a page ends it.
        output, _ = bash.communicate(script + "exit 0\n", timeout=_PAGE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _end_session(bash)
        raise AssertionError(f"{page} hangs, after this:\n{bash.communicate()[0]}") from None
    finally:
        _end_session(bash)
    _compare(page, commands, output)


def _with_free_ports(text: str) -> str:
    named = {int(port) for port in _PORT.findall(text)}
    if not named:
        return text
    move = free_move({port + further for port in named for further in range(_PORTS_USED)})
    return _PORT.sub(lambda found: str(int(found.group()) + move), text)


def _end_session(bash: "subprocess.Popen[str]") -> None:
    """End what a page has left running: bash leads a session of its own."""
    with suppress(ProcessLookupError):
        os.killpg(bash.pid, signal.SIGKILL)
    bash.wait()


def _compare(page: str, commands: list[Played], output: str) -> None:
    pieces = re.split(rf"\n?{_MARK}(\d+)\n", output)
    printed, statuses = pieces[0::2], [int(each) for each in pieces[1::2]]
    assert len(statuses) == len(commands), f"{page} ended early:\n{output}"
    for number, (played, status) in enumerate(zip(commands, statuses, strict=True)):
        lines = [line.rstrip() for line in printed[number].splitlines() if line.strip()]
        where = f"{page}: $ {played.command}\n"
        is_asked = number + 1 < len(commands) and commands[number + 1].command == _STATUS
        assert status == 0 or is_asked, f"{where}ended with status {status}:\n" + "\n".join(lines)
        expected = [line.rstrip() for line in played.expected if line.strip()]
        assert is_alike(expected, lines), f"{where}printed\n" + "\n".join(lines)


def is_alike(expected: list[str], lines: list[str]) -> bool:
    """True if the lines are those that are expected, but for what changes from run to run."""
    if not expected:
        return not lines
    if expected[0].strip() == ANYTHING:
        return any(is_alike(expected[1:], lines[start:]) for start in range(len(lines) + 1))
    return bool(lines) and plain(expected[0]) == plain(lines[0]) and is_alike(expected[1:], lines[1:])


def plain(line: str) -> str:
    """Return a line without what changes from run to run, and with single blanks."""
    for pattern, name in _CHANGING:
        line = pattern.sub(name, line)
    return re.sub(r" +", " ", line)
