"""A table or column that is not there is named, before Spark looks for it."""

import pytest

from falkirk.pipeline.tables.metadata_state import TOPICS
from falkirk.pipeline.transforms.required import MissingTableError, require_columns


class Frame:
    """As much of a DataFrame as is asked here."""

    def __init__(self, *columns):
        self.columns = list(columns)

    def select(self, *columns):
        return columns


def test_the_cluster_comes_first_and_then_the_columns_in_the_order_asked_for():
    topics = Frame("name", "partitions", "topic_id", "cluster")
    assert require_columns({"topics": topics}, TOPICS, "topic_id", "name") == ("cluster", "topic_id", "name")


def test_without_columns_all_of_the_table_are_given():
    columns = TOPICS.full_schema.names
    assert require_columns({"topics": Frame(*columns)}, TOPICS) == tuple(columns)


def test_a_missing_table_is_named():
    with pytest.raises(MissingTableError, match=r"^table topics is not here$"):
        require_columns({}, TOPICS, "name")


def test_a_missing_column_is_named():
    with pytest.raises(MissingTableError, match=r"^table topics has no column name$"):
        require_columns({"topics": Frame("cluster", "topic_id")}, TOPICS, "topic_id", "name")


def test_all_missing_columns_are_named_at_once():
    with pytest.raises(MissingTableError, match=r"^table topics has no columns cluster, name$"):
        require_columns({"topics": Frame("topic_id")}, TOPICS, "name")
