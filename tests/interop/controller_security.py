"""Controllers behind TLS and SASL: what nodes, falkirk's controller and an operator need to meet at their listeners."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import confluent_kafka.admin as ck
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from tls_files import STORE_PASSWORD, Authority, having, one_line, pkcs12_file

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
# Of a certificate's name the common name alone.
_RULES = "RULE:^CN=([^,]+),.*$/$1/"
_LISTENER = "listener.name.controller."
_PROVIDERS = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}
# Principals: the cluster's own nodes, falkirk's controller, and the operator of the lift.
NODE, EXTRA, OPERATOR = "node", "extra", "operator"
_PASSWORDS = {name: f"{name}-secret" for name in (NODE, EXTRA, OPERATOR)}
SCRAM_USER = f"SCRAM-SHA-512=[name={OPERATOR},password={_PASSWORDS[OPERATOR]}]"
STORE_VARIABLE = "LIFT_STORE_PASSWORD"
"""The environment variable from which falkirk's controller reads the password of its store, by a config provider."""
# librdkafka calls the cluster a broker.
_RESOURCES = {"CLUSTER": ck.ResourceType.BROKER, "TOPIC": ck.ResourceType.TOPIC}
Right = tuple[str, str, str, str]
"""Principal, operation, type and name of the resource."""


@dataclass(frozen=True, kw_only=True)
class ControllerSecurity:
    """`protocol`: SSL, where certificates are the principals, or SASL_SSL with PLAIN; `store`: PEM, PKCS12 or JKS."""

    folder: Path
    protocol: str
    store: str
    authority: Authority = field(default_factory=Authority)

    @property
    def of_nodes(self) -> dict[str, str]:
        """Properties of the cluster's nodes; clients in plain text are super users."""
        return self._of_server(NODE) | {
            "listener.security.protocol.map": f"CONTROLLER:{self.protocol},PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
            "super.users": f"User:ANONYMOUS;User:{NODE}",
        }

    @property
    def of_extra(self) -> dict[str, str]:
        """Properties of falkirk's controller, which is no super user itself."""
        properties = self._of_server(EXTRA) | {
            "listener.security.protocol.map": f"CONTROLLER:{self.protocol}",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{NODE}",
        }
        hidden = {key: f"${{env:{STORE_VARIABLE}}}" for key in properties if key.endswith("ssl.keystore.password")}
        return properties | hidden | _PROVIDERS

    @property
    def of_connections(self) -> dict[str, dict[str, str]]:
        """Properties of the operator's connections, to brokers at their SCRAM listener, by key of the lift's file."""
        controllers = {"security.protocol": self.protocol} | self._stores(OPERATOR)
        if self.protocol == "SASL_SSL":
            controllers |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": _jaas(PLAIN_MODULE, OPERATOR)}
        brokers = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": _jaas(SCRAM_MODULE, OPERATOR),
        }
        return {"command_config": brokers, "controller_command_config": controllers}

    def _of_server(self, name: str) -> dict[str, str]:
        properties = self._stores(name) | {"ssl.client.auth": "required"}
        if self.protocol == "SASL_SSL":
            users = "".join(f' user_{user}="{password}"' for user, password in _PASSWORDS.items())
            properties |= {
                "sasl.enabled.mechanisms": "PLAIN",
                "plain.sasl.jaas.config": _jaas(PLAIN_MODULE, name, users),
            }
        else:
            properties |= {"ssl.principal.mapping.rules": _RULES}
        own = {f"{_LISTENER}{key}": value for key, value in properties.items()}
        return own | {"sasl.mechanism.controller.protocol": "PLAIN"}

    def _stores(self, name: str) -> dict[str, str]:
        leaf = self.authority.issue("127.0.0.1", common_name=name)
        if self.store == "PEM":
            # Kafka reads PKCS8 alone.
            key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
            pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
            inline = having(leaf) | {"ssl.keystore.key": pkcs8} | self.authority.trusting()
            return {key: one_line(value) for key, value in inline.items()}
        trusted = self.folder / "ca.pem"
        trusted.write_text(self.authority.certificate)
        file = pkcs12_file(leaf, self.folder / f"{name}.p12")
        return {
            "ssl.keystore.type": self.store,
            "ssl.keystore.location": str(_java_store(file) if self.store == "JKS" else file),
            "ssl.keystore.password": STORE_PASSWORD,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted),
        }


def allow(servers: str, rights: Iterable[Right]) -> None:
    """Create ACLs as the super user of the plain text listener."""
    admin = ck.AdminClient({"bootstrap.servers": servers})
    bindings = [
        ck.AclBinding(
            _RESOURCES[kind],
            name,
            ck.ResourcePatternType.LITERAL,
            f"User:{principal}",
            "*",
            ck.AclOperation[operation],
            ck.AclPermissionType.ALLOW,
        )
        for principal, operation, kind, name in rights
    ]
    for done in admin.create_acls(bindings).values():
        done.result(timeout=30)


def _jaas(module: str, name: str, more: str = "") -> str:
    return f'{module} required username="{name}" password="{_PASSWORDS[name]}"{more};'


def _java_store(file: Path) -> Path:
    """Convert a PKCS12 store to Java's own format."""
    made = file.with_suffix(".jks")
    made.unlink(missing_ok=True)
    command = ["keytool", "-importkeystore", "-noprompt", "-srckeystore", file, "-destkeystore", made]
    command += ["-deststoretype", "JKS", "-srcstorepass", STORE_PASSWORD, "-deststorepass", STORE_PASSWORD]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return made
