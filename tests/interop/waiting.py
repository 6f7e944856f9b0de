"""Polling: brokers learn of changes a moment later."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 60


def becomes(ask: Callable[[], T], wanted: T, *, refusals: tuple[type[Exception], ...] = ()) -> None:
    """Call until the result is `wanted`; any of `refusals` counts as another result. Raises AssertionError."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            found: T | Exception = ask()
        except refusals as error:
            found = error
        if found == wanted:
            return
        assert time.monotonic() < deadline, f"within {PATIENCE_S} s {found} has not become {wanted}"
        time.sleep(0.05)


def await_at_once(condition: Callable[[], bool]) -> None:
    """Poll without delay until a condition holds. Raises AssertionError."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s"
        time.sleep(0.0005)
