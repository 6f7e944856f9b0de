"""The contents of a report: tags of the inventory, and the exit status."""

import pytest
from made_answers import write_answers

from falkirk.logdir.target import parse_target
from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.reports.answers import Question
from falkirk.pipeline.reports.fleet_report import report_document

TARGET = parse_target("3.9")
TAGS = {
    "clear": {"environment": "production", "team": "orders"},
    "lossy": {"environment": "production", "team": "billing"},
    "blocked": {"environment": "test", "team": "orders"},
}
BLOCKER = {"kind": "unsupporting_node", "fields": "{}", "text": "x"}


def verdict(cluster):
    empty = {name: [] for name in ("changes", "inaccessible", "dropped_features", "lowered_features", "warnings")}
    losses = [("cidr_deny_acl", 1)] if cluster == "lossy" else []
    blockers = [BLOCKER] if cluster == "blocked" else []
    return {"cluster": cluster, "from_level": 30, "losses": losses, "blockers": blockers} | empty


@pytest.fixture
def report(tmp_path):
    def make(*clusters, of=None, problems=(), only=(), since=None):
        rows = {
            "verdicts": [verdict(cluster) for cluster in clusters],
            "levels": [{"cluster": cluster, **TAGS[cluster]} for cluster in clusters],
            "problems": [{"cluster": cluster} for cluster in problems],
        }
        answers = write_answers(tmp_path / str(len(list(tmp_path.iterdir()))), rows)
        question = Question(at=TARGET.metadata_version, release=TARGET.release, ghost_days=7, clusters=only)
        return report_document(answers, question, since, status_of=of)

    return make


def test_tags_of_the_inventory_are_told_of_each_cluster(report):
    found = {each["cluster"]: each["tags"] for each in report(*TAGS, problems=["(unknown)"]).verdicts}
    assert found == TAGS | {"(unknown)": {}}


@pytest.mark.parametrize(
    ("of", "status"),
    [
        ("", 1),
        ("environment=production", 3),
        ("environment=production team=orders", 0),
        ("team=orders team=billing", 1),
        ("environment=test", 1),
    ],
)
def test_clusters_with_the_tags_decide_the_status(report, of, status):
    tags = {}
    for tag in of.split():
        name, value = tag.split("=")
        tags.setdefault(name, set()).add(value)
    found = report(*TAGS, of=tags)
    assert (found.status, found.document["status"]) == (status, status)
    assert found.document["clusters"] == {"clear": 1, "lossy": 1, "blocked": 1}


def test_a_cluster_that_could_not_be_read_counts_whatever_its_tags_may_be(report):
    assert report("clear", of={"team": {"orders"}}, problems=["(unknown)"]).status == 1


def test_tags_that_no_cluster_has_are_refused(report):
    with pytest.raises(WarehouseError, match=r"^--status-of: no cluster of the report has region=eu or us and team=x$"):
        report(*TAGS, of={"team": {"x"}, "region": {"us", "eu"}})


def test_what_is_new_is_told_against_a_report_on_the_same_clusters(report):
    last = report("lossy", only=("l*",)).document
    assert report("lossy", only=("l*",), since=last).document["since"]["differences"] == []
    assert report(*TAGS, since=last).document["since"] is None
