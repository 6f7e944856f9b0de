"""Answers as they are stored."""

import pyarrow as pa

from falkirk.pipeline.reports.answers import Answers


def test_rows_are_in_one_order_whatever_the_order_of_sparks_tasks(tmp_path):
    rows = [
        {"cluster": cluster, "feature": "a", "used_by": user, "names": ["x"]} for cluster in "ba" for user in ("2", "1")
    ]
    schema = pa.schema(
        {"cluster": pa.string(), "feature": pa.string(), "used_by": pa.string(), "names": pa.list_(pa.string())}
    )
    answers = Answers(tmp_path)
    for name, order in (("one", rows), ("other", rows[::-1])):
        answers.store(name, pa.Table.from_pylist(order, schema))
    found, _ = answers.rows("one", ("cluster", "feature"))
    assert [(row["cluster"], row["used_by"]) for row in found] == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]
    assert (tmp_path / "one" / "one.parquet").read_bytes() == (tmp_path / "other" / "other.parquet").read_bytes()
