"""The output of `falkirk cluster up`: how to connect on stdout, events on stderr."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from falkirk.cli.console.terminal import print_json, print_text
from falkirk.server.cluster_layout import HOST
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from rich.status import Status

    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.node.effects import Stop
    from falkirk.server.cluster_layout import ClusterLayout


class Spectator:
    """Prints the events of a cluster. A context manager: its exit ends the status line on the terminal."""

    def __init__(self, connecting: Callable[[FeatureMetadata], ConnectionInfo], *, json: bool) -> None:
        self._connecting = connecting
        self._json = json
        self._status: Status | None = None

    def __enter__(self) -> Self:
        self._show_status("starting")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()

    def brokers_joined(self, count: int, total: int) -> None:
        """Update the status line."""
        if self._status is not None:
            self._status.update(f"{count} of {total} brokers serve")

    def ready(self, features: FeatureMetadata) -> None:
        """Print how to connect."""
        self._end_status()
        connecting = self._connecting(features)
        if self._json:
            print_json(connecting.document(), indented=False)
        else:
            print_text("\n".join(connecting.text()))
            sys.stdout.flush()

    def node_ended(self, node_id: int, stop: Stop) -> None:
        """Print the node and the reason."""
        print_text(f"node {node_id} has ended: {stop.reason or 'without a request'}", sys.stderr)

    def stopping(self) -> None:
        """Show the status line again."""
        self._show_status("stopping")

    def _show_status(self, text: str) -> None:
        self._end_status()
        if not sys.stderr.isatty():
            return
        from rich.console import Console  # noqa: PLC0415 - only where somebody watches

        self._status = Console(stderr=True).status(text)
        self._status.start()

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


class ConnectionInfo(Protocol):
    """How to connect to a cluster, as lines and as a document."""

    def text(self) -> Iterable[str]:
        """Return lines for people."""
        ...

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same as one document."""
        ...


@dataclass(frozen=True, slots=True)
class KraftConnectionInfo:
    """How to connect to a KRaft cluster. `metadata_version`: None if none is finalized."""

    layout: ClusterLayout
    metadata_version: str | None
    data: str
    is_temporary: bool

    @classmethod
    def of(
        cls, layout: ClusterLayout, features: FeatureMetadata, *, data: str, is_temporary: bool
    ) -> KraftConnectionInfo:
        """Return the information on a cluster with these features."""
        levels = features.finalized_features.get(METADATA_VERSION)
        release = Release.parse(layout.release)
        name = None if levels is None else release.metadata_version(levels.max_version_level).name
        return cls(layout, name, data, is_temporary)

    def text(self) -> Iterator[str]:
        """Yield the lines for people."""
        nodes = len(self.layout.nodes)
        yield f"A cluster of {nodes} {'node' if nodes == 1 else 'nodes'} runs, as Kafka {self.layout.release}."
        document = self.document()
        for name in ("bootstrap_servers", "controllers", "metadata_version", "cluster_id"):
            yield f"  {name.replace('_', ' ').replace('metadata version', 'metadata.version'):<18} {document[name]}"
        yield f"  {'data':<18} {self.data}{' (removed at the end)' if self.is_temporary else ''}"
        yield "Ctrl-C stops it."

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {
            "release": self.layout.release,
            "metadata_version": self.metadata_version,
            "cluster_id": self.layout.cluster_id,
            "bootstrap_servers": ",".join(map(str, self.layout.bootstrap_servers)),
            "controllers": ",".join(f"{HOST}:{node.controller_port}" for node in self.layout.controllers),
            "data": self.data,
            "is_temporary": self.is_temporary,
            "nodes": [
                {
                    "node_id": node.node_id,
                    "roles": list(node.roles),
                    "broker_port": node.broker_port,
                    "controller_port": node.controller_port,
                }
                for node in self.layout.nodes
            ],
        }
