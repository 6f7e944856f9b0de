"""One fleet for all transforms: every cluster and metadata log that real Kafka wrote, and histories by chance."""

from dataclasses import dataclass

import pyarrow as pa
import pytest
from metadata_fleet import fleet_rows, unpack_fleet, write_tables
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from falkirk.logdir.cluster import Cluster
from falkirk.pipeline.tables import TABLES


@dataclass(frozen=True)
class MetadataFleet:
    """The clusters as `falkirk logdir` reads them, and the tables over all of them."""

    clusters: dict[str, Cluster]
    tables: dict[str, DataFrame]


@pytest.fixture(scope="session")
def metadata_clusters(tmp_path_factory):
    return unpack_fleet(tmp_path_factory.mktemp("metadata-fleet"))


@pytest.fixture(scope="session")
def metadata_fleet(metadata_clusters, spark, tmp_path_factory):
    paths = write_tables(fleet_rows(metadata_clusters), tmp_path_factory.mktemp("metadata-tables"))
    return MetadataFleet(metadata_clusters, {name: spark.read.parquet(str(path)) for name, path in paths.items()})


@pytest.fixture(scope="session")
def crashed_tables(metadata_fleet):
    """Return the tables as if no broker had been stopped cleanly: there a change of ELR counts as a plan counts it."""
    brokers = metadata_fleet.tables["brokers"].withColumn("in_controlled_shutdown", sf.lit(False))
    return metadata_fleet.tables | {"brokers": brokers}


@pytest.fixture(scope="session")
def tables_of(spark):
    """Return tables with the rows named, of cluster `c` where they name none; what a row leaves out is null."""

    def make(**tables):
        return {
            name: spark.createDataFrame(
                pa.Table.from_pylist([{"cluster": "c", **row} for row in rows], schema=TABLES[name].full_schema)
            )
            for name, rows in tables.items()
        }

    return make
