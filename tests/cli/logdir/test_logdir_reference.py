"""docs/reference/logdir.md and exit-codes.md say what the program does: keys, kinds, options, codes."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from group_records import Log
from made_clusters import MadeCluster, data_batches, group_batches

from falkirk.cli.console.exit_code import ExitCode
from falkirk.ledger.findings import BlockerKind, ConversionKind, WarningKind
from falkirk.logdir.verify import PROBLEM_KINDS
from falkirk.metadata.losses.loss import UNKNOWN_CONFIG, Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE

DOCS = Path(__file__).parents[3] / "docs" / "reference"
REFERENCE = (DOCS / "logdir.md").read_text()
COMMANDS = ("inspect", "plan", "downgrade", "verify", "undo", "diff")


def section(title: str) -> str:
    """Return what stands under a heading, up to the next one."""
    _, _, rest = REFERENCE.partition(f" {title}\n")
    assert rest, title
    return re.split(r"^#", rest, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables in a text, without their heads."""
    cells = [re.split(r"(?<!\\)\|", line.strip("|")) for line in text.splitlines() if line.startswith("|")]
    heads = {index for index, row in enumerate(cells[1:]) if set(row[0]) <= {"-"}}
    return [row for index, row in enumerate(cells) if index not in heads and index - 1 not in heads]


def words(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Return the document of every command, of one story."""
    root = tmp_path_factory.mktemp("reference")
    log = Log("4.3")
    log.commit("g")
    log.value(15, "shared")
    partitions = {"__consumer_offsets-0": group_batches(log.entries), "t-0": data_batches()}
    MadeCluster(root=root / "data", log_dirs=2, partitions=partitions).make()
    return root


def document(falkirk, *arguments):
    return json.loads(falkirk("logdir", *arguments, "--json").stdout)


def all_documents(falkirk, root):
    data, out, back = str(root / "data"), str(root / "out"), str(root / "back")
    found = {"inspect": document(falkirk, "inspect", data, "--release", "4.0")}
    found["plan"] = document(falkirk, "plan", data, "--to", "3.7-IV0")
    found["downgrade"] = document(falkirk, "downgrade", data, "--to", "3.7-IV0", "--out", out, "--unsafe")
    found["verify"] = document(falkirk, "verify", data, "--release", "3.9")
    found["undo"] = document(falkirk, "undo", out, "--bundle", f"{out}/undo-bundle.zip", "--out", back)
    found["diff"] = document(falkirk, "diff", data, out)
    return found


def test_the_documents_have_the_keys_that_the_reference_lists(documents, falkirk):
    found = all_documents(falkirk, documents)
    listed = {name: {key for row in rows(section(name)) for key in words(row[0])} for name in COMMANDS}
    listed["verify"] -= set(PROBLEM_KINDS)
    listed["downgrade"] |= listed["plan"]
    for name in COMMANDS:
        assert found[name].keys() == listed[name], name

    told = {name: set(words(section(name))) for name in COMMANDS}
    parts = {
        "inspect": [*found["inspect"]["nodes"], *found["inspect"]["groups"], found["inspect"]["minimum_version"],
                    found["inspect"]["counts"], found["inspect"]["nodes"][0]["log_dirs"][0]],
        "plan": [*found["plan"]["losses"], found["plan"]["to"], found["plan"]["features"],
                 *found["plan"]["conversions"], *found["plan"]["warnings"]],
        "downgrade": [*found["downgrade"]["nodes"], found["downgrade"]["nodes"][0]["log_dirs"][0]],
        "verify": [*found["verify"]["problems"], found["verify"]["checked"]],
        "undo": [*found["undo"]["nodes"], found["undo"]["restored"]],
        "diff": [*found["diff"]["differences"], found["diff"]["a"]],
    }  # fmt: skip
    for name, items in parts.items():
        assert items
        for item in items:
            assert item.keys() <= told[name], name

    ledger = json.loads((documents / "out" / "ledger.json").read_text())
    assert ledger == found["downgrade"]
    with zipfile.ZipFile(documents / "out" / "undo-bundle.zip") as bundle:
        bundle_told = set(words(section("The undo bundle")))
        assert set(json.loads(bundle.read("bundle.json"))) <= bundle_told
        lines = bundle.read("objects.jsonl").splitlines()
        assert lines
        assert {key for line in lines for key in json.loads(line)} <= bundle_told


def test_the_kinds_of_losses_are_those_of_the_catalogue():
    text = section("Losses")
    lost = {kind for row in rows(text) for kind in words(row[0])}
    of_groups = {"group_record", "share_group", "committed_offsets"}
    rules = {rule.kind for rule in CATALOGUE if rule.outcome is Outcome.LOST}
    assert lost == rules | of_groups, "docs/reference/logdir.md: each kind is in the table of losses"
    inaccessible = {rule.kind for rule in CATALOGUE if rule.outcome is Outcome.INACCESSIBLE}
    # What no rule names; the last two only where a cluster runs.
    inaccessible |= {UNKNOWN_CONFIG, "feature_kept", "stopped_voter"}
    assert set(words(text)) - lost == inaccessible | {"__consumer_offsets", "inaccessible"}


@pytest.mark.parametrize(
    ("title", "kinds"), [("Conversions", ConversionKind), ("Blockers", BlockerKind), ("Warnings", WarningKind)]
)
def test_the_kinds_of_findings_are_those_that_are_made(title, kinds):
    assert {kind for row in rows(section(title)) for kind in words(row[0])} == set(kinds)


def test_the_kinds_of_problems_are_those_that_verify_has():
    kinds = {
        row[0].strip(" `"): row[1].strip() for row in rows(section("verify")) if row[0].strip(" `") in PROBLEM_KINDS
    }
    assert kinds == PROBLEM_KINDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_are_those_of_the_help(falkirk, command):
    usage = falkirk("logdir", command, "--help").stdout
    has = set(re.findall(r"(?<![\w-])--[a-z-]+", usage.partition("Options:")[2])) - {"--help", "--no-json"}
    has = {option for option in has if not option.startswith("--no-")}
    listed = set()
    for row in rows(section("Options")):
        if command in row[1] or row[1].strip() == "all":
            listed.add(words(row[0])[0].split()[0])
    assert has == listed


def test_the_exit_codes_are_those_of_the_program():
    text = (DOCS / "exit-codes.md").read_text()
    codes = {int(code) for code in re.findall(r"^\| (\d) \|", text, flags=re.MULTILINE)}
    assert codes == set(ExitCode)
