"""How broker and ZooKeeper know each other: zookeeper.ssl.*, SASL, zookeeper.set.acl. Source: KIP-38, KIP-515."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.sasl.errors import JaasConfigError
from falkirk.protocol.sasl.jaas_config import parse_jaas_config
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

JAAS_CONFIG: Final = "falkirk.zookeeper.sasl.jaas.config"
"""In place of the section `Client` of a JAAS file of the JVM."""
SECURITY_KEYS: Final = frozenset({JAAS_CONFIG})
"""Keys of ours, which Kafka does not have."""
_DIGEST_MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
_KERBEROS_MODULE: Final = "com.sun.security.auth.module.Krb5LoginModule"
_PREFIX: Final = "zookeeper."
_CLIENT_ENABLE: Final = "zookeeper.ssl.client.enable"
_SET_ACL: Final = "zookeeper.set.acl"
_SOCKET: Final = "zookeeper.clientCnxnSocket"
_NETTY: Final = "org.apache.zookeeper.ClientCnxnSocketNetty"
_UNSERVED: Final = ("zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable")
# What ZooKeeper takes a store for that has no type.
_TYPES: Final = {".pem": "PEM", ".jks": "JKS", ".p12": "PKCS12", ".pfx": "PKCS12"}
_STORES: Final = ("ssl.keystore", "ssl.truststore")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSecurity:
    """`tls`: settings by their keys without `zookeeper.`, None: no TLS. `login`: user and password of SASL DIGEST-MD5.

    `sets_acl`: znodes are created so that only their creator may change them.
    """

    tls: "Mapping[str, str] | None" = None
    login: tuple[str, str] | None = None
    sets_acl: bool = False

    def __repr__(self) -> str:
        """Show what is there, and no password."""
        name = None if self.login is None else self.login[0]
        return f"ZooKeeperSecurity(tls={self.tls is not None}, login={name}, sets_acl={self.sets_acl})"


def read_zookeeper_security(properties: Mapping[str, str]) -> ZooKeeperSecurity:
    """Read the settings. Raises ConfigError with the key, and the name of what is not there, as Kerberos."""
    for key in _UNSERVED:
        _require(not _is_true(properties, key), f"{key}: falkirk looks up no revoked certificates")
    tls = _tls(properties) if _is_true(properties, _CLIENT_ENABLE) else None
    jaas_config = properties.get(JAAS_CONFIG, "").strip()
    login = _login(jaas_config) if jaas_config else None
    sets_acl = _is_true(properties, _SET_ACL)
    has_identity = login is not None or (tls is not None and "ssl.keystore.location" in tls)
    _require(
        has_identity or not sets_acl,
        f"{_SET_ACL} is true, and ZooKeeper cannot know the broker: neither {JAAS_CONFIG} nor "
        f"zookeeper.ssl.keystore.location with {_CLIENT_ENABLE}=true is there",
    )
    return ZooKeeperSecurity(tls=tls, login=login, sets_acl=sets_acl)


def _tls(properties: Mapping[str, str]) -> dict[str, str]:
    socket = properties.get(_SOCKET, _NETTY)
    _require(socket == _NETTY, f"{_SOCKET}: TLS is spoken by {_NETTY} alone, not by {socket}")
    tls = {key.removeprefix(_PREFIX): value for key, value in properties.items() if key.startswith(f"{_PREFIX}ssl.")}
    # Differs from Kafka, where TLSv1.2 alone is offered unless a protocol is named: newer servers have TLSv1.3 alone.
    if "ssl.protocol" in tls:
        tls.setdefault("ssl.enabled.protocols", tls["ssl.protocol"])
    for store in _STORES:
        location = tls.get(f"{store}.location", "")
        found = next((kind for end, kind in _TYPES.items() if location.lower().endswith(end)), None)
        if found is not None:
            tls.setdefault(f"{store}.type", found)
    # A PEM file has no password of its own, but its key may have one.
    if tls.get("ssl.keystore.type", "").upper() == "PEM" and "ssl.keystore.password" in tls:
        tls["ssl.key.password"] = tls.pop("ssl.keystore.password")
    return tls


def _login(jaas_config: str) -> tuple[str, str]:
    try:
        module = parse_jaas_config(jaas_config)
    except JaasConfigError as error:
        raise ConfigError(f"{JAAS_CONFIG}: {error}") from error
    _require(module.name != _KERBEROS_MODULE, f"{JAAS_CONFIG}: Kerberos ({_KERBEROS_MODULE}) needs Java")
    _require(module.name == _DIGEST_MODULE, f"{JAAS_CONFIG}: the login module is {_DIGEST_MODULE}, not {module.name}")
    missing = next((key for key in ("username", "password") if key not in module.options), None)
    _require(missing is None, f"{JAAS_CONFIG}: Value not specified for key '{missing}' in JAAS config")
    return module.options["username"], module.options["password"]


def _is_true(properties: Mapping[str, str], key: str) -> bool:
    return properties.get(key, "").strip().lower() == "true"


def _require(holds: bool, text: str) -> None:  # noqa: FBT001 - it reads like the sentence that it is
    if not holds:
        raise ConfigError(text)
