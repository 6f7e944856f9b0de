"""Clusters for clients: two brokers that listen in plain text, with TLS, and with SASL over TLS; ours or Kafka's."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from certificates import CLIENT_PRINCIPAL, Certificates, make_certificates
from falkirk_node import FalkirkNode
from kafka_client import Access
from kafka_cluster import COMBINED, KafkaCluster, node_layouts
from kafka_node import BROKER, CONTROLLER, KafkaNode, NodeLayout, Quorum
from kafka_ports import free_ports
from topic_state import topic_partitions
from waiting import becomes

ROLES = {1: COMBINED, 2: (BROKER,)}
PLAIN_USER = ("plain-user", "plain-secret")
SCRAM_USER = ("scram-user", "scram-secret")
# May do nothing.
NOBODY = ("nobody", "nobody-secret")
ACCESSES = ("PLAINTEXT", "SSL", "PLAIN", "SCRAM-SHA-512")


class ClientCluster(KafkaCluster):
    """Node 1 is controller and broker, node 2 a broker. `is_ours`: falkirk as that release, else Kafka."""

    def __init__(self, release: str, *, is_ours: bool, home: Path) -> None:
        self.is_ours = is_ours
        self.certificates: Certificates = make_certificates(home / "certificates")
        ports = free_ports(2 * len(ROLES))
        self._tls_ports = dict(zip(ROLES, ports[::2], strict=True))
        self._sasl_ports = dict(zip(ROLES, ports[1::2], strict=True))
        super().__init__(release, node_layouts(home, ROLES), home=home)

    def set_up(self) -> None:
        """Format and start."""
        user, password = SCRAM_USER
        self.format(scram=[f"SCRAM-SHA-512=[name={user},password={password}]"])
        self.start()

    def access(self, kind: str) -> Access:
        """Connection settings of a super user: one of ACCESSES."""
        if kind == "PLAINTEXT":
            return Access(servers=self.bootstrap_servers)
        files = self.certificates
        if kind == "SSL":
            return Access(
                servers=_servers(self._tls_ports),
                protocol="SSL",
                ca_file=files.ca_file,
                certificate_file=files.client_file,
                key_file=files.client_key_file,
            )
        user, password = PLAIN_USER if kind == "PLAIN" else SCRAM_USER
        return Access(
            servers=_servers(self._sasl_ports),
            protocol="SASL_SSL",
            ca_file=files.ca_file,
            mechanism=kind,
            user=user,
            password=password,
        )

    def access_of_nobody(self) -> Access:
        """Connection settings of a user without permissions."""
        user, password = NOBODY
        return replace(self.access("PLAIN"), user=user, password=password)

    def await_topic(self, name: str, *, partitions: int) -> None:
        """Wait until each broker knows a leader of each partition. Raises AssertionError."""
        for layout in self.layouts:
            port = layout.broker_port
            becomes(lambda port=port: _partitions_led(port, name), partitions)

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        kind = FalkirkNode if self.is_ours else KafkaNode
        return kind(self.release, layout, quorum, home=home, settings=dict(settings) | self._listening(layout))

    def _listening(self, layout: NodeLayout) -> dict[str, str]:
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        users = " ".join(f'user_{user}="{password}"' for user, password in (PLAIN_USER, NOBODY))
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ports = {
            "PLAINTEXT": layout.broker_port,
            "SSL": self._tls_ports[layout.node_id],
            "SASL_SSL": self._sasl_ports[layout.node_id],
        }
        if CONTROLLER in layout.roles:
            ports["CONTROLLER"] = layout.controller_port
        protocols = {name: name for name in ("PLAINTEXT", "SSL", "SASL_SSL")} | {"CONTROLLER": "PLAINTEXT"}
        super_users = ("User:ANONYMOUS", CLIENT_PRINCIPAL, f"User:{PLAIN_USER[0]}", f"User:{SCRAM_USER[0]}")
        return {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{plain} {users};",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": scram,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificates.server_file),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificates.ca_file),
            "listener.name.ssl.ssl.client.auth": "required",
            "super.users": ";".join(super_users),
        }


def _servers(ports: Mapping[int, int]) -> str:
    return ",".join(f"127.0.0.1:{port}" for port in ports.values())


def _partitions_led(port: int, topic: str) -> int:
    return sum(partition.leader >= 0 for partition in topic_partitions(port, topic).values())
