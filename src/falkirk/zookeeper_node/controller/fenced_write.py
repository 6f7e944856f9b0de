"""One write of the controller to the features znode, valid only while no other controller has been elected.

The write and the check of `/controller_epoch` are one transaction, conditional on the version of the znode that was
read before. So it can be repeated if the answer was lost, and does nothing if it was executed. The refusal of the
repetition comes from where all writes are ordered, and a later read shows what came before it; a read alone could come
from a server that has not seen the write yet.

Versions start at 0 again when a znode is deleted: one that is recreated by hand in the version that was read before is
mistaken for the old one.

Source: KIP-584, guarantees; Kafka's KafkaZkClient checks the epoch in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH
from falkirk.zookeeper_node.session.operations import (
    CheckVersion,
    Create,
    Done,
    Failed,
    GetData,
    KeeperError,
    Multi,
    SetData,
    Znode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.zookeeper_node.session.operations import Answer
    from falkirk.zookeeper_node.session.session import Session

# Half of ZooKeeper's limit for a transaction (jute.maxbuffer), and what a part has besides the data.
_TRANSACTION_BYTES_MAX: Final = 500_000
_PART_BYTES: Final = 100
_FENCE: Final = 0
_LOST: Final = (KeeperError.CONNECTION_LOSS, KeeperError.SESSION_EXPIRED)
# Others have elected a controller, or written, created or deleted the znode.
_ELSEWHERE: Final = (KeeperError.BAD_VERSION, KeeperError.NO_NODE, KeeperError.NODE_EXISTS)


class Fate(Enum):
    """Whether a write was executed."""

    STANDS = "stands"
    NOT_WRITTEN = "not written"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """How a write ended.

    `version`: of the znode, if it STANDS. `is_fenced`: another controller has been elected. `refusal`: ZooKeeper's
    error, if repeating would not help. NOT_WRITTEN without either: another writer came first, or the write was given up
    before it was sent.
    """

    fate: Fate
    version: int = 0
    is_fenced: bool = False
    refusal: str | None = None


class FencedWrite:
    """Repeats the write until its outcome is known; `then` is called once.

    `epoch_version`: of `/controller_epoch` since the election. `existing`: the znode as it was read, None if there was
    none. Then it is created in version `version_min`, or as high as one transaction gets: what was there before had
    lower ones.
    """

    def __init__(
        self,
        session: Session,
        *,
        epoch_version: int,
        path: str,
        data: bytes,
        existing: Znode | None,
        version_min: int = 0,
        then: Callable[[WriteOutcome], None],
    ) -> None:
        self._session = session
        self._path = path
        self._data = data
        self._existing = existing
        self._then = then
        parts = _created(path, data, version_min) if existing is None else (SetData(path, data, existing.version),)
        # The version of the znode if the write stands.
        self._version = len(parts) - 1 if existing is None else existing.version + 1
        self._operation = Multi((CheckVersion(CONTROLLER_EPOCH_PATH, epoch_version), *parts))
        self._is_sent = False
        # An answer was lost: the write may have been executed.
        self._is_doubtful = False
        self._is_given_up = False
        self._is_over = False

    def advance(self) -> None:
        """Send the write, or repeat it, if possible now; else at the next call."""
        if not self._is_sent and not self._is_over and self._session.is_connected:
            self._send(self._operation, self._answered)

    def give_up(self) -> None:
        """Do not send it again. An answer in flight is awaited."""
        self._is_given_up = True
        if not self._is_sent:
            self._end_undone()

    def _send(self, operation: Multi | GetData, then: Callable[[Answer], None]) -> None:
        self._is_sent = True
        self._session.send(operation, then)

    def _answered(self, answer: Answer) -> None:
        self._is_sent = False
        if isinstance(answer, Done):
            self._end(WriteOutcome(fate=Fate.STANDS, version=answer.version))
            return
        assert isinstance(answer, Failed), "a Multi is done, or not"
        if answer.refusal in _LOST:
            self._is_doubtful = True
            self._repeat(answer.refusal)
        elif answer.refusal is KeeperError.READ_ONLY:
            self._repeat(answer.refusal)
        elif answer.part == _FENCE and answer.refusal in _ELSEWHERE:
            self._overtaken(is_fenced=True)
        elif answer.refusal in _ELSEWHERE and not self._lacks_parent(answer):
            self._overtaken(is_fenced=False)
        else:
            fate = Fate.UNKNOWN if self._is_doubtful else Fate.NOT_WRITTEN
            self._end(WriteOutcome(fate=fate, refusal=answer.detail or answer.refusal.value))

    def _lacks_parent(self, answer: Failed) -> bool:
        return answer.refusal is KeeperError.NO_NODE and self._existing is None

    def _repeat(self, refusal: KeeperError) -> None:
        if self._is_given_up or refusal is KeeperError.SESSION_EXPIRED:
            self._end_undone()
        else:
            self.advance()

    def _overtaken(self, *, is_fenced: bool) -> None:
        """Find out whether it was executed before it became impossible."""
        if not self._is_doubtful:
            self._end(WriteOutcome(fate=Fate.NOT_WRITTEN, is_fenced=is_fenced))
            return

        def read(answer: Answer) -> None:
            self._is_sent = False
            if isinstance(answer, Failed) and answer.refusal in _LOST:
                self._repeat(answer.refusal)
            else:
                fate, version = self._fate_by(answer)
                self._end(WriteOutcome(fate=fate, version=version, is_fenced=is_fenced))

        self._send(GetData(self._path), read)

    def _fate_by(self, answer: Answer) -> tuple[Fate, int]:
        """Decide by the current znode; what was overwritten or deleted may have been ours."""
        if not isinstance(answer, Znode):
            return Fate.UNKNOWN, 0
        existing = self._existing
        is_same_znode = existing is None or answer.czxid == existing.czxid
        if is_same_znode and answer.version == self._version and answer.data == self._data:
            return Fate.STANDS, answer.version
        is_undone = existing is not None and is_same_znode and answer.version <= self._version
        return Fate.NOT_WRITTEN if is_undone else Fate.UNKNOWN, 0

    def _end_undone(self) -> None:
        self._end(WriteOutcome(fate=Fate.UNKNOWN if self._is_doubtful else Fate.NOT_WRITTEN))

    def _end(self, outcome: WriteOutcome) -> None:
        if not self._is_over:
            self._is_over = True
            self._then(outcome)


def _created(path: str, data: bytes, version_min: int) -> tuple[Create | SetData, ...]:
    """Return the parts that create a znode in a version: nobody sees what is between the first and the last."""
    version = min(version_min, _TRANSACTION_BYTES_MAX // (len(data) + len(path) + _PART_BYTES))
    return (Create(path, data), *(SetData(path, data, each) for each in range(version)))
