import io
import json
import re

import pytest

from falkirk.node.effects import Fact
from falkirk.protocol.endpoint import Endpoint
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel

FACT = Fact("info", "raft state", {"leader": 3, "endpoint": Endpoint("c1", 9093), "why": "", "data": b"\x00"})
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def lines(log_format: LogFormat, level: LogLevel, *facts: Fact) -> list[str]:
    stream = io.StringIO()
    log = FactLog(stream, log_format, level)
    for fact in facts:
        log.write(fact)
    return stream.getvalue().splitlines()


def test_a_line_of_text_has_time_level_event_and_fields() -> None:
    (line,) = lines(LogFormat.TEXT, LogLevel.INFO, FACT)
    assert re.fullmatch(TIME + r" INFO    raft state leader=3 endpoint=c1:9093 why=\"\" data=b'\\x00'", line)


def test_a_line_of_json_is_an_object() -> None:
    (line,) = lines(LogFormat.JSON, LogLevel.INFO, FACT)
    document = json.loads(line)
    assert re.fullmatch(TIME, document.pop("timestamp"))
    assert document == {
        "level": "info",
        "event": "raft state",
        "leader": 3,
        "endpoint": ["c1", 9093],
        "why": "",
        "data": "AA==",
    }


def test_a_field_never_takes_the_place_of_time_level_or_event() -> None:
    (line,) = lines(LogFormat.JSON, LogLevel.INFO, Fact("warning", "it", {"event": "other", "level": "x"}))
    document = json.loads(line)
    assert (document["event"], document["level"]) == ("it", "warning")


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_what_is_below_the_level_is_not_logged(level: str, count: int) -> None:
    facts = [Fact(name, "event") for name in ("debug", "info", "warning", "error")]
    assert len(lines(LogFormat.TEXT, LogLevel(level), *facts)) == count


def test_a_value_cannot_break_the_line() -> None:
    (line,) = lines(LogFormat.TEXT, LogLevel.INFO, Fact("info", "event", {"why": "a\nb c=d"}))
    assert line.endswith('event why="a\\nb c=d"')


def test_control_characters_never_reach_the_terminal_of_whoever_reads_the_log() -> None:
    (line,) = lines(LogFormat.TEXT, LogLevel.INFO, Fact("info", "event", {"group": "a\x1b[2J\x9b\u202e"}))
    assert line.endswith(r'event group="a\u001b[2J\u009b\u202e"')
    (line,) = lines(LogFormat.JSON, LogLevel.INFO, Fact("info", "event", {"group": "a\x1b[2J\x9b\u202e"}))
    assert r'"group":"a\u001b[2J\u009b\u202e"' in line


def test_an_unexpected_error_has_its_traceback() -> None:
    stream = io.StringIO()
    with pytest.raises(ValueError, match="because") as raised:
        int("because")
    FactLog(stream, LogFormat.TEXT, LogLevel.INFO).write_bug(raised.value)
    text = stream.getvalue()
    assert "ERROR   an error that falkirk did not expect" in text.splitlines()[0]
    assert "ValueError: invalid literal" in text


class Gone(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_that_nobody_reads_is_no_error() -> None:
    FactLog(Gone(), LogFormat.TEXT, LogLevel.INFO).write(FACT)
