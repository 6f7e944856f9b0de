"""The dashboard and the alert rules ask for the metrics that a watch has, and for no others."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

import falkirk.watch.monitoring
from falkirk.watch.metrics import NAMES

FOLDER = Path(falkirk.watch.monitoring.__file__).parent
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "watch.md"
METRIC = re.compile(r"\bfalkirk_\w+")


def expressions_of_dashboard():
    document = json.loads((FOLDER / "dashboard.json").read_text())
    return [target["expr"] for panel in document["panels"] for target in panel["targets"]]


def rules():
    return [rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]


def test_the_dashboard_shows_every_metric_and_no_other():
    assert {name for expression in expressions_of_dashboard() for name in METRIC.findall(expression)} == NAMES.keys()


def test_rules_ask_for_metrics_that_there_are_by_labels_that_they_have():
    for rule in rules():
        names = METRIC.findall(rule["expr"])
        assert names
        assert set(names) <= NAMES.keys()
        labels = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert labels <= set(NAMES[names[0]][1]), rule["alert"]


def test_the_reference_lists_every_metric_with_its_labels():
    listed = dict(re.findall(r"^\| `(falkirk_\w+)` \| ([\w, ]*?) *\|", REFERENCE.read_text(), re.MULTILINE))
    assert {name: tuple(filter(None, labels.split(", "))) for name, labels in listed.items()} == {
        name: labels for name, (_, labels) in NAMES.items()
    }


@pytest.mark.browser
def test_promtool_accepts_the_rules():
    """Needs Debian's package `prometheus`."""
    checked = subprocess.run(
        ["promtool", "check", "rules", str(FOLDER / "alerts.yaml")], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules())} rules found" in checked.stdout
