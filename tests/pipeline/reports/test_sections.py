"""Numbers on the pages are of all rows, and not of those that they show or that the report's JSON repeats."""

import pytest
from made_answers import write_answers

from falkirk.logdir.target import parse_target
from falkirk.pipeline.reports.answers import Question
from falkirk.pipeline.reports.cluster_files import cluster_page
from falkirk.pipeline.reports.fleet_report import report_document
from falkirk.pipeline.reports.page import Link
from falkirk.pipeline.reports.sections import ROWS_SHOWN, fleet_sections, read_cluster_facts

CLUSTERS = 1_200
TARGET = parse_target("3.9")


@pytest.fixture
def sections(tmp_path):
    def make(rows):
        answers = write_answers(tmp_path, rows)
        question = Question(at=TARGET.metadata_version, release=TARGET.release, ghost_days=7)
        document = report_document(answers, question).document
        return {section.name: section for section in fleet_sections(document, answers, read_cluster_facts(answers))}

    return make


def verdict(cluster, losses=(), changes=()):
    empty = {name: [] for name in ("inaccessible", "dropped_features", "lowered_features", "blockers", "warnings")}
    return {"cluster": cluster, "from_level": 30, "losses": [*losses], "changes": [*changes]} | empty


def loss(cluster, kind, number, outcome="lost"):
    row = {"cluster": cluster, "outcome": outcome, "kind": kind, "key": f"k{number:05}", "offset": number}
    return row | {"record": "PartitionRecord", "detail": "x"}


def test_groups_of_every_cluster_are_counted(sections):
    rows = [
        {"cluster": f"c{number:05}", "group": f"g{group:02}", "type": "classic", "verdict": verdict}
        | {"members_by_protocol": [], "committed_offsets": 1, "detail": "x"}
        for number in range(CLUSTERS)
        for group, verdict in enumerate(["readable"] * 9 + ["appears_empty"])
    ]
    found = sections({"groups": rows})["groups"]
    assert (len(found.rows), found.rows_in_all) == (ROWS_SHOWN, CLUSTERS)
    assert (found.rows[0][0].text, found.rows[0][1]) == ("c00000", "g09")


def test_the_first_losses_of_each_kind_and_cluster_are_shown(sections):
    rows = [loss("a", "elr_to_isr", number) for number in range(12_000)] + [loss("a", "cidr_deny_acl", 1)]
    rows += [loss("b", "elr_to_isr", number) for number in range(2)] + [loss("b", "feature_dropped", 1, "feature")]
    rows += [loss("b", "elr_to_isr", 7, "changed")]
    verdicts = [
        verdict("a", [("elr_to_isr", 12_000), ("cidr_deny_acl", 1)]),
        verdict("b", [("elr_to_isr", 2)], [("elr_to_isr", 1)]),
    ]
    found = sections({"losses": rows, "verdicts": verdicts})
    elr, acl = "Partitions whose eligible leader replicas become in-sync", "ACLs that deny address ranges"
    assert [(row[0].text, row[1], row[5]) for row in found["losses"].rows] == [
        ("a", acl, 1),
        *[("a", elr, number) for number in range(5)],
        *[("b", elr, number) for number in range(2)],
    ]
    assert found["losses"].rows_in_all == 12_003
    assert [(row[0].text, row[5]) for row in found["changes"].rows] == [("b", 7), ("b", 1)]
    assert [row[:3] for row in found["kinds-of-losses"].rows] == [(elr, 2, 12_002), (acl, 1, 1)]
    assert [row[:3] for row in found["kinds-of-changes"].rows] == [(elr, 1, 1)]


def test_requests_of_every_client_are_summed_and_clients_that_stop_come_first(sections):
    usage = [
        {"software_name": "librdkafka", "software_version": "2.3.0", "api": "Fetch", "api_version": 13, "requests": 3}
        | {"is_inter_broker": number % 2 == 1, "is_forwarded": False}
        for number in range(20_000)
    ]
    changes = [
        {"cluster": f"c{number:05}", "client_id": "app", "api": None, "api_key": 99, "api_version": 13}
        | {"software_name": "librdkafka", "software_version": "2.3.0", "is_blocker": number == 1_999}
        | {"detail": "x", "what_to_do": "y"}
        for number in range(2_000)
    ]
    found = sections({"api_usage": usage, "client_changes": changes})
    assert found["apis"].rows == [("librdkafka 2.3.0", 30_000)]
    first = found["clients"].rows[0]
    assert (first[0].text, *first[1:3], first[5]) == ("c01999", True, "librdkafka 2.3.0", "unknown API 99 v13")
    assert found["in-the-way"].rows == [
        ("Clients that stop working", 1, 1, Link("what to do", "runbook.html#unsupported_client"))
    ]


def test_record_types_have_names(sections):
    skipped = [(17, 1_200), (3, 7), (5, 4), (8, 2), (9, 1)]
    row = {"cluster": "a", "partition": 3, "load_fails": False, "needs_attention": True, "skipped": skipped}
    found = sections({"group_partitions": [row, row | {"needs_attention": False}]})["group_partitions"]
    [cells] = found.rows
    assert cells[4] == (
        "1,200 streams group metadata (17), 7 consumer group metadata (3), 4 consumer group member metadata (5), "
        "and 3 of other types"
    )


def test_what_is_new_since_the_last_report_comes_first(tmp_path):
    question = Question(at=TARGET.metadata_version, release=TARGET.release, ghost_days=7)
    rows = [{"verdicts": [verdict("a", [("cidr_deny_acl", lost)])]} for lost in (2, 1)]
    before, after = (write_answers(tmp_path / str(number), each) for number, each in enumerate(rows))
    last = report_document(before, question).document
    assert last["since"] is None
    document = report_document(after, question, since=last).document
    found = fleet_sections(document, after, read_cluster_facts(after))[1]
    assert (found.name, found.rows) == (
        "since",
        [(Link("a", cluster_page("a")), "loss: ACLs that deny address ranges", 2, 1)],
    )
    other = report_document(after, question, since=last | {"to": {"name": "4.0-IV3"}}).document
    assert other["since"] is None
