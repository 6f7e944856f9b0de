"""One write of the controller to the znode of features: it counts only while no other controller has been elected.

The write and the check of `/controller_epoch` are one transaction, conditional on the version of the znode that was
read before. So it can be asked for again when the answer was lost, and does nothing if it was carried out. That it is
then refused is decided where all writes are put in order, and whatever is read afterwards shows what came before;
a read alone could come from a server that has not heard of the write yet.

Versions begin at 0 again when a znode is deleted: one that is made anew by hand in the version that was read before is
taken for the old one.

Source: KIP-584, guarantees; Kafka's KafkaZkClient checks the epoch in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH
from falkirk.node.zookeeper.operations import (
    CheckVersion,
    Create,
    Done,
    Failed,
    GetData,
    Multi,
    Refusal,
    SetData,
    Znode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.zookeeper.operations import Answer
    from falkirk.node.zookeeper.session import Session


class Fate(Enum):
    """What has become of a write."""

    STANDS = "stands"
    NOT_WRITTEN = "not written"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """How a write ended.

    `version`: of the znode, where it STANDS. `is_fenced`: another controller has been elected. `refusal`: what
    ZooKeeper has against it, where asking again would not help. NOT_WRITTEN without either: somebody else has written
    meanwhile, or it was given up before it was asked for.
    """

    fate: Fate
    version: int = 0
    is_fenced: bool = False
    refusal: str | None = None


class FencedWrite:
    """Goes on until it is known what became of it; `then` is called once.

    `epoch_version`: of `/controller_epoch` since the election. `existing`: the znode as it was read, None if there was
    none.
    """

    def __init__(
        self,
        session: Session,
        *,
        epoch_version: int,
        path: str,
        data: bytes,
        existing: Znode | None,
        then: Callable[[WriteOutcome], None],
    ) -> None:
        self._session = session
        self._path = path
        self._data = data
        self._existing = existing
        self._then = then
        part = Create(path, data) if existing is None else SetData(path, data, existing.version)
        self._operation = Multi((CheckVersion(CONTROLLER_EPOCH_PATH, epoch_version), part))
        self._is_asked = False
        # An answer was lost: it may have been carried out.
        self._is_doubtful = False
        self._is_given_up = False
        self._is_over = False

    def go_on(self) -> None:
        """Ask for it, the first time or again, if that can be now; else when this is called next."""
        if not self._is_asked and not self._is_over and self._session.is_connected:
            self._ask(self._operation, self._answered)

    def give_up(self) -> None:
        """Ask for it no more. What was asked for is waited for."""
        self._is_given_up = True
        if not self._is_asked:
            self._end_undone()

    def _ask(self, operation: Multi | GetData, then: Callable[[Answer], None]) -> None:
        self._is_asked = True
        self._session.ask(operation, then)

    def _answered(self, answer: Answer) -> None:
        self._is_asked = False
        if isinstance(answer, Done):
            self._end(WriteOutcome(fate=Fate.STANDS, version=answer.version))
            return
        assert isinstance(answer, Failed), "a Multi is done, or not"
        if answer.refusal in _LOST:
            self._is_doubtful = True
            self._again(answer.refusal)
        elif answer.refusal is Refusal.READ_ONLY:
            self._again(answer.refusal)
        elif answer.part == _FENCE and answer.refusal in _ELSEWHERE:
            self._overtaken(is_fenced=True)
        elif answer.refusal in _ELSEWHERE and not self._lacks_parent(answer):
            self._overtaken(is_fenced=False)
        else:
            fate = Fate.UNKNOWN if self._is_doubtful else Fate.NOT_WRITTEN
            self._end(WriteOutcome(fate=fate, refusal=answer.detail or answer.refusal.value))

    def _lacks_parent(self, answer: Failed) -> bool:
        return answer.refusal is Refusal.NO_NODE and self._existing is None

    def _again(self, refusal: Refusal) -> None:
        if self._is_given_up or refusal is Refusal.SESSION_EXPIRED:
            self._end_undone()
        else:
            self.go_on()

    def _overtaken(self, *, is_fenced: bool) -> None:
        """Take note that it cannot be carried out now; whether it was before, only what stands there can tell."""
        if not self._is_doubtful:
            self._end(WriteOutcome(fate=Fate.NOT_WRITTEN, is_fenced=is_fenced))
            return

        def read(answer: Answer) -> None:
            self._is_asked = False
            if isinstance(answer, Failed) and answer.refusal in _LOST:
                self._again(answer.refusal)
            else:
                fate, version = self._fate_by(answer)
                self._end(WriteOutcome(fate=fate, version=version, is_fenced=is_fenced))

        self._ask(GetData(self._path), read)

    def _fate_by(self, answer: Answer) -> tuple[Fate, int]:
        """Tell by what stands there: what has been overwritten or deleted may have been ours."""
        if not isinstance(answer, Znode):
            return Fate.UNKNOWN, 0
        existing = self._existing
        is_same_znode = existing is None or answer.czxid == existing.czxid
        version_if_ours = 0 if existing is None else existing.version + 1
        if is_same_znode and answer.version == version_if_ours and answer.data == self._data:
            return Fate.STANDS, answer.version
        is_undone = existing is not None and is_same_znode and answer.version <= version_if_ours
        return Fate.NOT_WRITTEN if is_undone else Fate.UNKNOWN, 0

    def _end_undone(self) -> None:
        self._end(WriteOutcome(fate=Fate.UNKNOWN if self._is_doubtful else Fate.NOT_WRITTEN))

    def _end(self, outcome: WriteOutcome) -> None:
        if not self._is_over:
            self._is_over = True
            self._then(outcome)


_FENCE: Final = 0
_LOST: Final = (Refusal.CONNECTION_LOSS, Refusal.SESSION_EXPIRED)
# Others have been at work: elected a controller, or written or made or deleted the znode.
_ELSEWHERE: Final = (Refusal.BAD_VERSION, Refusal.NO_NODE, Refusal.NODE_EXISTS)
