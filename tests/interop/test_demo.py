"""The demo runs to its end, and leaves no process behind, however it ends."""

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from waiting import becomes

SCRIPT = Path(__file__).parents[2] / "demo" / "run.py"
# Whatever the demo starts inherits it.
MARK = "DEMO_OF_TEST"


class Demo:
    """A demo in a session of its own."""

    def __init__(self) -> None:
        self._mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {MARK: self._mark},
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.lines = self.process.stdout

    def processes(self) -> set[int]:
        """The demo's process and all that it has started."""
        wanted = f"{MARK}={self._mark}".encode()
        return {int(home.name) for home in Path("/proc").glob("[0-9]*") if wanted in environment(home)}


def environment(home: Path) -> list[bytes]:
    try:
        return (home / "environ").read_bytes().split(b"\0")
    except OSError:  # somebody else's, or gone
        return []


@pytest.fixture
def demo() -> Iterator[Demo]:
    demo = Demo()
    yield demo
    for pid in demo.processes():
        os.kill(pid, signal.SIGKILL)
    demo.process.wait()
    demo.lines.close()


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_goes_to_39_under_clients_and_no_acked_record_is_lost(demo: Demo) -> None:
    text = demo.lines.read()
    assert demo.process.wait() == 0, text[-3000:]

    story = " ".join(text.split())
    assert "group shop (consumer, consumer): 400 orders, committed 0:100 1:100 2:100 3:100" in story
    assert "Refusing to perform the requested downgrade" in story
    assert "group shop (classic, classic): 400 orders, committed 0:100 1:100 2:100 3:100" in story
    assert "shop Classic Stable" in story
    assert "its offsets are the same." in story
    loss = "its cordoned log directories are forgotten"
    assert f"It would lose: broker 1: {loss}" in story
    assert "6 out of 6 operation(s) failed. (exit status 3)" in story
    assert "Every node has" in story
    assert "SupportedMaxVersion: 3.9-IV0 FinalizedVersionLevel: 3.9-IV0" in story
    assert "acked records are there, each of them once." in story
    assert "All 560 orders are committed, as the consumers were told; none of these came twice." in story
    reported = story.partition("gone what the ledger told beforehand:")[2]
    assert [f"broker {number}: {loss}" in reported for number in (1, 2, 3)] == [True, True, True]
    assert "All is well." in story
    assert "metadata.version 3.9-IV0 -> 4.3-IV0, done" in story
    assert "2 clusters, 2 of them changed" in story
    assert "To 3.9-IV0 (Kafka 3.9), of 2 clusters: 1 can go and lose nothing" in story
    assert (SCRIPT.parents[1] / "demo-out" / "fleet-report" / "report.html").is_file()
    _, _, lifted = story.partition("Three nodes of real Kafka 4.3.1")
    assert "Nothing is in the way, and nothing would be lost." in lifted
    assert "level-lowered: 0 losses" in lifted
    assert lifted.count("Kafka 3.9 can start.") == 3
    assert "acked records are there, each of them once." in lifted
    assert "says: the way to 3.9 is open." in story
    assert f"The watch: orders: the way to 3.9 is closed: broker 1: {loss}" in story
    _, _, end = lifted.partition("What the watch has seen")
    assert "The page is at http://127.0.0.1:" in end
    if shutil.which("chromium"):
        pictures = [SCRIPT.parents[1] / "demo-out" / f"watch-{name}.png" for name in ("board", "orders", "kafka")]
        assert [picture.read_bytes()[:4] for picture in pictures] == [b"\x89PNG"] * 3
    becomes(demo.processes, set())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "send"),
    [
        pytest.param(signal.SIGINT, os.killpg, id="ctrl-c"),
        pytest.param(signal.SIGTERM, os.kill, id="sigterm", marks=pytest.mark.full),
    ],
)
def test_an_interrupted_demo_leaves_no_process_behind(
    demo: Demo, number: signal.Signals, send: Callable[[int, int], None]
) -> None:
    seen = next((line for line in demo.lines if line.startswith("  clients: ")), "")
    assert seen, "the clients did not get to work"
    assert len(demo.processes()) == 4

    send(demo.process.pid, number)

    text = demo.lines.read()
    assert demo.process.wait() == 128 + number, text[-3000:]
    assert demo.processes() == set()


@pytest.mark.parametrize(
    ("part", "step", "message"),
    [
        ("run", "fleet", "LEFT OUT: no tables and no report. Spark needs Java 17 or newer"),
        ("real_kafka", "start", "LEFT OUT: no real Kafka here. `java` is not on the PATH"),
    ],
)
def test_what_needs_java_is_left_out_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], part: str, step: str, message: str
) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    run, stage = import_module("run"), import_module("stage")

    with TemporaryDirectory() as folder, ExitStack() as stack:
        steps = [stage.Step("one", getattr(import_module(part), step)), stage.Step("two", pytest.fail)]
        run.Clock(2).play(steps, stage.Stage(Path(folder), stack))

    assert message in " ".join(capsys.readouterr().out.split())
