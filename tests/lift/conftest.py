"""Fixtures of the tests of a lift."""

import pytest


@pytest.fixture
def polls_at_once(monkeypatch):
    """A state of the fakes is there at once, or never."""
    monkeypatch.setattr("falkirk.lift.engine.POLL_S", 0.001)
    monkeypatch.setattr("falkirk.lift.lifted_cluster.POLL_S", 0.001)
    monkeypatch.setattr("falkirk.lift.in_place._ELECTION_S", 0.0)
