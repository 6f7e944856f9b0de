"""Request logs: lines that real Kafka wrote, falkirk's own, broken ones, and those of other loggers."""

import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.pipeline.filesystem import Location
from falkirk.pipeline.readers import lines, requests
from falkirk.pipeline.readers.lines import iter_line_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.pipeline.readers.splits import split_lines, split_text_file
from falkirk.pipeline.tables.clusters import PROBLEMS
from falkirk.pipeline.tables.requests import REQUESTS
from falkirk.protocol import messages
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.request_line import RequestHeader, RequestLine, write_kafka_line, write_request_line

SAMPLES = Path(__file__).parents[2] / "data" / "requests"
NAMES = ("log4j-3.9.1", "log4j-4.3.1", "simple-3.9.1", "simple-4.3.1")
PATH = "/logs/kafka-request.log"
ORIGIN = Origin(source=PATH, node_id=3)


def place(data):
    disk = MemoryDisk()
    disk.make_directory("/logs")
    disk.write(PATH, [data])
    return Location(disk=disk, path=PATH, uri=PATH)


def read(data, *, start=0, end=None, origin=ORIGIN, zone=UTC, **options):
    """The rows, and the rows of problems."""
    report = RequestReport()
    chunks = iter_line_chunks(place(data).disk, PATH, start=start, end=end, **options)
    batches = list(read_requests(chunks, origin, report, zone=zone))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == REQUESTS.schema
    problems = PROBLEMS.rows(report.problem_rows(origin))
    assert report.requests == sum(batch.num_rows for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()], problems.to_pylist()


def sample(name):
    return gzip.decompress((SAMPLES / f"{name}.log.gz").read_bytes())


def kafka_line(*, prefix="[2026-01-01 12:00:00,123] DEBUG ", suffix=" (kafka.request.logger)", request=None, **changed):
    """A line with the keys that every line has."""
    document = {
        "isForwarded": False,
        "requestHeader": {
            "requestApiKey": 9,
            "requestApiVersion": 9,
            "correlationId": 1,
            "clientId": "c",
            "requestApiKeyName": "OFFSET_FETCH",
        },
        "request": request or {},
        "response": {"errorCode": 0},
        "connection": "127.0.0.1:9092-10.0.0.7:50000-0",
        "totalTimeMs": 1.5,
        "securityProtocol": "PLAINTEXT",
        "principal": "User:ANONYMOUS",
        "listener": "PLAINTEXT",
        "clientInformation": {"softwareName": "apache-kafka-java", "softwareVersion": "4.3.1"},
    }
    return f"{prefix}Completed request:{json.dumps(document | changed)}{suffix}\n".encode()


def row_of(line, **options):
    [row], problems = read(line, **options)
    assert problems == []
    return row


