"""Runs falkirk in this process, as a shell would see it."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from falkirk.cli import main


@dataclass(frozen=True)
class Answer:
    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def falkirk(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def run(*words: str) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main(words)
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(int(ended.value.code), printed.out, printed.err)

    return run
