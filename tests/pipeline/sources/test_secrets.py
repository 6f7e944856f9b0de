"""The Spark sources leave secrets of the metadata out of their rows, unless they are asked for."""

import pytest
from made_clusters import MadeCluster

from falkirk.metadata.image.configs import BROKER
from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.sources.kafka_segments import KafkaSegmentsSource
from falkirk.pipeline.sources.kraft_log import KraftLogSource
from falkirk.protocol.messages import ConfigRecord, UserScramCredentialRecord

VALUE = "planted-password"
RECORDS = [
    ConfigRecord(BROKER, "1", "ssl.keystore.password", VALUE),
    UserScramCredentialRecord("alice", 1, b"planted-salt", b"planted-key", b"planted-key", 4096),
]


@pytest.fixture
def metadata(tmp_path):
    made = MadeCluster(root=tmp_path / "c", records=[(record, 0) for record in RECORDS]).make()
    [directory] = made.root.glob("**/__cluster_metadata-0")
    return directory


def rows(source):
    reader = source.reader(source.schema())
    return [row for piece in reader.partitions() for batch in reader.read(piece) for row in batch.to_pylist()]


def test_rows_of_the_metadata_have_no_secrets(metadata):
    kept = rows(KraftLogSource({"path": str(metadata), "keepSecrets": "true"}))
    left_out = rows(KraftLogSource({"path": str(metadata)}))
    assert VALUE in repr(kept)
    assert "cGxhbnRlZC1" in repr(kept)  # `planted-` in Base64
    assert VALUE not in repr(left_out)
    assert "cGxhbnRlZC1" not in repr(left_out)
    assert len(left_out) == len(kept)
    assert "alice" in repr(left_out)


def test_bytes_of_the_metadata_are_refused(metadata):
    with pytest.raises(InventoryError, match=r"__cluster_metadata have passwords .* keepSecrets to true$"):
        KafkaSegmentsSource({"path": str(metadata)}).schema()
    kept = rows(KafkaSegmentsSource({"path": str(metadata), "keepSecrets": "true"}))
    assert VALUE.encode() in b"".join(row["value"] or b"" for row in kept)
    assert rows(KafkaSegmentsSource({"path": str(metadata), "problems": "true"})) == []
