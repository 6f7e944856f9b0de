"""Which APIs and versions clients use, by their software, and which requests nodes send each other.

A line of a request log hardly identifies its sender, so lines are grouped by connection (within the cluster and the
node that wrote the log): one line with the software's name names it for all. Requests that only nodes send mark a
connection as inter-broker traffic. Nodes send other requests too: fetches of replicas, recognised by the client.id of
Kafka's fetcher threads; fetches of the metadata log, by a listener that serves controllers; and everything on a
listener that only nodes seem to use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as sf

from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.api_support import Listener
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform

CLIENT_COLUMNS: Final = (
    CLUSTER,
    "listener",
    "serves_controllers",
    "principal",
    "client_id",
    "software_name",
    "software_version",
    "is_inter_broker",
)
"""The sender: listener (`serves_controllers`: it is a controllers' listener), principal, client.id, and software
if a line of its connections names it.
"""
USAGE_COLUMNS: Final = (
    *CLIENT_COLUMNS,
    "is_forwarded",
    "api_key",
    "api",
    "api_version",
    "requests",
    "connections",
    "negotiates",
    "first_timestamp",
    "last_timestamp",
)
"""The requests. `is_forwarded`: brokers forwarded it to the controller; it is in a broker's log as well.
`negotiates`: the client sends ApiVersions before it chooses a version.
"""
API_USAGE: Final = "api_usage"
"""Name under which transforms find the result of `api_usage` among their tables; without it they compute it again."""
_LINE_COLUMNS: Final = (
    "node_id",
    "connection",
    "listener",
    "principal",
    "client_id",
    "software_name",
    "software_version",
    "is_forwarded",
    "api_key",
    "api",
    "api_version",
    "timestamp",
)
_MEASURES: Final = ("requests", "connections", "negotiates", "first_timestamp", "last_timestamp")
_FETCH: Final = 1
_API_VERSIONS: Final = 18
_ADD_PARTITIONS_TO_TXN: Final = 24
# Clients end at 3; from 4 on brokers verify transactions with it (KIP-890).
_ADD_PARTITIONS_OF_BROKERS: Final = 4
# DescribeQuorum and UpdateFeatures need CLUSTER_ACTION or more, and are sent by administrators.
_OF_ADMINISTRATORS: Final = frozenset({55, 57})
# Fetch, ListOffsets, SaslHandshake, ApiVersions, OffsetForLeaderEpoch, SaslAuthenticate.
_OF_FETCHERS: Final = frozenset({1, 2, 17, 18, 23, 36})
_FETCHER: Final = r"^broker-\d+-fetcher-\d+$"
# Each API as in the newest release that has it.
_NEWEST: Final = {key: api for release in all_releases() for key, api in release.apis.items()}
_OF_CONTROLLERS: Final = frozenset(key for key, api in _NEWEST.items() if api.listeners == {Listener.CONTROLLER})
"""APIs that only controllers serve."""
_OF_NODES: Final = _OF_CONTROLLERS | frozenset(
    key
    for release in all_releases()
    for key, api in release.apis.items()
    if api.cluster_action and key not in _OF_ADMINISTRATORS
)
"""APIs that only nodes send."""


def api_usage() -> Transform:
    """Return a row for each client, API and version (USAGE_COLUMNS)."""

    def transform(tables: Tables) -> DataFrame:
        grouped = _lines(tables).groupBy(*(name for name in USAGE_COLUMNS if name not in _MEASURES))
        connection = sf.when(sf.col("connection").isNotNull(), sf.struct("node_id", "connection"))
        usage = grouped.agg(
            sf.sum("requests").alias("requests"),
            sf.countDistinct(connection).alias("connections"),
            sf.min("first_timestamp").alias("first_timestamp"),
            sf.max("last_timestamp").alias("last_timestamp"),
        )
        return _with_negotiation(usage).select(*USAGE_COLUMNS)

    return transform


def client_days() -> Transform:
    """Return for each day (UTC) and client software how many requests it sent, and how many client.ids it had then.

    Columns: cluster, day, software_name, software_version (null: unknown), requests, client_ids, connections. Nodes'
    own traffic and forwarded requests are left out.
    """

    def transform(tables: Tables) -> DataFrame:
        of_clients = _lines(tables).filter(~sf.col("is_inter_broker") & ~sf.col("is_forwarded"))
        return of_clients.groupBy(CLUSTER, "day", "software_name", "software_version").agg(
            sf.sum("requests").alias("requests"),
            sf.countDistinct("client_id").alias("client_ids"),
            sf.countDistinct("node_id", "connection").alias("connections"),
        )

    return transform


def _lines(tables: Tables) -> DataFrame:
    """Return the lines of each connection that are alike on a day as one row, with their sender."""
    lines = require_columns(tables, REQUESTS, *_LINE_COLUMNS)
    forwarded = sf.coalesce("is_forwarded", sf.lit(False))
    # A forwarded request came over a connection of the broker, not of the client.
    own = lines.withColumns(
        {
            "is_forwarded": forwarded,
            "connection": sf.when(~forwarded, sf.col("connection")),
            "day": sf.col("timestamp").cast("date"),
        }
    )
    # Lines of a connection are alike, so the following steps see few rows.
    kinds = own.groupBy(*(name for name in own.columns if name != "timestamp")).agg(
        sf.count("*").alias("requests"),
        sf.min("timestamp").alias("first_timestamp"),
        sf.max("timestamp").alias("last_timestamp"),
    )
    return _with_inter_broker(_with_software(kinds))


def known_usage(tables: Tables) -> DataFrame:
    """Return the usage that is among the tables, or compute it."""
    return tables[API_USAGE] if API_USAGE in tables else api_usage()(tables)


def _with_software(kinds: DataFrame) -> DataFrame:
    """Set the software that any line of a connection names, the last one if there are several."""
    named = sf.when(
        sf.col("software_name").isNotNull(), sf.struct("last_timestamp", "software_name", "software_version")
    )
    found = kinds.withColumn("named", _of_connection(sf.max, named))
    columns = {name: sf.coalesce(name, f"named.{name}") for name in ("software_name", "software_version")}
    return found.withColumns(columns).drop("named")


def _with_inter_broker(kinds: DataFrame) -> DataFrame:
    api, own = sf.col("api_key"), ~sf.col("is_forwarded")
    found = _with_listener(kinds, serves_controllers=sf.max(own & api.isin(sorted(_OF_CONTROLLERS))))

    of_node = api.isin(sorted(_OF_NODES)) | ((api == _FETCH) & sf.col("serves_controllers"))
    of_node |= (api == _ADD_PARTITIONS_TO_TXN) & (sf.col("api_version") >= _ADD_PARTITIONS_OF_BROKERS)
    fetcher = api.isin(sorted(_OF_FETCHERS)) & sf.coalesce(sf.col("client_id").rlike(_FETCHER), sf.lit(False))
    found = found.withColumn("of_node", own & (_of_connection(sf.max, of_node) | fetcher))

    # On a listener with no other clients, all connections are nodes'.
    other = own & ~sf.col("of_node") & ~api.isin(sorted(_OF_FETCHERS))
    found = _with_listener(found, of_nodes=sf.max("of_node") & ~sf.max(other))
    return found.withColumn("is_inter_broker", sf.col("of_node") | (own & sf.col("of_nodes"))).drop(
        "of_node", "of_nodes"
    )


def _with_listener(kinds: DataFrame, **flag: Column) -> DataFrame:
    """Add a flag of the whole listener, false where the listener is unknown.

    One listener may have most rows of a fleet: a window over it would be one task.
    """
    [(name, column)] = flag.items()
    listeners = kinds.groupBy(CLUSTER, "listener").agg(column.alias(name))
    found = kinds.join(sf.broadcast(listeners), [CLUSTER, "listener"], "left")
    return found.withColumn(name, sf.coalesce(name, sf.lit(False)))


def _with_negotiation(usage: DataFrame) -> DataFrame:
    """Set whether the client sends ApiVersions; a client that names its software did so in it (ApiVersions 3)."""
    asks = (sf.col("api_key") == _API_VERSIONS) | sf.col("software_name").isNotNull()
    return usage.withColumn("negotiates", sf.max(asks).over(Window.partitionBy(*CLIENT_COLUMNS)))


def _of_connection(function: Callable[[Column], Column], column: Column) -> Column:
    """Aggregate a column over all lines of a connection; over the line alone if its connection is unknown."""
    # Lines without one would be one task.
    spread = sf.when(sf.col("connection").isNull(), sf.xxhash64("client_id", "api_key", "api_version"))
    over = Window.partitionBy(CLUSTER, "node_id", "connection", spread)
    return sf.when(sf.col("connection").isNull(), column).otherwise(function(column).over(over))
