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


def series(name, values, **labels):
    text = ",".join(f'{label}="{value}"' for label, value in labels.items())
    return {"series": f"{name}{{{text}}}", "values": values}


def expected(alert, at, *labels):
    [rule] = [rule for rule in rules() if rule["alert"] == alert]
    alerts = [{"exp_labels": {**rule["labels"], **each}, "exp_annotations": annotations(rule, each)} for each in labels]
    return {"eval_time": at, "alertname": alert, "exp_alerts": alerts}


def annotations(rule, labels):
    return {
        name: re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], text)
        for name, text in rule["annotations"].items()
    }


WAY = {"cluster": "prod", "release": "3.9"}
OTHER = {"cluster": "prod", "release": "4.2"}
FEATURE = {"cluster": "prod", "feature": "metadata.version"}
SOURCE = {"cluster": "prod", "source": "groups"}
DRIFT = {"cluster": "prod", "kind": "stale_epoch"}


@pytest.mark.browser
def test_each_rule_fires_when_it_should_and_not_before(tmp_path):
    """Each minute a value: the way to 3.9 closes at minute 1, that to 4.2 is blocked and loses nothing."""
    begins = "1 0x20000"
    tests = [
        {
            "interval": "1m",
            "input_series": [
                series("falkirk_downgrade_possible", begins, **WAY),
                series("falkirk_downgrade_possible", "0x20000", **OTHER),
                series("falkirk_downgrade_losses", "_ 2x20000", **WAY, kind="cidr_allow_acl"),
                series("falkirk_downgrade_blockers", "1x20000", **OTHER, kind="silent_node"),
                series("falkirk_supported_level", "32x20000", **FEATURE),
                series("falkirk_finalized_level", "30x20000", **FEATURE),
                series("falkirk_watch_fresh", begins, **SOURCE),
                series("falkirk_watch_alarms_waiting", "0 3x20000"),
                series("falkirk_watch_drifts", "_ 1x20000", **DRIFT),
            ],
            "alert_rule_test": [
                expected("FalkirkWayBackClosed", "0m"),
                expected("FalkirkWayBackClosed", "1m", {**WAY}),
                expected("FalkirkWayBackBlocked", "29m"),
                expected("FalkirkWayBackBlocked", "31m", OTHER),
                expected("FalkirkUpgradeNotFinalized", "6d"),
                expected("FalkirkUpgradeNotFinalized", "8d", FEATURE),
                expected("FalkirkWatchNotFresh", "2m"),
                expected("FalkirkWatchNotFresh", "4m", SOURCE),
                expected("FalkirkWatchAbsent", "1h"),
                expected("FalkirkWatchAlarmsWait", "10m"),
                expected("FalkirkWatchAlarmsWait", "12m", {}),
                expected("FalkirkNodesDiffer", "10m"),
                expected("FalkirkNodesDiffer", "12m", DRIFT),
            ],
        },
        {
            "interval": "1m",
            "input_series": [series("falkirk_watch_fresh", "1x3", **SOURCE)],
            "alert_rule_test": [
                expected("FalkirkWatchAbsent", "5m"),
                expected("FalkirkWatchAbsent", "20m", {}),
            ],
        },
    ]
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(FOLDER / "alerts.yaml")], "tests": tests}))
    played = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    tried = {each["alertname"] for test in tests for each in test["alert_rule_test"] if each["exp_alerts"]}
    assert tried == {rule["alert"] for rule in rules()}
