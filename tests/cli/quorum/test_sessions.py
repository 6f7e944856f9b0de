"""`falkirk quorum` and `falkirk brokers` against nodes of `falkirk serve`, as a golden session."""

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from falkirk_command import Answer, run_falkirk
from running_cluster import TIMEOUT_S, serving

from falkirk.storage.meta_properties import parse_meta_properties
from falkirk.storage.properties_file import format_property

pytestmark = pytest.mark.slow
DATA = Path(__file__).parent / "data"
Capture = pytest.CaptureFixture[str]


class Session:
    """Controller 1, the only voter; controller 9, which is there for a lift; broker 101. `lines`: what was printed."""

    def __init__(self, home: Path, capsys: Capture) -> None:
        self.home = home
        self.capsys = capsys
        self.lines: list[str] = []
        self.names: dict[str, str] = {str(home): "HOME"}
        self.ports = dict(zip((1, 9, 101), free_ports(3), strict=True))
        for node_id, port in self.ports.items():
            self.names[f"127.0.0.1:{port}"] = f"node{node_id}:9092"

    def format(self, node_id: int, **properties: str) -> Path:
        home = self.home / f"node-{node_id}"
        home.mkdir()
        has_broker = properties.get("process.roles", "controller") == "broker"
        named = {
            "process.roles": "controller",
            "node.id": str(node_id),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{'PLAINTEXT' if has_broker else 'CONTROLLER'}://127.0.0.1:{self.ports[node_id]}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.ports[1]}",
            "log.dirs": str(home / "data"),
            **properties,
        }
        file = home / "server.properties"
        file.write_bytes(b"".join(format_property(*each) for each in named.items()))
        form = () if has_broker else ("--standalone",) if node_id == 1 else ("--no-initial-controllers",)
        words = ("storage", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", *form, "--config", file)
        assert run_falkirk(self.capsys, *words).exit_code == 0
        meta = parse_meta_properties((home / "data" / "meta.properties").read_bytes())
        assert meta.directory_id is not None
        self.names[re.search(r"directory.id=(\S+)", (home / "data" / "meta.properties").read_text()).group(1)] = (
            f"DIRECTORY-OF-NODE-{node_id:03}"
        )
        return file

    def ask(self, *words: object) -> Answer:
        answer = run_falkirk(self.capsys, *words)
        return Answer(answer.exit_code, self._told(answer.stdout), self._told(answer.stderr))

    def show(self, *words: object) -> None:
        """Run a command, and add it with what it printed."""
        answer = self.ask(*words)
        self.lines.append(self._told(f"$ falkirk {' '.join(map(str, words))}"))
        self.lines += answer.stdout.splitlines() + [f"stderr: {line}" for line in answer.stderr.splitlines()]
        self.lines += [f"-> {answer.exit_code}", ""]

    def await_that(self, holds: Callable[[dict], bool], *words: object) -> None:
        """Ask for the quorum until something holds."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = run_falkirk(self.capsys, "quorum", "describe", "--json", *words)
            if answer.exit_code == 0 and holds(json.loads(answer.stdout)):
                return
            assert time.monotonic() < deadline, answer

    def _told(self, text: str) -> str:
        for found, name in self.names.items():
            text = text.replace(found, name)
        # Times and offsets are those of the moment.
        text = re.sub(r"\b\d{13}\b", "<time>       ", text)
        text = re.sub(r"(?m)^((?:HighWatermark|MaxFollowerLag(?:TimeMs)?): +)-?\d+$", r"\1<number>", text)
        return re.sub(r"(?m)^(\d+ *\t\S+\t)\d+( *\t)\d+( *\t)", r"\1<end>\2<lag>\3", text)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [probe.getsockname()[1] for probe in probes]


@pytest.fixture
def session(tmp_path: Path, capsys: Capture) -> Iterator[Session]:
    made = Session(tmp_path, capsys)
    kinds = {1: {}, 9: {"falkirk.lift": "true"}, 101: {"process.roles": "broker"}}
    with ExitStack() as stack:
        for node_id, properties in kinds.items():
            stack.enter_context(serving(made.format(node_id, **properties)))
        yield made


def test_voters_are_described_added_and_removed(session: Session, update_golden: bool) -> None:
    broker = ("--bootstrap-server", f"127.0.0.1:{session.ports[101]}")
    controllers = {each: ("--bootstrap-controller", f"127.0.0.1:{session.ports[each]}") for each in (1, 9)}
    session.await_that(lambda quorum: {each["node_id"] for each in quorum["observers"]} == {9, 101}, *broker)
    session.show("quorum", *broker, "describe", "--status")
    session.show("quorum", "describe", "--replication", *controllers[1])
    session.show("quorum", "upgrade", "--dry-run", *broker)
    file = session.home / "node-9" / "server.properties"
    session.show("quorum", *broker, "--command-config", file, "add-controller", "--dry-run")
    named = ("--controller-id", 9, "--controller-endpoint", f"CONTROLLER://127.0.0.1:{session.ports[9]}")
    session.show("quorum", "add", *broker, *named)
    session.show("quorum", "add", *broker, *named, "--controller-directory-id", "AAAAAAAAAAAAAAAAAAAAAw")
    session.show("quorum", "describe", "--status", *controllers[1])
    session.show("quorum", "remove", "--controller-id", 77, *broker)
    session.show("quorum", "remove-controller", "--controller-id", 1, *broker)
    # A controller of a lift is registered nowhere, and found as it is the one that describes the quorum.
    session.await_that(lambda quorum: quorum["leader_id"] == 9, *controllers[9])
    session.await_that(lambda quorum: {each["node_id"] for each in quorum["observers"]} == {1, 101}, *controllers[9])
    session.show("quorum", "describe", "--status", *controllers[9])
    session.show("quorum", "unregister", "--id", 77, *broker)
    session.show("brokers", "unregister", "--id", 77, *broker)
    session.show("brokers", "unregister", "--id", 101, *broker)
    golden = DATA / "session.txt"
    if update_golden:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text("\n".join(session.lines))
    assert "\n".join(session.lines) == golden.read_text()
