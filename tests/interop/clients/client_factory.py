"""Clients of every library, each created once."""

from aiokafka_client import AiokafkaClient
from java_client import JavaClient, JavaPrograms
from kafka_client import PATIENCE_S, Access, Client
from kafka_python_client import KafkaPythonClient
from librdkafka_client import LibrdkafkaClient

LIBRARIES = ("librdkafka", "kafka-python", "aiokafka", "java-3.7.2", "java-4.3.1")
JAVA = "java-"


class ClientFactory:
    """Clients by library and access; each is created once and closed at the end."""

    def __init__(self, programs: JavaPrograms) -> None:
        self._programs = programs
        self._made: dict[tuple[str, Access], Client] = {}

    def get(self, library: str, access: Access, *, patience_s: float = PATIENCE_S) -> Client:
        """`library`: librdkafka, kafka-python, aiokafka, or java- and a release."""
        if (library, access) not in self._made:
            self._made[library, access] = self._make(library, access, patience_s)
        return self._made[library, access]

    def close(self) -> None:
        for client in self._made.values():
            client.close()

    def _make(self, library: str, access: Access, patience_s: float) -> Client:
        if library.startswith(JAVA):
            release = library.removeprefix(JAVA)
            return JavaClient(access, release=release, programs=self._programs, patience_s=patience_s)
        kinds = {"librdkafka": LibrdkafkaClient, "kafka-python": KafkaPythonClient, "aiokafka": AiokafkaClient}
        made: Client = kinds[library](access, patience_s=patience_s)
        return made
