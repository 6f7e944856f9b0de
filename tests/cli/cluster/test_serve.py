"""`falkirk serve` on a real directory: what it refuses, leaving all as it was, and one node from start to end."""

import fcntl
import json
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest
from request_lines import read_request_line

from falkirk.cli.application import main
from falkirk.pipeline.readers.lines import iter_line_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.protocol import codec
from falkirk.protocol.messages import ApiVersionsResponse
from falkirk.storage.posix_disk import PosixDisk

PROGRAM = Path(sys.executable).with_name("falkirk")
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
Capture = pytest.CaptureFixture[str]


def properties_file(folder: Path, **changed: str) -> Path:
    """server.properties of a lone controller on any free port, below `folder`."""
    properties = {
        "process.roles": "controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "CONTROLLER://127.0.0.1:0",
        "controller.quorum.voters": "1@127.0.0.1:9",
        "log.dirs": str(folder / "data"),
    }
    properties |= {name.replace("_", "."): value for name, value in changed.items()}
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    return file


def run(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.fixture
def formatted(tmp_path: Path, capsys: Capture) -> Path:
    """The server.properties of a node whose directory is formatted."""
    file = properties_file(tmp_path)
    (tmp_path / "data").mkdir()
    assert run("storage", "format", "--cluster-id", CLUSTER, "--config", file) == 0
    capsys.readouterr()
    return file


def tree(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(file: Path, capsys: Capture, *options: str) -> str:
    """What `serve` says when it does not start: one line, with status 1, and all files are as they were."""
    before = tree(file.parent)
    assert run("serve", file, *options) == 1
    assert tree(file.parent) == before
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line


def test_a_port_in_use_is_one_line(formatted: Path, capsys: Capture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused(formatted, capsys, "--override", f"listeners=CONTROLLER://127.0.0.1:{port}")
    assert line == f"Socket server failed to bind to 127.0.0.1:{port}: Address already in use."


def test_an_address_of_another_host_is_one_line(formatted: Path, capsys: Capture) -> None:
    line = refused(formatted, capsys, "--override", "listeners=CONTROLLER://192.0.2.1:9093")
    assert line.startswith("Socket server failed to bind to 192.0.2.1:9093: ")


def test_a_directory_that_is_not_formatted_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "data").mkdir()
    assert "meta.properties" in refused(properties_file(tmp_path), capsys)


def test_a_directory_that_is_not_there_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    assert "meta.properties" in refused(properties_file(tmp_path), capsys)


def test_a_directory_of_another_node_is_one_line(formatted: Path, capsys: Capture) -> None:
    options = ("--override", "node.id=2", "--override", "controller.quorum.voters=2@127.0.0.1:9")
    assert "Stored node id 1 doesn't match previous node id 2" in refused(formatted, capsys, *options)


def test_directories_of_two_clusters_are_one_line(formatted: Path, capsys: Capture) -> None:
    data = formatted.parent / "data"
    other = formatted.parent / "other"
    shutil.copytree(data, other)
    meta = other / "meta.properties"
    meta.write_text(meta.read_text().replace(CLUSTER, "BBBBBBBBBBBBBBBBBBBBAQ"))
    line = refused(formatted, capsys, "--override", f"log.dirs={data},{other}")
    assert "Invalid cluster.id in" in line


def test_a_level_that_the_release_does_not_know_is_one_line(formatted: Path, capsys: Capture) -> None:
    assert "metadata.version" in refused(formatted, capsys, "--release", "3.7")


def test_a_directory_that_another_process_has_locked_is_one_line(formatted: Path, capsys: Capture) -> None:
    lock = formatted.parent / "data" / ".lock"
    lock.touch()
    script = (
        "import fcntl,sys; f=open(sys.argv[1],'r+b'); fcntl.lockf(f,fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        line = refused(formatted, capsys)
        holder.stdin.close()
    assert line == (
        f"Failed to acquire lock on file .lock in {lock.parent}. A Kafka instance in another process or thread is "
        "using this directory."
    )


def test_values_that_are_wrong_are_named_with_their_file(tmp_path: Path, capsys: Capture) -> None:
    file = properties_file(tmp_path, num_partitions="none")
    said = f"{file}: Invalid value none for configuration num.partitions: Not a number of type INT"
    assert refused(file, capsys) == said


def test_what_is_not_served_yet_is_refused(tmp_path: Path, capsys: Capture) -> None:
    file = properties_file(tmp_path)
    for override, said in {
        "listener.security.protocol.map=CONTROLLER:SASL_SSL": "falkirk has no GSSAPI, only PLAIN, SCRAM-SHA-256",
        "listener.security.protocol.map=CONTROLLER:SSL": "listener CONTROLLER: SSL key store is not specified",
        "authorizer.class.name=com.example.Mine": "falkirk has no com.example.Mine",
        "create.topic.policy.class.name=a.Policy": "create.topic.policy.class.name: falkirk has no a.Policy",
        "alter.config.policy.class.name=a.Policy": "alter.config.policy.class.name: falkirk has no a.Policy",
        "client.quota.callback.class=a.Quota": "client.quota.callback.class: falkirk has no a.Quota",
        "config.providers=vault": f"{file}: config.providers: config.providers.vault.class is not set",
    }.items():
        assert said in refused(file, capsys, "--override", override)


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--release", "1.0"], 1, "unknown release '1.0'"),
        (["--release", "2.8"], 1, "only the API ranges of release 2.8.2 are in the tables"),
        (["--override", "node.id"], 2, "--override node.id: KEY=VALUE was expected"),
        (["--log-format", "xml"], 2, "--log-format"),
    ],
)
def test_a_wrong_command_line_says_what_is_wrong(
    options: list[str], status: int, said: str, tmp_path: Path, capsys: Capture
) -> None:
    assert run("serve", properties_file(tmp_path), *options) == status
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert run("serve", tmp_path / "none") == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: No such file or directory\n"


@pytest.fixture
def start(formatted: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts `falkirk serve --json`; no process outlives the test."""
    processes: list[subprocess.Popen[str]] = []

    def start(*options: str) -> "subprocess.Popen[str]":
        command = [str(PROGRAM), "serve", str(formatted), "--json", *options]
        processes.append(
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def api_versions(port: int, version: int) -> ApiVersionsResponse:
    """Ask as an old client does; a version that nobody knows gets an answer of version 0."""
    header = struct.pack(">hhih4s", 18, version, 7, 4, b"test")
    if version >= 3:
        header += b"\0"  # no tagged fields
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(struct.pack(">i", len(header)) + header)
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            body = stream.read(size)
    assert body[:4] == struct.pack(">i", 7)
    return codec.decode(ApiVersionsResponse, 0, body[4:])


@pytest.mark.slow
def test_a_node_serves_until_it_is_asked_to_stop(
    formatted: Path, start: Callable[..., "subprocess.Popen[str]"], tmp_path: Path, capsys: Capture
) -> None:
    requests = tmp_path / "requests.log"
    node = start(
        *("--request-log", str(requests), "--override", "unknown.key=1"),
        *("--override", "falkirk.metrics.listener=127.0.0.1:0"),
    )
    assert node.stdout is not None
    document = json.loads(node.stdout.readline())
    assert document["node_id"] == 1
    (listener,) = document["listeners"]
    assert (listener["name"], listener["host"]) == ("CONTROLLER", "127.0.0.1")

    assert api_versions(listener["port"], 0).error_code == 0
    with urlopen(f"http://{document['metrics_listener']}/metrics") as answer:
        told = answer.read().decode()
    assert 'falkirk_api_requests_total{api="ApiVersions",clientSoftwareName="unknown"' in told
    assert "kafka_server_metadataloader_currentmetadataversion " in told
    assert api_versions(listener["port"], 99).error_code == 35
    # Its directory is its own, also for other programs of ours.
    options = ("--override", "listeners=CONTROLLER://127.0.0.1:0")
    assert "Failed to acquire lock on file .lock" in locked(formatted, capsys, *options)

    node.send_signal(signal.SIGTERM)
    out, err = node.communicate(timeout=60)
    assert node.returncode == 0
    assert out == ""
    told = [json.loads(line) for line in err.splitlines()]
    events = [line["event"] for line in told]
    assert events[0] == "These configurations '[unknown.key]' were supplied but are not used yet."
    assert "[KafkaRaftServer nodeId=1] Kafka Server started" in events
    assert events[-1] == "[KafkaRaftServer nodeId=1] shut down completed"
    assert {line["level"] for line in told} == {"info", "warning"}

    lines = [read_request_line(line) for line in requests.read_bytes().splitlines()]
    # The node itself is among those that ask it.
    logged = [line for line in lines if line.request_header.client_id == "test"]
    assert [(line.request_header.request_api_key_name, line.request_header.request_api_version) for line in logged] == [
        ("API_VERSIONS", 0),
        ("API_VERSIONS", 99),
    ]
    assert json.loads(bytes(logged[1].response))["errorCode"] == 35
    assert {line.listener for line in logged} == {"CONTROLLER"}
    # So does `falkirk fleet`.
    report = RequestReport()
    batches = list(read_requests(iter_line_chunks(PosixDisk(), str(requests)), Origin(source="log"), report))
    rows = [row for batch in batches for row in batch.to_pylist() if row["client_id"] == "test"]
    assert [
        (row["node_id"], row["api"], row["api_version"], row["client_host"], row["error_code"]) for row in rows
    ] == [
        (1, "ApiVersions", 0, "127.0.0.1", 0),
        (1, "ApiVersions", 99, "127.0.0.1", 35),
    ]
    assert (len(lines), report.bad_lines) == (report.requests, [])

    # It can come again, and a lock that nobody holds is no obstacle.
    again = start()
    assert again.stdout is not None
    assert json.loads(again.stdout.readline())["node_id"] == 1
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=60)
    assert again.returncode == 0


def locked(file: Path, capsys: Capture, *options: str) -> str:
    """What another process is told of a directory that a node has; record locks are between processes."""
    ended = subprocess.run([PROGRAM, "serve", file, *options], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    return ended.stderr


def test_the_lock_is_one_that_java_sees(tmp_path: Path) -> None:
    from falkirk.server.log_dir_locks import LogDirLocks

    locks = LogDirLocks()
    locks.acquire([str(tmp_path)])
    # A POSIX record lock, as FileChannel.lock takes: F_GETLK of another process tells it.
    script = (
        "import fcntl,struct,sys,os; f=open(sys.argv[1],'r+b');"
        "q=struct.pack('hhqqi4x',fcntl.F_WRLCK,0,0,0,0);"
        "print(struct.unpack('hhqqi4x',fcntl.fcntl(f,fcntl.F_GETLK,q))[0]==fcntl.F_WRLCK)"
    )
    asked = subprocess.run(
        [sys.executable, "-c", script, tmp_path / ".lock"], capture_output=True, text=True, check=True
    )
    assert asked.stdout == "True\n"
    locks.release()
    with (tmp_path / ".lock").open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
