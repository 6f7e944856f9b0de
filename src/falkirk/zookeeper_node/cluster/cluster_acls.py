"""The ACLs that Kafka's AclAuthorizer keeps in ZooKeeper, watched.

They are in one znode for each resource pattern that applies to the cluster. A malformed znode changes nothing: its
last valid ACLs stay in force.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.zookeeper.acl_znode import (
    ALL_CLUSTER_ACLS_PATHS,
    acls_image,
    decode_acls,
)
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import GetData, Znode
from falkirk.zookeeper_node.session.watched_znode import WatchedZnode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.metadata.image.acls import Acl
    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.operations import Children, Failed
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session


class ClusterAcls:
    """`authorizer` uses the last valid readings; `faults`: what is malformed in the last ones, by path."""

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
        self.authorizer = self._authorizer(())
        self.faults: dict[str, ZnodeError] = {}
        self._acls: dict[str, tuple[Acl, ...]] = {}
        self._watched = [
            WatchedZnode(session, retries, GetData(path, watch=True), on_read=partial(self._apply, path), failed=failed)
            for path in ALL_CLUSTER_ACLS_PATHS
        ]
        session.on_state(self._state_changed)

    @property
    def fault(self) -> ZnodeError | None:
        """What is malformed in one of the last readings."""
        return next(iter(self.faults.values()), None)

    @property
    def is_known(self) -> bool:
        """True if all znodes were read, and valid, at some time."""
        return len(self._acls) == len(ALL_CLUSTER_ACLS_PATHS)

    def read(self) -> None:
        """Read the znodes again."""
        for watched in self._watched:
            watched.read()

    def _state_changed(self, state: SessionState) -> None:
        if state in {SessionState.CONNECTED, SessionState.READ_ONLY}:
            self.read()

    def _apply(self, path: str, znode: Znode | Children | None) -> None:
        assert znode is None or isinstance(znode, Znode), "its data was asked for"
        try:
            acls = () if znode is None else decode_acls(znode.data, path)
        except ZnodeError as error:
            if str(error) != str(self.faults.get(path)):
                self._effects(Fact("error", "acls-unreadable", {"reason": str(error)}))
            self.faults[path] = error
        else:
            self.faults.pop(path, None)
            self._acls[path] = acls
            self.authorizer = self._authorizer(chain.from_iterable(self._acls.values()))
        self._on_change()

    def _authorizer(self, acls: Iterable[Acl]) -> Authorizer:
        return Authorizer.of(
            acls_image(acls),
            super_users=self._config.super_users,
            allow_everyone=self._config.allow_everyone_if_no_acl_found,
            # ACLs with address ranges came with KRaft.
            knows_ranges=False,
        )
