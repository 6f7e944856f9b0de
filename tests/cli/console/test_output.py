"""Results become text or one JSON document."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from rich.table import Table

from falkirk.cli.console.output import choose_output


@dataclass(frozen=True)
class Found:
    name: str
    count: int

    def text(self) -> Iterator[str | Table]:
        yield f"{self.name}: {self.count} [bold]as it is[/bold]"
        table = Table("name", "count")
        table.add_row(self.name, str(self.count))
        yield table

    def document(self) -> object:
        return {"found": [self], "bytes": b"\x00\x01"}


def test_text_is_printed_as_it_is_and_tables_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    choose_output(json=False).show(Found("topics", 3))
    first, *table = capsys.readouterr().out.splitlines()
    assert first == "topics: 3 [bold]as it is[/bold]"
    assert any("topics" in line and "3" in line for line in table)


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
