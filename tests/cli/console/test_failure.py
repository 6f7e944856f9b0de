"""Expected errors become one message and an exit code; others stay bugs."""

from pathlib import Path

import pytest

from falkirk.cli.console.exit_code import ExitCode
from falkirk.cli.console.failure import CommandFailedError, DataWouldBeLostError, WrongUsageError, explain
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.versions.errors import UnknownReleaseError


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CommandFailedError("no space"), ExitCode.FAILED, "no space"),
        (WrongUsageError("two targets"), ExitCode.WRONG_USAGE, "two targets"),
        (DataWouldBeLostError("3 users"), ExitCode.DATA_WOULD_BE_LOST, "3 users"),
        (UnknownReleaseError("unknown release '5'"), ExitCode.FAILED, "unknown release '5'"),
        (RemoteProtocolError("ends early", offset=7), ExitCode.FAILED, "ends early (byte 7)"),
        (OSError("strange"), ExitCode.FAILED, "strange"),
        (OSError(28, "No space left on device"), ExitCode.FAILED, "No space left on device"),
    ],
)
def test_an_expected_error_is_a_message_and_an_exit_code(error: Exception, code: ExitCode, message: str) -> None:
    assert explain(error) == (code, message)


def test_a_file_that_cannot_be_opened_is_named_first(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        (tmp_path / "none").read_bytes()
    assert explain(missing.value) == (ExitCode.FAILED, f"{tmp_path}/none: No such file or directory")


@pytest.mark.parametrize("error", [ValueError("x"), AssertionError("x"), KeyError("x"), TypeError("x")])
def test_a_bug_of_ours_is_not_explained_away(error: Exception) -> None:
    assert explain(error) is None


def test_exit_codes_are_the_contract() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "FAILED": 1,
        "WRONG_USAGE": 2,
        "DATA_WOULD_BE_LOST": 3,
        "LOST_PROGRESS": 4,
        "CRASHED": 5,
    }
