"""The fuzzer: a short run that always passes, long ones, and that it fails where a node does what it must not do."""

from __future__ import annotations

import ssl
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING

import pytest

import fuzz

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.mark.slow
def test_a_node_survives_random_requests(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--seed", "1", "--requests", "400"]) == 0
    assert "answered" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 8))
def test_a_node_survives_an_hour_of_random_requests(seed: int) -> None:
    assert fuzz.main(["--seed", str(seed), "--seconds", "600"]) == 0


def test_a_seed_chooses_the_same_requests_again() -> None:
    def requests() -> list[object]:
        random = Random(9)
        return [fuzz.random_request(random, random.choice(fuzz.PLACES)) for _ in range(50)]

    assert requests() == requests()


def test_all_apis_of_both_kinds_of_listeners_are_sent_in_many_versions() -> None:
    random = Random(3)
    for place in (fuzz.PLACES[4], fuzz.PLACES[8]):
        sent = {
            (type(message), version) for message, version in (fuzz.random_request(random, place) for _ in range(4000))
        }
        offered = fuzz.Release.parse(fuzz.RELEASE).api_ranges(place.role)
        assert len({kind for kind, _ in sent}) == len(offered)
        assert len(sent) > 0.9 * sum(versions.highest - versions.lowest + 1 for versions in offered.values())


@pytest.mark.parametrize("size", [0, 1, 4, 5, 100])
def test_any_frame_can_be_changed(size: int) -> None:
    random = Random(size)
    frames = {fuzz.changed(random, bytes(size)) for _ in range(200)}
    assert len(frames) > 20


class FakeNode(fuzz.Node):
    """A node whose memory and log a test chooses, and on whose ports nobody listens."""

    used = 100

    def memory(self) -> int:
        return self.used


@pytest.fixture
def node(tmp_path: Path) -> Iterator[FakeNode]:
    (tmp_path / "node.log").write_text('{"level":"info","event":"node-starts"}\n')
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        yield FakeNode(tmp_path, process, {place.listener: 1 for place in fuzz.PLACES}, ssl.create_default_context())


@pytest.mark.parametrize("line", ['{"level":"error","event":"handler-failed"}', "Traceback (most recent call last):"])
def test_what_a_node_logs_as_an_error_fails_the_run(node: FakeNode, tmp_path: Path, line: str) -> None:
    assert node.errors() == []
    with (tmp_path / "node.log").open("a") as log:
        log.write(f"{line}\n")
    with pytest.raises(fuzz.ViolationError, match="1 errors"):
        fuzz.Run(node, Random(1)).go_on(seconds=None, requests=0)


def test_a_node_that_does_not_answer_fails_the_run(node: FakeNode) -> None:
    with pytest.raises(fuzz.ViolationError, match="does not answer on PLAIN"):
        fuzz.Run(node, Random(1)).go_on(seconds=None, requests=0)


def test_memory_that_grows_fails_the_run(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "PLACES", ())
    run = fuzz.Run(node, Random(1))
    run.go_on(seconds=None, requests=0)
    node.used += fuzz.MEMORY_GROWTH_MAX + 1
    with pytest.raises(fuzz.ViolationError, match="grew by 200 MiB"):
        run.go_on(seconds=None, requests=0)
