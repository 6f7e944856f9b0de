"""Calls of kafka-consumer-groups and kafka-groups, answered by the real tools and by `falkirk groups`, side by side."""

import io
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka_tools import run_tools

from falkirk.cli import main

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
# Groups that a call changes are there twice: one that the tool changes, and one of ours.
TOOLS_OWN, OUR_OWN = "tool", "ours"
_OWN = re.compile(rf"-({TOOLS_OWN}|{OUR_OWN})\b")

# One call a line; `groups` is kafka-groups, {own} the side's own copy of a group, {silent} a server that answers
# nothing; {plan} and so on are files.
_READING = """
--list
--list --type
--list --state
--list --type --state
--list --type classic,consumer --state stable
--list --type classic --state Empty
--list --state stable,bogus
--list --type share
groups --list
groups --list --consumer
groups --list --group-type consumer
groups --list --group-type bogus
groups --list --protocol consumer
groups --list --consumer --share
--describe --group classic-live
--describe --group modern-live --verbose
--describe --group static-live --members
--describe --group classic-live --members --verbose
--describe --group modern-live --members
--describe --group modern-live --members --verbose
--describe --group modern-live --state --verbose
--describe --group classic-live --state --verbose
--describe --group classic-left --members
--describe --group modern-left --offsets
--describe --group simple
--describe --group nobody
--describe --all-groups --state
--describe --all-groups
--describe --all-groups --members
--describe
--describe --group simple --members --state
--describe --group simple --all-groups
--describe --group simple --timeout 1000 --bootstrap-server {silent}
--reset-offsets --group simple --all-topics --to-earliest
--reset-offsets --group simple --all-topics --to-latest --dry-run
--reset-offsets --group simple --topic orders --to-offset 5 --dry-run
--reset-offsets --group simple --topic orders:0,1 --to-offset 500 --dry-run
--reset-offsets --group simple --topic orders:0 --shift-by -2 --dry-run
--reset-offsets --group simple --topic orders --shift-by -2 --dry-run
--reset-offsets --group simple --topic orders:7 --to-earliest --dry-run
--reset-offsets --group simple --topic nowhere --to-earliest --dry-run
--reset-offsets --group simple --topic orders:x --to-earliest --dry-run
--reset-offsets --group simple --topic orders:1:2 --to-earliest --dry-run
--reset-offsets --group simple --all-topics --to-datetime 2023-11-14T22:13:23.000 --dry-run
--reset-offsets --group simple --all-topics --to-datetime 2023-11-14T22:13:23.000+02:00 --dry-run
--reset-offsets --group simple --topic orders:2 --to-datetime 2023-11-14T22:13:23.000 --dry-run
--reset-offsets --group simple --all-topics --to-datetime 2023-11-14 --dry-run
--reset-offsets --group simple --all-topics --by-duration P1D --dry-run
--reset-offsets --group simple --all-topics --by-duration 1D --dry-run
--reset-offsets --group simple --topic orders --to-current --dry-run
--reset-offsets --group simple --from-file {plan} --dry-run
--reset-offsets --group simple --group classic-left --from-file {plan_of_groups} --dry-run
--reset-offsets --group simple --from-file {no_plan} --dry-run
--reset-offsets --group simple --from-file {nowhere} --dry-run
--reset-offsets --group simple --all-topics --to-latest --dry-run --export
--reset-offsets --group simple --group classic-left --all-topics --to-latest --dry-run --export
--reset-offsets --group classic-live --all-topics --to-latest --dry-run
--reset-offsets --group nobody --topic orders --to-latest --dry-run
--reset-offsets --group nobody --all-topics --to-latest --dry-run
--reset-offsets --group simple --to-latest --dry-run
--reset-offsets --group simple --all-topics --dry-run
--reset-offsets --all-topics --to-latest --dry-run
--reset-offsets --group simple --all-topics --to-latest --to-earliest --dry-run
--reset-offsets --group simple --all-topics --to-latest --dry-run --execute
"""
_CHANGING = """
--reset-offsets --group set-{own} --all-topics --to-latest --execute
--describe --group set-{own}
--delete-offsets --group set-{own} --topic orders
--delete-offsets --group set-{own} --topic nowhere
--delete-offsets --group set-{own} --topic a-topic-whose-name-has-more-than-24-characters:0,3
--delete-offsets --group nobody --topic orders
--delete-offsets --group classic-live --topic orders
--delete-offsets --group modern-live --topic orders:1
--delete-offsets --group simple
--delete --group gone-{own}
--delete --group lost-{own} --group classic-live --group nobody
--delete
"""
CHANGED = ("set", "gone", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Exit status and output of a call."""

    status: int
    output: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A call and both answers."""

    call: str
    tool: Answer
    falkirk: Answer


def reading_pairs(servers: str, folder: Path) -> Iterator[Pair]:
    """Make the read-only calls, first with the tools in one JVM, then with falkirk in this process."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield from _pairs(_READING, servers, {**_write_files(folder), "silent": f"127.0.0.1:{silent.getsockname()[1]}"})


def changing_pairs(servers: str) -> Iterator[Pair]:
    """Make the other calls, each side on its own copies of the groups in CHANGED."""
    return _pairs(_CHANGING, servers, {})


def _pairs(text: str, servers: str, values: Mapping[str, str]) -> Iterator[Pair]:
    calls = text.strip().splitlines()
    reported = run_tools(*(_tool_words(call.format(own=TOOLS_OWN, **values).split(), servers) for call in calls))
    for call, answer in zip(calls, reported, strict=True):
        ours = _run_falkirk(_our_words(call.format(own=OUR_OWN, **values).split(), servers))
        theirs = Answer(status=answer.status, output=masked(answer.output))
        yield Pair(
            call=call, tool=_in_order(theirs) if "--list" in call and answer.status == 0 else theirs, falkirk=ours
        )


def _in_order(answer: Answer) -> Answer:
    """Sort listed lines, below the heading if there is one: the tools have the order of a hash table."""
    lines = answer.output.split("\n")
    heads = 1 if lines[0].startswith("GROUP ") else 0
    return Answer(status=answer.status, output="\n".join([*lines[:heads], *sorted(lines[heads:])]))


def masked(text: str) -> str:
    """Return a text without stack traces, the options that a refusal lists, and which side was asked."""
    lines = []
    for line in text.split("\n"):
        if _LISTS_OPTIONS.match(line):
            break
        if not _OF_JAVA.match(line):
            lines.append(_OWN.sub("-own", line))
    return "\n".join(lines).strip("\n")


_LISTS_OPTIONS = re.compile(r"Option( \(\* = required\))? +Description")
_OF_JAVA = re.compile(r"\tat |\t\.\.\. |(Caused by: )?(java|org|com)\.[\w.$]+(Exception|Error): | at \[Source")


def _write_files(folder: Path) -> Mapping[str, str]:
    plans = {
        "plan": "orders,0,5\norders,1,99\n",
        "plan_of_groups": "simple,orders,0,5\n",
        "no_plan": "x,y,z,k\n",
    }
    for name, text in plans.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in (*plans, "nowhere")}


def _tool_words(words: Sequence[str], servers: str) -> list[str]:
    tool, options = (GROUPS, words[1:]) if words[0] == "groups" else (CONSUMER_GROUPS, words)
    return [tool, *_with_server(options, servers)]


def _our_words(words: Sequence[str], servers: str) -> list[str]:
    command = ["list", "--all-types", *words[2:]] if words[0] == "groups" else [words[0][2:], *words[1:]]
    return ["groups", *_with_server(command, servers)]


def _with_server(words: Sequence[str], servers: str) -> list[str]:
    return [*words] if "--bootstrap-server" in words else [*words, "--bootstrap-server", servers]


def _run_falkirk(words: Sequence[str]) -> Answer:
    reported = io.StringIO()
    with redirect_stdout(reported), redirect_stderr(reported), pytest.raises(SystemExit) as ended:
        main(words)
    assert isinstance(ended.value.code, int)
    return Answer(status=int(ended.value.code), output=masked(reported.getvalue()))
