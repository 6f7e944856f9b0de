"""One real Kafka broker on ZooKeeper (3.7 to 3.9), which is the controller if it is alone."""

from collections.abc import Mapping
from pathlib import Path

from kafka_java import ClassSharing, jvm_command
from kafka_node import BROKER, KafkaNode, NodeLayout, Quorum
from kafka_ports import free_ports


class ZooKeeperBroker(KafkaNode):
    """A broker with its metadata in ZooKeeper. `settings` override the defaults."""

    def __init__(
        self, release: str, broker_id: int, connect: str, *, home: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        (port,) = free_ports(1)
        layout = NodeLayout(
            node_id=broker_id,
            roles=(BROKER,),
            log_dirs=(home / "data",),
            broker_port=port,
            scram_port=0,
            controller_port=0,
        )
        own = {
            "broker.id": str(broker_id),
            "zookeeper.connect": connect,
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(home / "data"),
            "offsets.topic.num.partitions": "1",
        }
        super().__init__(
            release, layout, Quorum(dynamic=False, controllers=()), home=home, settings=own | dict(settings or {})
        )
        self.started_line = f"[KafkaServer id={broker_id}] started"

    def write_properties(self) -> None:
        """Write server.properties, and make the log dir."""
        self.layout.log_dirs[0].mkdir(parents=True, exist_ok=True)
        self.properties_file.write_text("".join(f"{key}={value}\n" for key, value in self.settings.items()))

    def exit_status(self, timeout_s: float = 60) -> int:
        """Wait for a process that ends by itself, and return its exit status."""
        assert self._process is not None
        status = self._process.wait(timeout_s)
        self._close_sharing()
        return status

    def _command(self) -> list[str]:
        self._sharing = ClassSharing(self.release, "kafka.Kafka-zookeeper")
        return jvm_command(
            self.release, "kafka.Kafka", [str(self.properties_file)], heap_mb=256, options=self._sharing.options
        )
