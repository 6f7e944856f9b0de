"""The hooks of a lift for the nodes of a test: each command asks this process to stop or start a node."""

import shlex
import socketserver
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from falkirk_node import FalkirkNode
from kafka_cluster import KafkaCluster
from kafka_node import KafkaNode
from mixed_cluster import BOOTSTRAP

_PROGRAM = Path(__file__).with_name("node_hook.py")
IN_PLACE = ("stop", "start", "start_falkirk", "stop_falkirk")


class NodeHooks:
    """Serves hooks for a cluster while its block runs. `older`: the release that `roll` starts."""

    def __init__(self, cluster: KafkaCluster, *, older: str = "3.9.1") -> None:
        self._cluster = cluster
        self._older = older
        self.done: list[tuple[str, int]] = []
        hooks = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                hook, node_id = self.rfile.readline().decode().split()
                self.wfile.write(hooks.run(hook, int(node_id)).encode())

        # One thread for all: a node ends with the thread that has started it.
        self._server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def commands(self, *names: str) -> Mapping[str, str]:
        """The `hooks` of a lift file."""
        port = self._server.server_address[1]
        return {name: shlex.join([sys.executable, str(_PROGRAM), str(port), name]) for name in names}

    def run(self, hook: str, node_id: int) -> str:
        """Run a hook; returns what went wrong, empty if nothing did."""
        try:
            self._run(hook, node_id)
        except Exception as error:  # noqa: BLE001 - the hook reports it
            return str(error)
        self.done.append((hook, node_id))
        return ""

    def _run(self, hook: str, node_id: int) -> None:
        node = self._cluster.nodes[node_id]
        is_ours = isinstance(node, FalkirkNode)
        match hook:
            case "stop" if not is_ours:
                node.stop()
            case "stop_falkirk" if is_ours:
                node.stop()
            case "start":
                self._start(node_id, KafkaNode, node.release)
            case "start_falkirk":
                self._start(node_id, FalkirkNode, node.release)
            case "roll":
                node.run_as(self._older, without=[BOOTSTRAP])

    def _start(self, node_id: int, kind: type[KafkaNode], release: str) -> None:
        """Start a node as real Kafka or as falkirk, unless it runs so."""
        node = self._cluster.nodes[node_id]
        if type(node) is not kind:
            assert node.pid is None, f"{node} still runs"
            settings = {**node.settings, "falkirk.lift": "true"}
            if kind is KafkaNode:
                del settings["falkirk.lift"]
            home = node.home.with_name(f"{node.home.name}-{len(self.done)}")
            node = kind(release, node.layout, node.quorum, home=home, settings=settings)
            self._cluster.nodes[node_id] = node
        if node.pid is None:
            node.start()
            node.wait_started()
