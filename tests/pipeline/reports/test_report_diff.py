"""What is new since an earlier report."""

import json

import pytest

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.reports.report_diff import diff_reports, read_document, summary


def verdict(cluster, word="clear", level="4.3-IV0", *, losses=None, blockers=(), changes=None):
    found = {"cluster": cluster, "verdict": word, "from": {"level": 1, "name": level}, "losses": losses or {}}
    return found | {
        "changes": changes or {},
        "blockers": [{"kind": "x", "fields": {}, "text": text} for text in blockers],
    }


def report(*verdicts, lowest=None, to="3.9-IV0"):
    rows = [{"cluster": name, "metadata_version": level} for name, level in (lowest or {}).items()]
    return {"to": {"name": to, "release": "3.9.1"}, "made_at": "now", "verdicts": [*verdicts], "minimum_versions": rows}


def found(before, after):
    return [(each.cluster, each.what, each.before, each.after) for each in diff_reports(before, after)]


def test_equal_reports_have_no_differences():
    same = report(verdict("a", "lossy", losses={"scram_credential": 2}, blockers=["x"]), lowest={"a": "4.0-IV0"})
    assert found(same, same) == []


def test_each_thing_of_a_cluster_that_changed_is_named():
    before = report(
        verdict("a", "blocked", losses={"scram_credential": 2}, blockers=["x", "y"]), lowest={"a": "4.0-IV0"}
    )
    after = report(
        verdict(
            "a",
            "lossy",
            "4.2-IV1",
            losses={"delegation_token": 1, "scram_credential": 2},
            blockers=["y"],
            changes={"elr_to_isr": 4},
        ),
        lowest={"a": "3.7-IV0"},
    )
    assert found(before, after) == [
        ("a", "verdict", "blocked", "lossy"),
        ("a", "level", "4.3-IV0", "4.2-IV1"),
        ("a", "lowest level without loss", "4.0-IV0", "3.7-IV0"),
        ("a", "loss: Delegation tokens", 0, 1),
        ("a", "change: Partitions whose eligible leader replicas become in-sync", 0, 4),
        ("a", "blocker", "x", None),
    ]


def test_clusters_that_came_and_went_are_counted():
    before = report(verdict("a"), verdict("b", "blocked"), verdict("c"))
    after = report(verdict("b", "lossy"), verdict("c", "lossy"), verdict("d"))
    differences = diff_reports(before, after)
    assert found(before, after)[0] == ("a", "verdict", "clear", "not in the fleet")
    assert summary(differences) == {"better": 1, "worse": 1, "new": 1, "gone": 1}


def test_reports_on_different_targets_are_refused():
    with pytest.raises(WarehouseError, match=r"different targets: 3\.9-IV0 \(Kafka 3\.9\.1\) and 4\.0-IV3"):
        diff_reports(report(), report(to="4.0-IV3"))


def test_reports_on_different_clusters_are_refused():
    with pytest.raises(WarehouseError, match=r"different clusters: a, or-\* and all"):
        diff_reports(report() | {"only": ["a", "or-*"]}, report())


@pytest.mark.parametrize("text", [None, "{", "[]", '{"to": 1}'])
def test_what_is_no_report_is_refused_by_name(tmp_path, text):
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    with pytest.raises(WarehouseError, match=str(tmp_path)):
        read_document(tmp_path)
    (tmp_path / "report.json").write_text(json.dumps(report()))
    assert read_document(tmp_path)["verdicts"] == []
