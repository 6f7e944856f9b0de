"""A warehouse in an object store: no renames, few requests, and the same rows."""

from collections import Counter

import duckdb
import polars as pl
import pytest
from data_files import committed, put
from deltalake import DeltaTable
from ingested_rows import made_pieces
from object_store import object_store, s3proxy

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.ingest.run import _change
from falkirk.pipeline.ingest.survey import IngestOptions, survey_cluster
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.commit import Change
from falkirk.pipeline.warehouse.delta import commit_files
from falkirk.pipeline.warehouse.vacuum import vacuum
from falkirk.pipeline.warehouse.warehouse import Warehouse

PLAIN = {"aws_allow_http": "true"}
REQUESTS_MAX = 8


SERVERS = {"moto": object_store, "s3proxy": s3proxy}


@pytest.fixture
def store(request, monkeypatch):
    with SERVERS[getattr(request, "param", "moto")]() as found:
        for name, value in found.environment.items():
            monkeypatch.setenv(name, value)
        yield found


any_store = pytest.mark.parametrize(
    "store", ["moto", pytest.param("s3proxy", marks=[pytest.mark.interop, pytest.mark.full])], indirect=True
)


@any_store
@pytest.mark.slow
def test_a_warehouse_in_an_object_store_commits_forgets_and_is_vacuumed(store):
    warehouse = Warehouse.make("s3://fleet/w")
    before = committed(warehouse, "a", "one")
    committed(warehouse, "b", "two")
    warehouse.commit([Change("a", before, None)])
    orphan = put(warehouse, "b", "left")
    table = DeltaTable("s3://fleet/w/topics", storage_options=PLAIN)
    assert duckdb.from_arrow(table.to_pyarrow_dataset()).aggregate("cluster, count(*)").fetchall() == [("b", 1)]
    early = pl.read_delta("s3://fleet/w/topics", version=1, storage_options=PLAIN)
    assert dict(early.group_by("cluster").len().rows()) == {"a": 1, "b": 1}
    assert vacuum(warehouse, retention_hours=0) == {"topics": 2}
    assert not warehouse._exists(orphan.files[0].path)
    assert [manifest.cluster for manifest in Warehouse.open("s3://fleet/w").manifests()] == ["b"]


@any_store
@pytest.mark.slow
def test_a_killed_commit_in_an_object_store_is_completed(store, monkeypatch):
    warehouse = Warehouse.make("s3://fleet/w")
    committed(warehouse, "a", "one")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Warehouse, "_put_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            committed(warehouse, "a", "two")
    assert warehouse.mark().number == 1
    with warehouse.writing():
        assert (warehouse.mark().number, list(warehouse.manifest("a").pieces)) == (2, ["two"])


@pytest.mark.slow
def test_a_cluster_costs_few_requests_beside_its_data_files(store, tmp_path):
    def requests(clusters, seed):
        """Ingest a fleet without Spark; return the requests for the warehouse, and those for data files."""
        make_fleet(tmp_path / f"fleet-{seed}", FleetShape(clusters=clusters, partitions=20, groups=2, seed=seed))
        seen = len(store.requests())
        warehouse = Warehouse.make(f"s3://fleet/w{seed}")
        options = IngestOptions(warehouse=warehouse.uri, tables=frozenset(TABLES), split_bytes=1 << 25)
        with warehouse.writing():
            changes = []
            for cluster in find_fleet([str(tmp_path / f"fleet-{seed}")]).clusters:
                survey = survey_cluster(cluster, [], options)
                changes.append(_change(survey, made_pieces(survey, options)))
            warehouse.commit(changes)
        found = store.requests()[seen:]
        files = [(method, path) for method, path in found if path.endswith(".parquet")]
        # One request for each file, and no copies.
        assert Counter(method for method, _ in files) == {"PUT": len({path for _, path in files})}
        assert {change.cluster for change in changes} == {each.cluster for each in warehouse.manifests()}
        return len(found) - len(files)

    few, many = requests(2, seed=1), requests(12, seed=2)
    assert (many - few) / 10 <= REQUESTS_MAX


@pytest.mark.slow
def test_an_object_store_that_does_not_answer_is_named(store, monkeypatch):
    warehouse = Warehouse.make("s3://fleet/w")
    piece = put(warehouse, "a", "one")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_RETRIES", "0")
    with pytest.raises(WarehouseError, match=r"^s3://fleet/w/topics: .*127\.0\.0\.1:9"):
        commit_files("s3://fleet/w/topics", "topics", 1, 0, added=piece.files, removed=[])
