"""Deliberate differences from Kafka's answers about features: the rows of a table in the compatibility page.

Each row is a rule here, by the same name; a test checks that neither side has one that the other lacks.
"""

import re
from collections.abc import Callable
from pathlib import Path

from feature_calls import FeatureCall

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "compatibility.md"
HEADING = "### Calls of kafka-features"
Answer = tuple[int, str, str]
"""Exit status, stdout and stderr."""

_MARKER_LINE = re.compile(r"Feature: falkirk\.downgrade\s+SupportedMinVersion: 0\s+SupportedMaxVersion: 1\s.*\n?")
# Real nodes refuse so to lower metadata.version across a level that brought records.
REFUSALS = ("Refusing to perform the requested downgrade", "Unsafe metadata downgrade is not supported")
# Nodes of ours do not go below 3.7-IV0.
LOWEST_LEVEL = 15
_BELOW_LOWEST = "Unable to set a metadata.version less than 3.7-IV0"
_NO_PLACE = "What is finalized has no place there"


def documented() -> list[str]:
    """Return the first column of the table."""
    _, _, after = PAGE.read_text().partition(f"{HEADING}\n")
    section = after.partition("\n#")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    return rows[1:]


def _without_command(call: FeatureCall, answer: Answer) -> bool:
    status, _, stderr = answer
    return not call.words and status == 2 and stderr.startswith("Usage: falkirk features")


def _wrong_usage(call: FeatureCall, answer: Answer) -> bool:
    status, stdout, stderr = answer
    return call.wrong_usage and (status, stdout, "") == call.answer and len(stderr.splitlines()) == 1


def _missing_file(call: FeatureCall, answer: Answer) -> bool:
    status, stdout, stderr = answer
    return (status, stdout, stderr) == (1, "", f"{call.stderr}: No such file or directory")


def _marker(call: FeatureCall, answer: Answer) -> bool:
    status, stdout, stderr = answer
    without = _MARKER_LINE.sub("", stdout).strip("\n")
    return "describe" in call.words and without != stdout and (status, without, stderr) == call.answer


def _lowered(call: FeatureCall, answer: Answer) -> bool:
    target = re.search(r"metadata\.version to (\d+)\.", call.stdout)
    if target is None or not any(refusal in call.stdout for refusal in REFUSALS):
        return False
    status, stdout, _ = answer
    if int(target[1]) < LOWEST_LEVEL:
        return status == 1 and _BELOW_LOWEST in stdout
    if status == 0:
        return re.search(rf"metadata\.version (can be|was) downgraded to {target[1]}\.", stdout) is not None
    return status == 1 and _NO_PLACE in stdout


def _below_its_features(call: FeatureCall, answer: Answer) -> bool:
    lowered = call.status == 0 and call.words[0] == "downgrade"
    return lowered and answer[0] == 1 and _NO_PLACE in answer[1]


def _ledger_of_a_refusal(call: FeatureCall, answer: Answer) -> bool:
    status, stdout, stderr = answer
    is_refused = "--dry-run" in call.words and status == call.status == 1
    refusal = next((line for line in call.stdout.splitlines() if line.startswith("Can not ")), "")
    return is_refused and "falkirk can lower it: `falkirk lift check --to" in stderr and refusal in stdout


OF_OUR_TOOL: dict[str, Callable[[FeatureCall, Answer], bool]] = {
    "no command": _without_command,
    "a command line that is wrong": _wrong_usage,
    "a file of `--command-config` that is not there": _missing_file,
    "`--dry-run` of a lower `metadata.version` that real Kafka refuses": _ledger_of_a_refusal,
}
OF_OUR_NODES: dict[str, Callable[[FeatureCall, Answer], bool]] = {
    "`describe`": _marker,
    "`metadata.version` is lowered across a level that brought records": _lowered,
    "`metadata.version` is lowered below what a finalized feature needs": _below_its_features,
}


def difference(
    call: FeatureCall, answer: Answer, rules: dict[str, Callable[[FeatureCall, Answer], bool]]
) -> str | None:
    """Return the row that covers an answer; "" if it equals Kafka's, None if no row does."""
    if answer == call.answer:
        return ""
    return next((name for name, applies in rules.items() if applies(call, answer)), None)
