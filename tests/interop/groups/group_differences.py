"""Deliberate differences from Kafka's answers about groups: the rows of a table in the compatibility page.

Each row is a rule here, by the same name; a test checks that neither side has one that the other lacks.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from group_calls import Pair

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "compatibility.md"
HEADING = "### Calls of kafka-consumer-groups and kafka-groups"
_BENT_OFFSET = re.compile(r"New offset \(-?\d+\) is (higher than latest|lower than earliest) offset for .*\n?")


def documented() -> list[str]:
    """Return the first column of the table."""
    _, _, after = PAGE.read_text().partition(f"{HEADING}\n")
    section = after.partition("\n#")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    return rows[1:]


def _wrong_usage(pair: Pair) -> bool:
    return (pair.tool.status, pair.falkirk.status) == (1, 2) and _is_sentence(pair.falkirk.output)


def _unreadable(pair: Pair) -> bool:
    is_value = re.search("ParseException|Text cannot be parsed to a Duration|Unable to read file", pair.tool.output)
    return is_value is not None and pair.falkirk.status == 1 and _is_sentence(pair.falkirk.output)


def _refused(pair: Pair) -> bool:
    says_error = re.search(r"^(\n)?Error: | Error: ", pair.tool.output, re.MULTILINE) is not None
    return says_error and (pair.tool.status, pair.falkirk.status) == (0, 1) and pair.tool.output == pair.falkirk.output


def _bad_plan(pair: Pair) -> bool:
    is_plan = "jackson" in pair.tool.output and "{no_plan}" in pair.call
    return (
        is_plan
        and pair.falkirk.status == 1
        and "line 1: 'x,y,z,k' is no group,topic,partition,offset" in pair.falkirk.output
    )


def _too_late(pair: Pair) -> bool:
    is_late = "TimeoutException" in pair.tool.output
    return (
        is_late and pair.falkirk.status == 1 and re.search(r"no answer to \w+ within", pair.falkirk.output) is not None
    )


def _bent(pair: Pair) -> bool:
    without = _BENT_OFFSET.sub("", pair.falkirk.output).strip("\n")
    changed = replace(pair.falkirk, output=without)
    return without != pair.falkirk.output and changed == pair.tool


RULES: dict[str, Callable[[Pair], bool]] = {
    "a command line that is wrong": _wrong_usage,
    "a time, a duration or a file of `--from-file` that cannot be read": _unreadable,
    "a group, partition or topic that is refused": _refused,
    "a file of `--from-file` that does not parse": _bad_plan,
    "a broker that does not answer in time": _too_late,
    "an offset outside of the log": _bent,
}


def difference(pair: Pair) -> str | None:
    """Return the row that covers a pair; "" if both answers are equal, None if no row does."""
    if pair.tool == pair.falkirk:
        return ""
    return next((name for name, applies in RULES.items() if applies(pair)), None)


def _is_sentence(output: str) -> bool:
    return len(output.splitlines()) == 1
