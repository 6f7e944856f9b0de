"""Runs falkirk in this process and returns what a shell would see."""

from typing import NamedTuple

import pytest

from falkirk.cli import main


class Answer(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str


def run_falkirk(capsys: pytest.CaptureFixture[str], *words: object) -> Answer:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    printed = capsys.readouterr()
    assert isinstance(ended.value.code, int | None)
    return Answer(ended.value.code or 0, printed.out, printed.err)
