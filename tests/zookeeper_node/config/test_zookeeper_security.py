"""How brokers and ZooKeeper know each other, and what is refused by name."""

import pytest

from falkirk.versions.configs.definition import ConfigError
from falkirk.zookeeper_node.config.zookeeper_security import ZooKeeperSecurity, read_zookeeper_security

JAAS = "falkirk.zookeeper.sasl.jaas.config"
DIGEST = 'org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="secret";'
TLS = {"zookeeper.ssl.client.enable": "true"}


def test_without_any_of_the_keys_nothing_is_secured():
    assert read_zookeeper_security({"zookeeper.connect": "zoo:2181"}) == ZooKeeperSecurity()


def test_tls_settings_are_those_of_clients_without_the_prefix():
    security = read_zookeeper_security({
        **TLS,
        "zookeeper.ssl.keystore.location": "/etc/broker.p12",
        "zookeeper.ssl.keystore.password": "a",
        "zookeeper.ssl.truststore.location": "/etc/ca.pem",
        "zookeeper.ssl.endpoint.identification.algorithm": "",
        "ssl.keystore.location": "/etc/listener.jks",
    })  # fmt: skip
    assert security.tls == {
        "ssl.client.enable": "true",
        "ssl.keystore.location": "/etc/broker.p12",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": "a",
        "ssl.truststore.location": "/etc/ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.endpoint.identification.algorithm": "",
    }
    assert (
        read_zookeeper_security({**TLS, "zookeeper.ssl.protocol": "TLSv1.2"}).tls["ssl.enabled.protocols"] == "TLSv1.2"
    )
    pem = read_zookeeper_security({
        **TLS,
        "zookeeper.ssl.keystore.location": "/etc/broker.pem",
        "zookeeper.ssl.keystore.password": "a",
    })  # fmt: skip
    assert pem.tls["ssl.key.password"] == "a"


def test_a_login_is_read_and_never_shown():
    security = read_zookeeper_security({JAAS: DIGEST, "zookeeper.set.acl": "true"})
    assert security == ZooKeeperSecurity(login=("kafka", "secret"), sets_acl=True)
    assert "secret" not in repr(security)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (
            {JAAS: "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;"},
            f"{JAAS}: Kerberos (com.sun.security.auth.module.Krb5LoginModule) needs Java",
        ),
        ({JAAS: "own.Module required;"}, f"{JAAS}: the login module is org.apache.zookeeper.server.auth."),
        ({JAAS: DIGEST.replace("password", "word")}, f"{JAAS}: Value not specified for key 'password'"),
        ({JAAS: ";"}, f"{JAAS}: "),
        ({"zookeeper.set.acl": "true"}, "zookeeper.set.acl is true, and ZooKeeper cannot know the broker"),
        ({"zookeeper.set.acl": "true", **TLS}, "zookeeper.set.acl is true, and ZooKeeper cannot know the broker"),
        ({"zookeeper.ssl.crl.enable": "true"}, "zookeeper.ssl.crl.enable: "),
        (
            {**TLS, "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNIO"},
            "zookeeper.clientCnxnSocket: TLS is spoken by org.apache.zookeeper.ClientCnxnSocketNetty alone",
        ),
    ],
)
def test_what_is_not_there_is_refused_by_name(properties, reason):
    with pytest.raises(ConfigError) as refused:
        read_zookeeper_security(properties)
    assert str(refused.value).startswith(reason)
