"""Who may do what to the cluster: the ACLs that Kafka's AclAuthorizer keeps in ZooKeeper, watched.

A znode that turns out to hold what cannot be meant changes nothing: what was known before goes on to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.authorizer import Authorizer
from falkirk.metadata.image.acls import AclsImage
from falkirk.metadata.zookeeper.acl_znode import CLUSTER_ACLS_PATH, decode_acls
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import GetData, Znode
from falkirk.node.zookeeper.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.config import ZooKeeperNodeConfig
    from falkirk.node.zookeeper.operations import Children, Failed
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session


class ClusterAcls:
    """`authorizer` decides by the last reading; `fault` says what is wrong with the znode as it was read last."""

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        config: ZooKeeperNodeConfig,
        *,
        on_change: Callable[[], None],
        failed: Callable[[str, Failed], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._config = config
        self._on_change = on_change
        self._effects = effects
        self.authorizer = self._authorizer(AclsImage())
        self.fault: ZnodeError | None = None
        self.is_known = False
        self._watched = WatchedZnode(
            session, asks, GetData(CLUSTER_ACLS_PATH, watch=True), taken=self._take, failed=failed
        )
        session.on_state(self._take_state)

    def read(self) -> None:
        """Read the znode again."""
        self._watched.read()

    def _take_state(self, state: SessionState) -> None:
        if state in {SessionState.CONNECTED, SessionState.READ_ONLY}:
            self.read()

    def _take(self, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        try:
            acls = AclsImage() if znode is None else decode_acls(znode.data)
        except ZnodeError as error:
            if str(error) != str(self.fault):
                self._effects(Fact("error", "acls-unreadable", {"reason": str(error)}))
            self.fault = error
        else:
            self.fault = None
            self.is_known = True
            self.authorizer = self._authorizer(acls)
        self._on_change()

    def _authorizer(self, acls: AclsImage) -> Authorizer:
        return Authorizer.of(
            acls,
            super_users=self._config.super_users,
            allow_everyone=self._config.allow_everyone_if_no_acl_found,
            # Ranges of addresses came with KRaft.
            knows_ranges=False,
        )
