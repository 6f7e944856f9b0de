"""The ACLs that Kafka's AclAuthorizer keeps in ZooKeeper, watched.

A malformed znode changes nothing: the last valid ACLs stay in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.image.acls import AclsImage
from falkirk.metadata.zookeeper.acl_znode import CLUSTER_ACLS_PATH, decode_acls
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import GetData, Znode
from falkirk.zookeeper_node.session.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.operations import Children, Failed
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session


class ClusterAcls:
    """`authorizer` uses the last valid reading; `fault`: what is malformed in the last one."""

    def __init__(
        self,
        session: Session,
        retries: Retries,
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
            session, retries, GetData(CLUSTER_ACLS_PATH, watch=True), on_read=self._apply, failed=failed
        )
        session.on_state(self._state_changed)

    def read(self) -> None:
        """Read the znode again."""
        self._watched.read()

    def _state_changed(self, state: SessionState) -> None:
        if state in {SessionState.CONNECTED, SessionState.READ_ONLY}:
            self.read()

    def _apply(self, znode: Znode | Children | None) -> None:
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
            # ACLs with address ranges came with KRaft.
            knows_ranges=False,
        )