def wanted(text):
    """A row by the plain way: json, and the fields where Kafka has them."""
    head, _, rest = text.partition("Completed request:")
    document, _ = json.JSONDecoder().raw_decode(rest)
    header, request = document["requestHeader"], document["request"]
    client = document["clientInformation"]
    groups = [group for group in request.get("groups") or [] if isinstance(group, dict)]
    transactions = request.get("transactions") or [{}]
    name = request.get("clientSoftwareName") or client["softwareName"]
    version = request.get("clientSoftwareVersion") or client["softwareVersion"]
    time = None
    if head.startswith("["):
        time = datetime.strptime(head[1:24], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
    return {
        "node_id": 3,
        "source": PATH,
        "timestamp": time,
        "api_key": header["requestApiKey"],
        "api": messages.REQUESTS[header["requestApiKey"]].removesuffix("Request"),
        "api_version": header["requestApiVersion"],
        "client_id": header["clientId"],
        "software_name": None if name == "unknown" else name,
        "software_version": None if version == "unknown" else version,
        "connection": document["connection"],
        "client_host": "127.0.0.1",
        "listener": document["listener"],
        "security_protocol": document["securityProtocol"],
        "principal": document["principal"],
        "is_forwarded": document["isForwarded"],
        "is_deprecated": header.get("requestApiVersionDeprecated"),
        "group_id": request.get("groupId") or next((group["groupId"] for group in groups), None),
        "transactional_id": request.get("transactionalId")
        or request.get("v3AndBelowTransactionalId")
        or transactions[0].get("transactionalId"),
        "error_code": document["response"].get("errorCode"),
        "total_time_ms": document["totalTimeMs"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_real_kafka_is_a_row_with_its_fields(name):
    data = sample(name)
    position, expected = 0, []
    for line in data.decode().splitlines(keepends=True):
        if "Completed request:" in line:
            expected.append(wanted(line) | {"position": position})
        position += len(line.encode())
    rows, problems = read(data)
    assert len(rows) > 90
    assert rows == expected
    assert problems == []


@pytest.mark.parametrize("name", NAMES)
def test_real_logs_tell_software_groups_transactions_and_forwarding(name):
    rows, _ = read(sample(name))
    assert {row["software_name"] for row in rows} == {"apache-kafka-java", "kafka-python", None}
    named = Counter(row["api"] for row in rows if row["software_name"])
    assert named["ApiVersions"] == sum(row["api"] == "ApiVersions" for row in rows)
    assert {row["is_forwarded"] for row in rows} == {True, False}
    assert {row["listener"] for row in rows} == {"CONTROLLER", "PLAINTEXT", "SCRAM"}
    assert {"OffsetFetch", "Heartbeat", "OffsetCommit"} <= {row["api"] for row in rows if row["group_id"]}
    assert {"InitProducerId", "EndTxn", "AddPartitionsToTxn"} <= {row["api"] for row in rows if row["transactional_id"]}
    deprecated = {(row["api"], row["api_version"]) for row in rows if row["is_deprecated"]}
    assert deprecated == ({("ListOffsets", 0), ("CreateTopics", 0)} if name.endswith("3.9.1") else set())
    assert {row["timestamp"] is None for row in rows} == {name.startswith("simple")}


@pytest.mark.slow
@given(st.integers(1, 200_000), st.integers(1, 200_000))
def test_ranges_and_chunks_of_any_size_give_the_rows_of_the_whole(split_bytes, chunk_bytes):
    data = sample("simple-3.9.1")
    ranges = split_text_file(place(data), split_bytes)
    assert [each.start for each in ranges] == [0, *(each.end for each in ranges[:-1])]
    assert all(each.end - each.start >= split_bytes for each in ranges[:-1])
    rows = [row for each in ranges for row in read(data, start=each.start, end=each.end, chunk_bytes=chunk_bytes)[0]]
    assert rows == read(data)[0]


def test_a_cut_last_line_is_left_for_later_and_told():
    data = kafka_line() + kafka_line()[:-1]
    [row], [problem] = read(data)
    end = len(kafka_line())
    assert row["position"] == 0
    assert (problem["kind"], problem["position"], problem["node_id"]) == ("torn tail", end, 3)
    assert problem["detail"] == f"{end - 1} bytes without the end of a line: they count once it is written"
    assert split_lines(place(data), 0, len(data)) == [(0, end)]
    assert split_text_file(place(data)) == [(0, len(data))]


def test_broken_lines_are_told_with_their_bytes_and_the_others_are_rows():
    broken = b'[2026-01-01 12:00:00,123] DEBUG Completed request:{"isForwarded":fal (kafka.request.logger)\n'
    data = kafka_line() + broken + kafka_line() + broken
    rows, problems = read(data)
    size = len(kafka_line())
    assert [row["position"] for row in rows] == [0, size + len(broken)]
    assert [(problem["kind"], problem["position"]) for problem in problems] == [
        ("bad line", size),
        ("bad line", 2 * size + len(broken)),
    ]
    assert all(problem["detail"].startswith("no request in this line: ") for problem in problems)


def test_of_very_many_broken_lines_the_first_are_told_and_the_others_counted(monkeypatch):
    monkeypatch.setattr(requests, "BAD_LINES_MAX", 3)
    _, problems = read(b"Completed request:oops\n" * 10)
    assert [(problem["position"], problem["count"]) for problem in problems] == [(0, 1), (23, 1), (46, 1), (None, 7)]
    assert problems[-1]["detail"] == "more lines like the 3 before"


def test_lines_of_other_loggers_are_skipped_and_counted():
    report = RequestReport()
    data = b"[2026-01-01] INFO Started (kafka.server)\n" * 3 + kafka_line()
    assert sum(rows.num_rows for rows in read_requests(iter_line_chunks(place(data).disk, PATH), ORIGIN, report)) == 1
    assert (report.requests, report.skipped) == (1, 3)
    assert report.problem_rows(ORIGIN) == []


def test_a_file_without_a_single_request_is_told():
    _, [problem] = read(b"hello\n" * 7)
    assert (problem["kind"], problem["count"]) == ("bad line", 7)
    assert problem["detail"] == "none of 7 lines is one of a request log"


def test_an_empty_file_has_neither_rows_nor_problems():
    assert read(b"") == ([], [])


@pytest.mark.parametrize(
    ("prefix", "time"),
    [
        ("[2026-01-01 12:00:00,123] DEBUG ", "2026-01-01T11:00:00.123+00:00"),
        ("2026-01-01T12:00:00.5 ", "2026-01-01T11:00:00.500+00:00"),
        ("2026-01-01T12:00:00Z DEBUG ", "2026-01-01T12:00:00+00:00"),
        ("2026-01-01 12:00:00,123456 +0530 ", "2026-01-01T06:30:00.123+00:00"),
        ("2026-01-01T12:00:00-05:00 ", "2026-01-01T17:00:00+00:00"),
        ("host-7 kafka: [2026-01-01 12:00:00,123] ", "2026-01-01T11:00:00.123+00:00"),
        ("[2026-13-01 12:00:00,123] ", None),
        ("12:00:00.123 [main] DEBUG ", None),
        ("", None),
    ],
)
def test_the_time_of_the_prefix_is_that_of_its_zone_or_of_the_one_given(prefix, time):
    row = row_of(kafka_line(prefix=prefix), zone=ZoneInfo("Europe/Berlin"))
    assert row["timestamp"] == (None if time is None else datetime.fromisoformat(time))


@pytest.mark.parametrize("suffix", ["", " (kafka.request.logger)", " {node=1} }", "\r", " trailing {text}"])
def test_what_stands_behind_the_object_does_not_matter(suffix):
    assert row_of(kafka_line(suffix=suffix))["api"] == "OffsetFetch"


@pytest.mark.parametrize(
    ("connection", "host"),
    [
        ("127.0.0.1:9092-10.0.0.7:50000-0", "10.0.0.7"),
        ("127.0.0.1:9092-10.0.0.7:50000-0-12", "10.0.0.7"),
        ("0:0:0:0:0:0:0:1:9092-fe80:0:0:0:1:2:3:4:50000-0-1", "fe80:0:0:0:1:2:3:4"),
        ("whatever", None),
    ],
)
def test_the_clients_address_is_that_of_its_connection(connection, host):
    row = row_of(kafka_line(connection=connection))
    assert (row["connection"], row["client_host"]) == (connection, host)


@pytest.mark.parametrize(
    ("request_json", "group", "transaction"),
    [
        ({"groupId": "g", "transactionalId": "t"}, "g", "t"),
        ({"groups": [{"groupId": "g", "memberId": None}, {"groupId": "h"}]}, "g", None),
        ({"groups": ["g", "h"]}, None, None),
        ({"groups": []}, None, None),
        ({"v3AndBelowTransactionalId": "t"}, None, "t"),
        ({"transactions": [{"transactionalId": "t"}]}, None, "t"),
        ({"groupId": "", "transactionalId": None}, None, None),
        ({"groupId": 7}, None, None),
        ([1, 2], None, None),
    ],
)
def test_group_and_transactional_id_are_those_of_the_request(request_json, group, transaction):
    row = row_of(kafka_line(request=request_json))
    assert (row["group_id"], row["transactional_id"]) == (group, transaction)


def test_an_api_that_no_release_has_keeps_the_name_of_its_line():
    header = {"requestApiKey": 2000, "requestApiVersion": 3, "requestApiKeyName": "NEW_THING", "clientId": None}
    row = row_of(kafka_line(requestHeader=header))
    assert (row["api_key"], row["api"], row["client_id"]) == (2000, "NEW_THING", None)


@pytest.mark.parametrize("node_id", [None, 3])
def test_falkirks_own_lines_bring_time_and_node(node_id):
    header = RequestHeader(
        request_api_key=18, request_api_version=3, correlation_id=1, client_id="c", request_api_key_name="API_VERSIONS"
    )
    line = RequestLine(
        timestamp=1_767_225_600_123,
        node_id=7,
        request_header=header,
        request=msgspec.Raw(b'{"clientSoftwareName":"falkirk","clientSoftwareVersion":"1"}'),
        response=msgspec.Raw(b'{"errorCode":35}'),
        connection="127.0.0.1:9092-10.0.0.7:50000-0",
        security_protocol="SSL",
        principal="User:alice",
        listener="CLIENTS",
    )
    row = row_of(write_request_line(line), origin=Origin(source=PATH, node_id=node_id))
    assert row == row_of(write_kafka_line(line), origin=Origin(source=PATH, node_id=node_id))
    assert row["node_id"] == (7 if node_id is None else node_id)
    assert row["timestamp"] == datetime(2026, 1, 1, 0, 0, 0, 123000, UTC)
    assert (row["software_name"], row["software_version"], row["error_code"]) == ("falkirk", "1", 35)
    assert (row["api"], row["principal"], row["client_host"]) == ("ApiVersions", "User:alice", "10.0.0.7")


def test_a_line_longer_than_a_chunk_is_read_and_one_without_end_is_not_gathered(monkeypatch):
    long = kafka_line(request={"topics": ["x" * 5000]})
    assert [row["position"] for row in read(kafka_line() + long, chunk_bytes=100)[0]] == [0, len(kafka_line())]
    monkeypatch.setattr(lines, "LINE_BYTES_MAX", 1000)
    monkeypatch.setattr(requests, "LINE_BYTES_MAX", 1000)
    _, problems = read(bytes(5000), chunk_bytes=100)
    assert {problem["kind"] for problem in problems} == {"bad line"}


@given(st.lists(st.one_of(st.binary(max_size=80), st.sampled_from([kafka_line(), kafka_line()[20:], b"{", b"\n"]))))
def test_any_bytes_give_rows_or_problems(parts):
    read(b"\n".join(parts))


@given(st.text(max_size=6), st.sampled_from(["clientId", "requestApiKey", "requestApiVersion"]), st.integers())
def test_any_value_of_a_field_gives_a_row_or_a_problem(text, key, number):
    header = {"requestApiKey": 1, "requestApiVersion": 1, "clientId": text} | {key: number}
    rows, problems = read(kafka_line(requestHeader=header))
    assert len(rows) + len(problems) == 1
    rows, problems = read(kafka_line(principal=text, totalTimeMs=number))
    assert len(rows) + len(problems) == 1


def test_a_lone_surrogate_is_a_bad_line():
    line = kafka_line(principal="x").replace(b'"x"', rb'"\ud800"')
    rows, [problem] = read(line)
    assert rows == []
    assert problem["kind"] == "bad line"
