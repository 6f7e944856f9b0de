"""Clusters with controllers behind SASL_SSL: certificates on both sides, PLAIN among nodes, short sessions."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from kafka_node import KafkaNode, NodeLayout, Quorum
from mixed_cluster import MixedCluster
from tls_files import STORE_PASSWORD, Authority, pem_file, pkcs12_file

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
ADMIN, ALICE = ("admin", "admin-secret"), ("alice", "alice-secret")
# Short enough that all nodes authenticate anew while the tests run; and they do so seconds before a session ends.
SESSION_MS = 20_000


class SecureCluster(MixedCluster):
    """Controllers are ours except for `real_controllers`. There are no ACLs for clients that are not super users."""

    def __init__(
        self,
        controller_releases: Sequence[str],
        broker_releases: Sequence[str],
        *,
        home: Path,
        real_controllers: Collection[int] = (),
    ) -> None:
        self._real_controllers = {*real_controllers}
        self.started_s = 0.0
        self.authority = Authority()
        self._files = home / "certificates"
        self._files.mkdir(parents=True)
        self.ca_file = self._files / "ca.pem"
        self.ca_file.write_text(self.authority.certificate)
        self.key_store = pkcs12_file(self.authority.issue("127.0.0.1", common_name="node"), self._files / "node.p12")
        super().__init__(controller_releases, broker_releases, home=home, settings=self._settings())

    def client_file(self, name: str, properties: Mapping[str, str]) -> Path:
        """Write a tool's --command-config."""
        path = self._files / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return path

    def over_tls(self, mechanism: str, user: str, password: str) -> dict[str, str]:
        """Return the properties of a client of the controllers, with a certificate."""
        leaf = self.authority.issue("client@example.org", common_name="client")
        pem_file(leaf, self._files / "client.pem")
        return login(mechanism, user, password) | {
            "security.protocol": "SASL_SSL",
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(pkcs12_file(leaf, self._files / "client.p12")),
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
        }

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        if layout.node_id in self._real_controllers:
            return KafkaNode(self._controller_releases[layout.node_id], layout, quorum, home=home, settings=settings)
        return super()._node(layout, quorum, home, settings)

    def _settings(self) -> dict[str, str]:
        user, password = ADMIN
        plain = f'{PLAIN_MODULE} required username="{user}" password="{password}" user_{user}="{password}";'
        own = "listener.name.controller"
        return {
            "listener.security.protocol.map": "CONTROLLER:SASL_SSL,PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
            "sasl.mechanism.controller.protocol": "PLAIN",
            f"{own}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            f"{own}.plain.sasl.jaas.config": plain,
            f"{own}.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
            f"{own}.plain.connections.max.reauth.ms": str(SESSION_MS),
            f"{own}.ssl.client.auth": "required",
            f"{own}.ssl.keystore.type": "PKCS12",
            f"{own}.ssl.keystore.location": str(self.key_store),
            f"{own}.ssl.keystore.password": STORE_PASSWORD,
            f"{own}.ssl.truststore.type": "PEM",
            f"{own}.ssl.truststore.location": str(self.ca_file),
            "super.users": f"User:ANONYMOUS;User:{user}",
            "delegation.token.secret.key": "a key of all nodes",
        }


def login(mechanism: str, user: str, password: str, *, is_token: bool = False) -> dict[str, str]:
    """Return the properties of a client that authenticates."""
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    token = ' tokenauth="true"' if is_token else ""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="{user}" password="{password}"{token};',
    }
