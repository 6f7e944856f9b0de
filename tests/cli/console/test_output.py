"""Results become text or one JSON document."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from falkirk.cli.console.output import choose_output


@dataclass(frozen=True)
class Found:
    name: str
    count: int

    def text(self) -> Iterator[str]:
        yield f"{self.name}: {self.count} [bold]as it is[/bold]"

    def document(self) -> object:
        return {"found": [self], "bytes": b"\x00\x01"}


def test_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    choose_output(json=False).show(Found("top\x1b[2Jics", 3))
    assert capsys.readouterr().out == "top\x1b[2Jics: 3 [bold]as it is[/bold]\n"


def test_control_characters_are_escaped_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    choose_output(json=False).show(Found("a\x1b]0;\x07\x9b\r\u202e\ud800 \tb\u00e9", 3))
    assert capsys.readouterr().out == "a\\x1b]0;\\x07\\x9b\\x0d\\u202e\\ud800 \tb\u00e9: 3 [bold]as it is[/bold]\n"


def test_a_document_holds_the_fields_of_dataclasses(capsys: pytest.CaptureFixture[str]) -> None:
    choose_output(json=True).show(Found("topics", 3))
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"found": [{"name": "topics", "count": 3}], "bytes": "AAE="}
    assert printed.count("\n") > 1, "people read it too"


def test_before_a_failure_only_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    choose_output(json=True).show_before_failure(Found("topics", 3))
    assert capsys.readouterr().out == ""
    choose_output(json=False).show_before_failure(Found("topics", 3))
    assert capsys.readouterr().out.startswith("topics: 3")


def test_a_document_controls_no_terminal_and_stays_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a\x1b]0;\x9b\u202e\U000e0001b\u00e9"
    choose_output(json=True).show(Found(name, 3))
    printed = capsys.readouterr().out
    assert json.loads(printed)["found"] == [{"name": name, "count": 3}]
    assert printed.replace("\n", "").isprintable()
    assert "b\u00e9" in printed
