"""The tables of a warehouse: one schema each, with a comment for every column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.pipeline.tables.clusters import CLUSTERS, LOG_DIRS, PROBLEMS
from falkirk.pipeline.tables.groups import COMMITTED_OFFSETS, GROUP_MEMBERS, GROUP_RECORDS, GROUPS, TRANSACTIONS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS, METADATA_RECORDS
from falkirk.pipeline.tables.metadata_state import (
    ACLS,
    BROKERS,
    CLIENT_QUOTAS,
    CONFIGS,
    CONTROLLERS,
    PARTITIONS,
    PRODUCER_IDS,
    SCRAM_CREDENTIALS,
    TOPICS,
    UNKNOWN_TAGS,
)
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.pipeline.tables.trends import TRENDS
from falkirk.pipeline.tables.watch import WATCH_EVENTS, WATCH_WAYS

if TYPE_CHECKING:
    from falkirk.pipeline.tables.table import Table

TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        CLUSTERS,
        LOG_DIRS,
        METADATA_RECORDS,
        FEATURE_LEVELS,
        BROKERS,
        CONTROLLERS,
        TOPICS,
        PARTITIONS,
        CONFIGS,
        ACLS,
        SCRAM_CREDENTIALS,
        CLIENT_QUOTAS,
        PRODUCER_IDS,
        UNKNOWN_TAGS,
        TRENDS,
        GROUP_RECORDS,
        GROUPS,
        GROUP_MEMBERS,
        COMMITTED_OFFSETS,
        TRANSACTIONS,
        REQUESTS,
        WATCH_EVENTS,
        WATCH_WAYS,
        PROBLEMS,
    )
}
"""Name -> table, in the order of the documentation."""
