"""One of our nodes as a process: the installed `falkirk serve`, on directories that Kafka's own tool formats."""

from falkirk_program import PROGRAM
from kafka_node import KafkaNode


class FalkirkNode(KafkaNode):
    """A node that runs as `release`; everything else is as with a real one."""

    def _command(self) -> list[str]:
        return [str(PROGRAM), "serve", str(self.properties_file), "--release", self.release]

    def log_tail(self, lines: int = 40) -> str:
        """The last lines of the log, and before them every line that speaks of an error."""
        text = self.log_text().splitlines()
        errors = [line for line in text[:-lines] if " ERROR " in line or " WARNING " in line]
        return "\n".join(errors[-10:] + text[-lines:])

    def __str__(self) -> str:
        return f"falkirk {self.release} node {self.layout.node_id} ({self.log_file})"
