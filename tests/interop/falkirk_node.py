"""One of our nodes as a process: the installed `falkirk serve`, on directories that `falkirk storage format` made."""

from falkirk_program import PROGRAM, FalkirkError, falkirk
from kafka_node import KafkaNode


class FalkirkNode(KafkaNode):
    """A node that runs as `release`; everything else is as with a real one."""

    def format(self, cluster_id: str, *arguments: str) -> None:
        """Format the log dirs as the release's own tool would; `arguments` are more of its options."""
        self.write_properties()
        options = ["--cluster-id", cluster_id, "--config", self.properties_file, "--release", self.release]
        ended = falkirk("storage", "format", *options, *arguments)
        if ended.status != 0:
            raise FalkirkError(f"{self} could not be formatted:\n{ended.stderr}\n{ended.stdout}")

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log, and before them every line that speaks of an error."""
        text = self.log_text().splitlines()
        errors = [line for line in text[:-lines] if " ERROR " in line or " WARNING " in line]
        return "\n".join(errors[-10:] + text[-lines:])

    def __str__(self) -> str:
        return f"falkirk {self.release} node {self.layout.node_id} ({self.log_file})"

    def _command(self) -> list[str]:
        return [str(PROGRAM), "serve", str(self.properties_file), "--release", self.release]
