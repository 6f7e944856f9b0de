"""The cluster id, which the first broker creates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.cluster_id_znode import CLUSTER_ID_PATH, decode_cluster_id, encode_cluster_id
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.protocol.uuid import random_uuid, uuid_text
from falkirk.zookeeper_node.session.operations import Create, Done, Failed, GetData, KeeperError, Znode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.chance import Chance
    from falkirk.zookeeper_node.session.operations import Answer
    from falkirk.zookeeper_node.session.retries import Retries

_PARENTS = ("/cluster",)


class ClusterId:
    """`value` is None until it is known; `failed` is called with why it cannot be."""

    def __init__(self, retries: Retries, random: Chance, *, failed: Callable[[str], None]) -> None:
        self._retries = retries
        self._random = random
        self._failed = failed
        self.value: str | None = None

    def find(self) -> None:
        """Read the id, or create it; call this in each session until it is known."""
        self._retries.send(GetData(CLUSTER_ID_PATH), self._have_read)

    def _have_read(self, answer: Answer) -> None:
        if isinstance(answer, Znode):
            try:
                self.value = decode_cluster_id(answer.data)
            except ZnodeError as error:
                self._failed(str(error))
            return
        assert isinstance(answer, Failed), "data was asked for"
        if answer.refusal is KeeperError.NO_NODE:
            self._retries.create_all(_PARENTS, self._have_parents)
        else:
            self._end(answer)

    def _have_parents(self, failed: Failed | None) -> None:
        if failed is not None:
            self._end(failed)
            return
        made = uuid_text(random_uuid(self._random))
        self._retries.send(Create(CLUSTER_ID_PATH, encode_cluster_id(made)), self._have_made)

    def _have_made(self, answer: Answer) -> None:
        # Created by this node, or by another one if it exists.
        if isinstance(answer, Done) or (isinstance(answer, Failed) and answer.refusal is KeeperError.NODE_EXISTS):
            self.find()
        else:
            assert isinstance(answer, Failed), "nothing was read"
            self._end(answer)

    def _end(self, failed: Failed) -> None:
        if failed.refusal is not KeeperError.SESSION_EXPIRED:
            self._failed(f"znode {CLUSTER_ID_PATH}: {failed.detail or failed.refusal.value}")
