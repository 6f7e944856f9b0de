"""Clients of kazoo with TLS, SASL and the ACLs of new znodes. Needs the extra `zookeeper`."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Final

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.handlers.utils import create_tcp_connection
from kazoo.security import CREATOR_ALL_ACL, READ_ACL_UNSAFE

from falkirk.client.errors import ClientConfigError
from falkirk.client.tls import client_context
from falkirk.versions.configs.definition import ConfigError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from kazoo.security import ACL

    from falkirk.zookeeper_node.config.zookeeper_security import ZooKeeperSecurity

# Below them nobody else may read, as in Kafka: they have passwords, or what they are made of.
_SENSITIVE: Final = ("/config/users", "/config/brokers", "/delegation_token")


class SecuredHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Connects with a TLS context of ours, which kazoo cannot be given; without one as kazoo does.

    `failed` gets the error that has ended kazoo's thread: servers end sessions so that did not authenticate.
    """

    def __init__(self, tls: ssl.SSLContext | None, failed: Callable[[KazooException], None]) -> None:
        super().__init__()
        self._tls = tls
        self._failed = failed

    def spawn(self, func: Callable[..., None], *args: Any, **options: Any) -> Any:  # Any: kazoo's own
        """Run a function in a thread."""

        def run() -> None:
            try:
                func(*args, **options)
            except KazooException as error:
                self._failed(error)

        return super().spawn(run)

    def create_connection(self, *args: Any, **options: Any) -> socket.socket:  # Any: kazoo's own
        """Connect, and shake hands."""
        if self._tls is None:
            return super().create_connection(*args, **options)  # type: ignore[no-any-return]
        timeout_s = options["timeout"]
        plain = create_tcp_connection(socket, options["address"], timeout=timeout_s)
        plain.settimeout(timeout_s)
        try:
            return self._tls.wrap_socket(plain, server_hostname=options["hostname"])
        except BaseException:
            plain.close()
            raise


def tls_context(security: ZooKeeperSecurity) -> ssl.SSLContext | None:
    """Return the context of connections; None without TLS. Raises ConfigError with the key."""
    if security.tls is None:
        return None
    try:
        return client_context(security.tls.get)
    except ClientConfigError as error:
        raise ConfigError(f"zookeeper.{error}") from error


def sasl_options(security: ZooKeeperSecurity) -> dict[str, str] | None:
    """Return what kazoo authenticates with; None: nothing."""
    if security.login is None:
        return None
    username, password = security.login
    return {"mechanism": "DIGEST-MD5", "username": username, "password": password}


def acls(security: ZooKeeperSecurity, path: str) -> list[ACL] | None:
    """Return the ACLs of a new znode, below the chroot; None: anybody may do anything.

    The creator may do anything, others may read, unless what is there is secret. Source: ZkData.defaultAcls.
    """
    if not security.sets_acl:
        return None
    is_sensitive = any(path == root or path.startswith(f"{root}/") for root in _SENSITIVE)
    return [*CREATOR_ALL_ACL, *(() if is_sensitive else READ_ACL_UNSAFE)]
