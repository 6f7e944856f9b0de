"""Our nodes as processes: the installed `falkirk serve`, on directories that `falkirk storage format` made."""

from collections.abc import Mapping
from pathlib import Path

from falkirk_program import PROGRAM, FalkirkError, falkirk
from kafka_cluster import KafkaCluster
from kafka_node import KafkaNode, NodeLayout, Quorum


class FalkirkNode(KafkaNode):
    """A node that runs as `release`, otherwise like a real one."""

    def format(self, cluster_id: str, *arguments: str) -> None:
        """Format the log dirs as the release's own tool would; `arguments` are further options."""
        self.write_properties()
        options = ["--cluster-id", cluster_id, "--config", self.properties_file, "--release", self.release]
        ended = falkirk("storage", "format", *options, *arguments)
        if ended.status != 0:
            raise FalkirkError(f"{self} could not be formatted:\n{ended.stderr}\n{ended.stdout}")

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log, preceded by every line about an error."""
        text = self.log_text().splitlines()
        errors = [line for line in text[:-lines] if " ERROR " in line or " WARNING " in line]
        return "\n".join(errors[-10:] + text[-lines:])

    def __str__(self) -> str:
        return f"falkirk {self.release} node {self.layout.node_id} ({self.log_file})"

    def _command(self) -> list[str]:
        return [str(PROGRAM), "serve", str(self.properties_file), "--release", self.release]


class OurCluster(KafkaCluster):
    """Nodes of ours in place of real ones."""

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        return FalkirkNode(self.release, layout, quorum, home=home, settings=settings)
