"""The state of real clusters, against what `logdir` reads of them, and against what Kafka's Admin client answered."""

import pytest
from fleet_clusters import CLUSTER_NAMES, fleet_cluster
from state_reference import in_order, reference_tables
from stopped_clusters import cluster_at

from falkirk.pipeline.state.metadata_state import STATE_TABLES, metadata_state
from falkirk.pipeline.tables import TABLES


def rows_of(state):
    """All rows of all tables; each batch has the table's schema."""
    found = {}
    for name, batches in state.tables.items():
        found[name] = []
        for batch in batches:
            assert batch.schema.equals(TABLES[name].schema)
            batch.validate(full=True)
            found[name] += batch.to_pylist()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_every_table_of_a_real_cluster_is_what_the_rows_say(kafka_directory, name):
    found = rows_of(metadata_state(fleet_cluster(kafka_directory(name))))
    expected = reference_tables(cluster_at(kafka_directory(name)))
    assert found.keys() == STATE_TABLES
    for table, rows in expected.items():
        assert in_order(found[table]) == in_order(rows), table
    assert found["problems"] == []
