"""Numbers on the page are of all rows, and not of those that the report's JSON repeats."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from falkirk.pipeline.reports.answers import Answers
from falkirk.pipeline.reports.sections import ROWS_SHOWN, make_sections

CLUSTERS = 1_200
EMPTY = {
    "minimum_versions": {"cluster": pa.string(), "metadata_version": pa.string()},
    "levels": {"cluster": pa.string(), "releases": pa.list_(pa.string()), "last_timestamp": pa.timestamp("us", "UTC")},
    "feature_levels": {
        "cluster": pa.string(),
        "feature": pa.string(),
        "from_level": pa.int32(),
        "to_level": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
    },
    "losses": dict.fromkeys(("cluster", "outcome", "kind", "key", "record", "detail"), pa.string())
    | {"offset": pa.int64()},
    "groups": dict.fromkeys(("cluster", "group", "type", "verdict", "detail"), pa.string())
    | {"members_by_protocol": pa.map_(pa.string(), pa.int64()), "committed_offsets": pa.int64()},
    "group_partitions": {"cluster": pa.string(), "partition": pa.int32(), "load_fails": pa.bool_()},
    "api_usage": dict.fromkeys(("software_name", "software_version", "api"), pa.string())
    | {"api_version": pa.int32(), "requests": pa.int64(), "is_inter_broker": pa.bool_(), "is_forwarded": pa.bool_()},
    "client_changes": dict.fromkeys(
        ("cluster", "software_name", "software_version", "client_id", "principal", "api", "detail", "what_to_do"),
        pa.string(),
    )
    | {"api_version": pa.int32(), "is_blocker": pa.bool_()},
}
REPEATED = ("feature_levels", "points_of_no_return", "blockers", "forgotten_finalisations", "feature_use", "problems")


@pytest.fixture
def sections(tmp_path):
    def make(rows, verdicts=()):
        for name, columns in EMPTY.items():
            (tmp_path / name).mkdir()
            table = pa.Table.from_pylist(rows.get(name, []), pa.schema(columns))
            parquet.write_table(table, tmp_path / name / "part.parquet")
        document = {name: [] for name in REPEATED} | {"verdicts": list(verdicts), "to": {"level": 21}}
        document["rows_in_all"] = dict.fromkeys([*REPEATED, "client_changes"], 0)
        return {section.title: section for section in make_sections(document, Answers(None, tmp_path))}

    return make


def test_groups_of_every_cluster_are_counted(sections):
    rows = [
        {"cluster": f"c{number:05}", "group": f"g{group:02}", "type": "classic", "verdict": verdict}
        | {"members_by_protocol": [], "committed_offsets": 1, "detail": "x"}
        for number in range(CLUSTERS)
        for group, verdict in enumerate(["readable"] * 9 + ["appears_empty"])
    ]
    found = sections({"groups": rows})["Groups"]
    assert (len(found.rows), found.rows_in_all) == (ROWS_SHOWN, CLUSTERS)
    assert found.rows[0][:2] == ("c00000", "g09")


def test_the_first_losses_of_each_kind_and_cluster_are_shown(sections):
    def loss(cluster, kind, number, outcome="lost"):
        row = {"cluster": cluster, "outcome": outcome, "kind": kind, "key": f"k{number:05}", "offset": number}
        return row | {"record": "PartitionRecord", "detail": "x"}

    rows = [loss("a", "elr_to_isr", number) for number in range(12_000)] + [loss("a", "cidr_deny_acl", 1)]
    rows += [loss("b", "elr_to_isr", number) for number in range(2)] + [loss("b", "feature", 1, outcome="feature")]
    losses = {"a": {"elr_to_isr": 12_000, "cidr_deny_acl": 1}, "b": {"elr_to_isr": 2}}
    verdicts = [
        {"cluster": name, "losses": lost, "verdict": "lossy", "from": None, "summary": "x"}
        for name, lost in losses.items()
    ]
    found = sections({"losses": rows}, verdicts)["What would be lost"]
    assert [(row[0], row[1], row[4]) for row in found.rows] == [
        ("a", "cidr deny acl", 1),
        *[("a", "elr to isr", number) for number in range(5)],
        *[("b", "elr to isr", number) for number in range(2)],
    ]
    assert found.rows_in_all == 12_003


def test_requests_of_every_client_are_summed_and_clients_that_stop_come_first(sections):
    usage = [
        {"software_name": "librdkafka", "software_version": "2.3.0", "api": "Fetch", "api_version": 13, "requests": 3}
        | {"is_inter_broker": number % 2 == 1, "is_forwarded": False}
        for number in range(20_000)
    ]
    changes = [
        {
            "cluster": f"c{number:05}",
            "client_id": "app",
            "api": "Fetch",
            "api_version": 13,
            "is_blocker": number == 1_999,
        }
        | {"software_name": "librdkafka", "software_version": "2.3.0", "is_blocker": number == 1_999}
        | {"detail": "x", "what_to_do": "y"}
        for number in range(2_000)
    ]
    found = sections({"api_usage": usage, "client_changes": changes})
    assert found["APIs that clients use"].rows == [("librdkafka 2.3.0", 30_000)]
    assert found["Clients that notice"].rows[0][:3] == ("c01999", True, "librdkafka 2.3.0")
