"""Whom SCRAM lets in: the credentials of all users, as this node knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from immutables import Map
from msgspec.structs import replace

from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.image.scram import ScramImage
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.user_znode import USERS_PATH, decode_user
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import Refusal
from falkirk.node.zookeeper.watched_children import WatchedChildren

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.scram import ScramCredential, ScramUser
    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.operations import Failed
    from falkirk.node.zookeeper.repeated_asks import RepeatedAsks
    from falkirk.node.zookeeper.session import Session


class ScramUsers:
    """`image` has the credentials as an image of KRaft has them. A user whose znode cannot be meant has none."""

    def __init__(
        self,
        session: Session,
        asks: RepeatedAsks,
        *,
        on_change: Callable[[], None],
        failed: Callable[[str, Failed], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._asks = asks
        self._on_change = on_change
        self._failed = failed
        self._effects = effects
        self.image = EMPTY
        self.is_known = False
        self._znodes = WatchedChildren(session, asks, USERS_PATH, decode=self._decode, taken=self._take, failed=failed)
        session.on_state(self._take_state)

    def read(self) -> None:
        """Read all again."""
        self._znodes.read()

    def _take_state(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            # What is not there cannot be watched.
            self._asks.make(_FOLDERS, self._have_folders)

    def _have_folders(self, failed: Failed | None) -> None:
        if failed is None:
            self.read()
        elif failed.refusal is not Refusal.SESSION_EXPIRED:
            self._failed(USERS_PATH, failed)

    def _take(self, znodes: Mapping[str, Mapping[ScramUser, ScramCredential]]) -> None:
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


_FOLDERS: Final = ("/config", USERS_PATH)
