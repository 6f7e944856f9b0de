"""Our sources in Spark: what the readers give arrives there, from disks and object stores."""

import gzip
import re
from pathlib import Path

import pytest
from archives import unpack_cluster
from object_store import object_store

from falkirk.pipeline import filesystem
from falkirk.pipeline.sources.kafka_segments import KafkaSegmentsSource
from falkirk.pipeline.sources.kraft_log import KraftLogSource
from falkirk.pipeline.sources.log_dirs import LogDirsSource
from falkirk.pipeline.sources.register import register_sources
from falkirk.pipeline.sources.request_log import RequestLogSource
from falkirk.pipeline.tables.clusters import LOG_DIRS
from falkirk.pipeline.tables.metadata_records import METADATA_RECORDS

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "data"
REQUESTS = DATA / "requests" / "simple-3.9.1.log.gz"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """The logs of a cluster that real Kafka ran, and a request log."""
    folder = tmp_path_factory.mktemp("fleet")
    unpack_cluster("4.3.1", folder)
    (folder / "kafka-request.log").write_bytes(gzip.decompress(REQUESTS.read_bytes()))
    (folder / "torn-0").mkdir()
    [metadata] = folder.glob("data/*/__cluster_metadata-0/*0.log")
    (folder / "torn-0" / "00000000000000000000.log").write_bytes(metadata.read_bytes()[:-5])
    return folder


@pytest.fixture(scope="module")
def sources(spark):
    register_sources(spark)
    return spark


def by_place(rows):
    return sorted(rows, key=lambda row: (row["source"], row["position"], row.get("offset", 0)))


def in_process(source):
    """The rows without Spark."""
    reader = source.reader(source.schema())
    batches = [batch for piece in reader.partitions() for batch in reader.read(piece)]
    return [row for batch in batches for row in batch.to_pylist()]


CASES = {
    "kraft_log": (KraftLogSource, "data/*", {"splitBytes": "20k"}),
    "groups": (KafkaSegmentsSource, "data/*", {"topic": "__consumer_offsets"}),
    "transactions": (KafkaSegmentsSource, "data/*/__transaction_state-*", {"splitBytes": "1k"}),
    "request_log": (RequestLogSource, "kafka-request.log", {"splitBytes": "50k", "timeZone": "Europe/Berlin"}),
    "problems": (KafkaSegmentsSource, "torn-0", {"problems": "true"}),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_in_spark_are_those_of_the_readers(sources, fleet, case):
    source, path, options = CASES[case]
    options |= {"path": f"{fleet}/{path}"}
    frame = sources.read.format(source.name()).options(**options).load()
    found = frame.toArrow().to_pylist()
    wanted = in_process(source(options))
    assert len(wanted) >= (1 if case == "problems" else 10)
    assert by_place(found) == by_place(wanted)


def test_data_directories_are_rows(sources, fleet):
    frame = sources.read.format("log_dirs").load(str(fleet))
    found = frame.toArrow().to_pylist()
    assert frame.columns == LOG_DIRS.schema.names
    assert found == in_process(LogDirsSource({"path": str(fleet)}))
    assert len(found) == 2
    assert {row["node_id"] for row in found} == {1}
    assert {row["has_metadata"] for row in found} == {True, False}


def test_columns_are_those_of_the_table_with_their_comments(sources, fleet):
    schema = sources.read.format("kraft_log").load(f"{fleet}/data/*").schema
    assert schema.names == METADATA_RECORDS.schema.names
    comments = {field.name: field.metadata["comment"] for field in schema}
    assert comments["record_name"] == "Name of the record's type: `FeatureLevelRecord`."


@pytest.mark.parametrize(
    ("name", "path", "sentence"),
    [
        ("kraft_log", "missing", "{path}: no such file or directory"),
        ("kafka_segments", "missing-*", "{path}: matches nothing"),
        ("request_log", "torn-0/00000000000000000000.log", "{path}: no request log: it is not text"),
        ("log_dirs", "torn-0", "{path}: no Kafka log directory here"),
    ],
)
def test_what_is_wrong_with_a_path_is_said_where_it_is_named(sources, fleet, name, path, sentence):
    with pytest.raises(Exception, match=re.escape(sentence.format(path=f"{fleet}/{path}"))):
        sources.read.format(name).load(f"{fleet}/{path}")


def test_logs_in_an_object_store_are_read_in_workers(sources, fleet, monkeypatch):
    with object_store() as store:
        [metadata] = fleet.glob("data/*/__cluster_metadata-0")
        root = store.put_tree("d0/__cluster_metadata-0", metadata)
        # Workers have the environment that was there when Spark started, and what the context adds.
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
            monkeypatch.setitem(sources.sparkContext.environment, name, value)
        filesystem._found_store.cache_clear()
        register_sources(sources)
        frame = sources.read.format("kraft_log").option("splitBytes", "20k").load("s3://fleet/d*")
        found = frame.toArrow().to_pylist()
        monkeypatch.undo()
        filesystem._found_store.cache_clear()
        register_sources(sources)
    wanted = in_process(KraftLogSource({"path": str(metadata)}))
    assert all(row["source"].startswith(f"{root}/") for row in found)
    moved = [row | {"source": row["source"].replace(str(metadata), root), "node_id": None} for row in wanted]
    assert by_place(found) == by_place(moved)


def test_the_examples_of_the_documentation_run(sources, fleet, capsys):
    text = (Path(__file__).parents[3] / "docs" / "reference" / "fleet-sources.md").read_text()
    # The session of the tests takes the place of a new one.
    text = text.replace("start_session()", "spark")
    text = text.replace("/data/kafka-1", f"{fleet}/data").replace("/logs/kafka-1", str(fleet))
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for block in blocks:
        exec(block, {"spark": sources})  # noqa: S102 - our own words
    assert len(blocks) == 1
    printed = capsys.readouterr().out
    assert "metadata.version" in printed
    assert "apache-kafka-java" in printed
