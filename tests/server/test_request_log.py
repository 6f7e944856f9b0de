from pathlib import Path

import msgspec
import pytest
from request_lines import read_request_line

from falkirk.node.connections.request_facts import REQUEST_ANSWERED
from falkirk.node.effects import Fact
from falkirk.server.request_log import RequestLog
from falkirk.storage.request_line import RequestHeader, RequestLine

LINE = RequestLine(
    timestamp=1,
    node_id=1,
    request_header=RequestHeader(
        request_api_key=18, request_api_version=0, correlation_id=7, client_id=None, request_api_key_name="API_VERSIONS"
    ),
    request=msgspec.Raw(b"{}"),
    response=msgspec.Raw(b"{}"),
    connection="a:1-b:0-2",
    security_protocol="PLAINTEXT",
    principal="User:ANONYMOUS",
    listener="CONTROLLER",
)
FACT = Fact("debug", REQUEST_ANSWERED, {"line": LINE})


def test_lines_are_written_when_the_step_is_over(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "log")
    assert log.add(FACT)
    assert log.add(FACT)
    assert (tmp_path / "log").read_bytes() == b""
    log.flush()
    log.flush()
    log.close()
    assert [read_request_line(line) for line in (tmp_path / "log").read_bytes().splitlines()] == [LINE, LINE]


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"before\n")
    log = RequestLog(tmp_path / "log")
    log.add(FACT)
    log.flush()
    log.close()
    assert (tmp_path / "log").read_bytes().startswith(b"before\n{")


def test_other_facts_are_none_of_its(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "log")
    assert not log.add(Fact("info", "raft-state"))
    log.flush()
    log.close()
    assert (tmp_path / "log").read_bytes() == b""


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RequestLog(tmp_path / "no" / "log")
