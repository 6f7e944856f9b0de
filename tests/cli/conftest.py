"""Commands in this process."""

from collections.abc import Callable
from functools import partial

import pytest
from falkirk_command import Answer, run_falkirk


@pytest.fixture
def falkirk(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    return partial(run_falkirk, capsys)
