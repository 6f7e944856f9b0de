"""Three real ZooKeeper servers that take TLS with certificates and SASL DIGEST-MD5 alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from kafka_ports import free_ports
from tls_files import STORE_PASSWORD, Authority, pem_file, pkcs12_file
from zookeeper_server import JAVA_OPTIONS, SETTINGS, PausableServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# More jars than plain sessions need: those of Netty.
_CLASS_PATH = str(Path(pyspark.__file__).parent / "jars" / "*")
USER, PASSWORD = "broker", "broker-secret"
_SERVERS = 3


@dataclass(frozen=True)
class SecuredEnsemble:
    """`connect`: its TLS ports; `properties`: what a broker needs to be let in."""

    connect: str
    servers: tuple[PausableServer, ...]
    properties: Mapping[str, str]


def jaas_config(password: str = PASSWORD) -> str:
    """Return a client's JAAS configuration."""
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    return f'{module} required username="{USER}" password="{password}";'


@contextmanager
def secured_ensemble(directory: Path) -> Iterator[SecuredEnsemble]:
    """Run the servers."""
    authority = Authority()
    authority.ca.cert_pem.write_to_path(directory / "ca.pem")
    pkcs12_file(authority.issue(), directory / "server.p12")
    pem_file(authority.issue(common_name="broker"), directory / "client.pem")
    (directory / "jaas.conf").write_text(
        f'Server {{\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n  user_{USER}="{PASSWORD}";\n}};\n'
    )
    ports = free_ports(4 * _SERVERS)
    secure = ports[_SERVERS : 2 * _SERVERS]
    peers = {
        f"server.{at + 1}": f"127.0.0.1:{ports[2 * _SERVERS + at]}:{ports[3 * _SERVERS + at]}" for at in range(_SERVERS)
    }
    servers = []
    for at in range(_SERVERS):
        home = directory / f"server-{at + 1}"
        (home / "data").mkdir(parents=True)
        (home / "data" / "myid").write_text(f"{at + 1}")
        settings = {
            **SETTINGS,
            **peers,
            "tickTime": "500",
            "initLimit": "40",
            "syncLimit": "20",
            "secureClientPort": f"{secure[at]}",
            "secureClientPortAddress": "127.0.0.1",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": str(directory / "server.p12"),
            "ssl.keyStore.password": STORE_PASSWORD,
            "ssl.trustStore.location": str(directory / "ca.pem"),
            "ssl.clientAuth": "need",
            "authProvider.sasl": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            "enforce.auth.enabled": "true",
            "enforce.auth.schemes": "sasl",
        }
        options = (*JAVA_OPTIONS, f"-Djava.security.auth.login.config={directory / 'jaas.conf'}")
        servers.append(
            PausableServer(home, class_path=_CLASS_PATH, port=ports[at], settings=settings, java_options=options)
        )
    try:
        # One alone does not serve.
        with ThreadPoolExecutor(_SERVERS) as pool:
            list(pool.map(PausableServer.start, servers))
        yield SecuredEnsemble(
            connect=",".join(f"127.0.0.1:{port}" for port in secure),
            servers=tuple(servers),
            properties={
                "zookeeper.ssl.client.enable": "true",
                "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
                "zookeeper.ssl.keystore.location": str(directory / "client.pem"),
                "zookeeper.ssl.truststore.location": str(directory / "ca.pem"),
                "falkirk.zookeeper.sasl.jaas.config": jaas_config(),
            },
        )
    finally:
        for server in servers:
            server.kill()
