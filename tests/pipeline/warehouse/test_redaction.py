"""No secret of the metadata gets into a file of the warehouse, unless it is asked for."""

import base64

import pytest
from fleet_clusters import fleet_cluster
from made_clusters import MadeCluster
from pyarrow import parquet

from falkirk.metadata.image.configs import BROKER, GROUP, TOPIC
from falkirk.pipeline.ingest.run_unit import run_units
from falkirk.pipeline.ingest.survey import IngestOptions, survey_cluster
from falkirk.pipeline.ingest.unit import batched
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.messages import ConfigRecord, UserScramCredentialRecord

SECRETS = [f"planted-secret-{number}" for number in range(9)]
SCRAM = UserScramCredentialRecord("alice", 1, *(text.encode() for text in SECRETS[:3]), 4096)
PASSWORDS = [
    ConfigRecord(BROKER, "1", "ssl.keystore.password", SECRETS[3]),
    ConfigRecord(BROKER, "", "listener.name.internal.ssl.key.password", SECRETS[4]),
    ConfigRecord(BROKER, "1", "listener.name.internal.scram-sha-256.sasl.jaas.config", SECRETS[5]),
    ConfigRecord(BROKER, "1", "a.plugins.own.key", SECRETS[6]),
    ConfigRecord(TOPIC, "orders", "a.plugins.own.key", SECRETS[7]),
]
TAGGED = UserScramCredentialRecord("bob", 2, b"s", b"k", b"k", 4096, ((77, SECRETS[8].encode()),))
OPEN = [
    ConfigRecord(BROKER, "", "log.cleaner.threads", "2"),
    ConfigRecord(BROKER, "1", "listener.name.internal.ssl.keystore.location", "/etc/kafka/keys"),
    ConfigRecord(TOPIC, "orders", "retention.ms", "1000"),
    ConfigRecord(GROUP, "readers", "consumer.session.timeout.ms", "45000"),
]


@pytest.fixture
def written(tmp_path):
    """Every table of a cluster that has secrets, as workers write them."""

    def write(*, keep_secrets):
        records = [(record, 0) for record in (SCRAM, TAGGED, *PASSWORDS, *OPEN)]
        made = MadeCluster(root=tmp_path / "c", records=records).make()
        warehouse = Warehouse.make(str(tmp_path / "w"), keep_secrets=keep_secrets)
        options = IngestOptions(
            warehouse=warehouse.uri,
            tables=frozenset(TABLES),
            split_bytes=1 << 20,
            keep_secrets=warehouse.keeps_secrets(),
        )
        found = survey_cluster(fleet_cluster(made.root), [], options)
        for batch in batched(found.units, 1 << 20):
            run_units(batch, options)
        return tmp_path / "w"

    return write


def contents(warehouse):
    """All bytes of all files; of Parquet files also every value, which pages have compressed."""
    for file in sorted(path for path in warehouse.rglob("*") if path.is_file()):
        yield file, file.read_bytes()
        if file.suffix == ".parquet":
            yield file, repr(parquet.ParquetFile(file).read().to_pylist()).encode()


def spellings(secret):
    data = secret.encode()
    return data, base64.b64encode(data).rstrip(b"="), data.hex().encode(), repr(list(data)).encode()


def found_secrets(warehouse):
    everything = list(contents(warehouse))
    return {
        (secret, file.relative_to(warehouse).parts[-3])
        for secret in SECRETS
        for file, data in everything
        if any(spelling in data for spelling in spellings(secret))
    }


def rows_of(warehouse, table):
    return [
        row for file in warehouse.rglob(f"{table}/*/*.parquet") for row in parquet.ParquetFile(file).read().to_pylist()
    ]


def test_no_file_of_a_warehouse_holds_a_secret(written):
    assert found_secrets(written(keep_secrets=False)) == set()


def test_secrets_that_are_asked_for_are_there(written):
    found = found_secrets(written(keep_secrets=True))
    assert {secret for secret, _ in found} == set(SECRETS)
    assert {table for _, table in found} == {"configs", "metadata_records", "unknown_tags"}


def test_what_is_no_secret_stays(written):
    warehouse = written(keep_secrets=False)
    values = {(row["resource_name"], row["name"]): row["value"] for row in rows_of(warehouse, "configs")}
    assert values == {(each.resource_name, each.name): "(redacted)" for each in PASSWORDS} | {
        (each.resource_name, each.name): each.value for each in OPEN
    }
    records = rows_of(warehouse, "metadata_records")
    configs = {
        (row["config"]["resource_name"], row["config"]["name"]): row["config"]["value"]
        for row in records
        if row["config"]
    }
    assert configs == values
    [alice] = [row for row in records if '"alice"' in (row["json"] or "")]
    assert alice["json"].count("(redacted)") == 3
    assert '"iterations":4096' in alice["json"]
    assert [(row["tag"], row["data"]) for row in rows_of(warehouse, "unknown_tags")] == [(77, None)]
