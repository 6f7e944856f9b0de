"""The SCRAM credentials of all users, as this node knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from immutables import Map
from msgspec.structs import replace

from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.image.scram import ScramImage
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.user_znode import USERS_PATH, decode_user
from falkirk.node.effects import Fact
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import KeeperError
from falkirk.zookeeper_node.session.watched_children import WatchedChildren

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.scram import ScramCredential, ScramUser
    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.session.operations import Failed
    from falkirk.zookeeper_node.session.retries import Retries
    from falkirk.zookeeper_node.session.session import Session

_FOLDERS: Final = ("/config", USERS_PATH)


class ScramUsers:
    """`image` has the credentials as an image of KRaft has them. A user with a malformed znode has none."""

    def __init__(
        self,
        session: Session,
        retries: Retries,
        *,
        on_change: Callable[[], None],
        failed: Callable[[str, Failed], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._retries = retries
        self._on_change = on_change
        self._failed = failed
        self._effects = effects
        self.image = EMPTY
        self.is_known = False
        self._znodes = WatchedChildren(
            session, retries, USERS_PATH, decode=self._decode, on_read=self._apply, failed=failed
        )
        session.on_state(self._state_changed)

    def read(self) -> None:
        """Read all again."""
        self._znodes.read()

    def _state_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            # Missing folders cannot be watched.
            self._retries.create_all(_FOLDERS, self._have_folders)

    def _have_folders(self, failed: Failed | None) -> None:
        if failed is None:
            self.read()
        elif failed.refusal is not KeeperError.SESSION_EXPIRED:
            self._failed(USERS_PATH, failed)

    def _apply(self, znodes: Mapping[str, Mapping[ScramUser, ScramCredential]]) -> None:
        credentials = {user: one for found in znodes.values() for user, one in found.items()}
        self.image = replace(EMPTY, scram=ScramImage(Map(credentials)))
        self.is_known = True
        self._on_change()

    def _decode(self, name: str, data: bytes) -> Mapping[ScramUser, ScramCredential]:
        try:
            return decode_user(data, f"{USERS_PATH}/{name}")
        except ZnodeError as error:
            self._effects(Fact("error", "user-unreadable", {"reason": str(error)}))
            return {}
