"""Which files a path names: by directory, pattern and name, whose they are, and sentences about what is not there."""

import pytest

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.sources.log_files import metadata_files, request_log_files, segment_files
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record

BATCH = build_batch([Record(0, 1000, None, b"v")], base_offset=0)
META = b"version=1\nnode.id=7\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAg\n"
FILES = {
    "d0/meta.properties": META,
    "d0/__cluster_metadata-0/00000000000000000000.log": BATCH,
    "d0/__cluster_metadata-0/00000000000000000000.index": b"",
    "d0/__cluster_metadata-0/00000000000000000007.log.deleted": BATCH,
    "d0/__cluster_metadata-0/00000000000000000009-0000000001.checkpoint": BATCH,
    "d0/__cluster_metadata-0/00000000000000000005-0000000001.checkpoint.deleted": BATCH,
    "d0/__cluster_metadata-0/quorum-state": b"{}",
    "d0/orders-0/00000000000000000000.log": BATCH,
    "d0/orders-0/00000000000000000100.log": BATCH,
    "d0/orders-0/00000000000000000100.log.swap": BATCH,
    "d0/orders-11/00000000000000000000.log": BATCH,
    "d0/orders-2.0123abcd-delete/00000000000000000000.log": BATCH,
    "d0/payments-0/00000000000000000000.log": BATCH,
    "d1/orders-1/00000000000000000000.log": b"",
    "d1/orders-1/copy.bin": BATCH,
    "d1/script.sh": b"#!/bin/sh\necho hello, this is more than seventeen bytes of text\n" * 2,
    "logs/kafka-request.log": b"x\n",
    "logs/kafka-request.log.2026-01-01-12": b"x\n",
    "logs/server.log": b"x\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "empty").mkdir()
    return tmp_path


def names(folder, found):
    return [file.location.uri.removeprefix(f"{folder}/") for file in found]


LOG = "d0/__cluster_metadata-0/00000000000000000000.log"
SNAPSHOT = "d0/__cluster_metadata-0/00000000000000000009-0000000001.checkpoint"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("d0", [LOG, SNAPSHOT]),
        ("d0/__cluster_metadata-0", [LOG, SNAPSHOT]),
        ("d0/__cluster_metadata-0/", [LOG, SNAPSHOT]),
        ("d0/__cluster_metadata-0/*", [LOG, SNAPSHOT]),
        ("d0/__cluster_metadata-0/*.checkpoint", [SNAPSHOT]),
        ("d*", [LOG, SNAPSHOT]),
        ("d0/*", [LOG, SNAPSHOT]),
        ("*", [LOG, SNAPSHOT]),
        ("d1/orders-1/copy.bin", ["d1/orders-1/copy.bin"]),
    ],
)
def test_metadata_is_found_in_directories_patterns_and_files(folder, path, expected):
    found = metadata_files([f"{folder}/{path}"])
    assert names(folder, found) == expected


@pytest.mark.parametrize(
    ("path", "topic", "expected"),
    [
        ("d0/orders-0", None, ["d0/orders-0/00000000000000000000.log", "d0/orders-0/00000000000000000100.log"]),
        (
            "d?",
            "orders",
            [
                "d0/orders-0/00000000000000000000.log",
                "d0/orders-0/00000000000000000100.log",
                "d0/orders-11/00000000000000000000.log",
                "d1/orders-1/00000000000000000000.log",
            ],
        ),
        ("d0/*/*0.log", None, [LOG, *(f"d0/{name}" for name in ("orders-0/00000000000000000000.log",))]),
    ],
)
def test_segments_are_found_by_partition_and_topic(folder, path, topic, expected):
    found = names(folder, segment_files([f"{folder}/{path}"], topic))
    assert found[: len(expected)] == expected
    assert all(name.endswith(".log") for name in found)


@pytest.mark.parametrize("topic", ["orders", None])
def test_a_data_directory_may_be_called_like_a_partition(folder, topic):
    (folder / "d0").rename(folder / "kafka-1")
    found = segment_files([f"{folder}/kafka-1" if topic else f"{folder}/kafka-1/orders-1*"], topic)
    assert "kafka-1/orders-11/00000000000000000000.log" in names(folder, found)
    assert len(metadata_files([f"{folder}/kafka-1"])) == 2


def test_request_logs_are_found_by_their_names(folder):
    both = ["logs/kafka-request.log", "logs/kafka-request.log.2026-01-01-12"]
    assert names(folder, request_log_files([f"{folder}/logs"])) == both
    assert names(folder, request_log_files([f"{folder}/logs/server.log"])) == ["logs/server.log"]
    assert names(folder, request_log_files([f"{folder}/logs/*-12", f"{folder}/logs"])) == [both[1], both[0]]


def test_a_file_is_of_the_node_whose_meta_properties_stand_two_levels_up(folder):
    [first, *_] = metadata_files([f"{folder}/d0"])
    assert first.node_id == 7
    [other] = segment_files([f"{folder}/d1/orders-1"], None)
    assert other.node_id is None


@pytest.mark.parametrize(
    ("find", "path", "sentence"),
    [
        (metadata_files, "missing", "no such file or directory"),
        (metadata_files, "missing/*.log", "matches nothing"),
        (metadata_files, "empty", "no segment and no snapshot of a metadata log here, nor in a __cluster_metadata-0"),
        (metadata_files, "logs/*", "no segment and no snapshot of a metadata log here"),
        (metadata_files, "d1/script.sh", "no log of Kafka: batch has magic"),
        (request_log_files, "empty", "no request log here: no file has `request` and `.log` in its name"),
        (request_log_files, LOG, "no request log: it is not text"),
        (lambda paths: segment_files(paths, None), "d0", "no segment of a partition here; of a data directory, name"),
        (lambda paths: segment_files(paths, "nosuch"), "d0", "no segment of a partition here, nor one of nosuch"),
        (lambda paths: segment_files(paths, None), "d1/script.sh", "no log of Kafka: batch has magic"),
    ],
)
def test_what_is_not_there_is_one_sentence_that_names_it(folder, find, path, sentence):
    with pytest.raises(InventoryError) as raised:
        find([f"{folder}/{path}"])
    assert str(raised.value).startswith(f"{folder}/{path}: {sentence}")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_log_is_taken_where_its_problems_are_wanted(folder):
    path = f"{folder}/d1/script.sh"
    assert names(folder, metadata_files([path], check=False)) == ["d1/script.sh"]


@pytest.mark.parametrize("data", [b"", b"\0" * 100, BATCH[:50], BATCH[:5]])
def test_a_log_that_just_begins_is_one(tmp_path, data):
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes(data)
    assert len(metadata_files([str(file)])) == 1
