"""Executes what the replica of the metadata log wants: persist, send, apply, in this order.

All that a step's requests led to is persisted at once, with one sync of the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.errors import RecordError
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError, UnfitError
from falkirk.node.peers import PeerFailure
from falkirk.node.release_gate import UnsupportedLevelError
from falkirk.raft.output import Append, InstallSnapshot, OutboundReply, Truncate, WriteSnapshotChunk
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.node.dispatcher import Dispatcher
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.node.peers import Peers
    from falkirk.node.snapshot_generator import SnapshotGenerator
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.output import LeaderAndEpoch, LogChange, OutboundRequest, RaftOutput
    from falkirk.storage.metadata_log import MetadataLog

PURPOSE: Final = "raft"


class QuorumDriver:
    """Between the replica and disk, peers and image. `on_leader` is told of every change of the leadership."""

    def __init__(
        self,
        state: NodeState,
        log: MetadataLog,
        *,
        peers: Peers,
        dispatcher: Dispatcher,
        snapshots: SnapshotGenerator,
        on_leader: Callable[[LeaderAndEpoch], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._state = state
        self._log = log
        self._peers = peers
        self._dispatcher = dispatcher
        self._snapshots = snapshots
        self._on_leader = on_leader
        self._effects = effects

    def run(self) -> bool:
        """Do what there is to do, until there is nothing more; say whether there was anything.

        Raises OSError, CorruptFileError and FatalError: the node cannot go on then.
        """
        raft, ran = self._state.raft, False
        while not (output := raft.take_output()).is_empty:
            ran = True
            is_installed = self._persist(output)
            raft.persisted(self._state.now_ms)
            for message in output.messages:
                self._send(message)
            self._apply(output, is_installed=is_installed)
        self._tell_facts()
        return ran

    def resign(self) -> None:
        """Give up leading, and tell the others, without applying anything more. Nothing happens if we do not lead."""
        raft = self._state.raft
        if raft.is_leader:
            raft.resign(self._state.now_ms)
            output = raft.take_output()
            self._persist(output)
            raft.persisted(self._state.now_ms)
            for message in output.messages:
                self._send(message)
            self._tell_facts()

    def _persist(self, output: RaftOutput) -> bool:
        """Write everything down; say whether a fetched snapshot was good."""
        is_installed = False
        if output.election_state is not None:
            self._log.write_election_state(output.election_state)
        for change in _joined(output.log_changes):
            match change:
                case Append(data):
                    self._log.append(data)
                case Truncate(end_offset):
                    self._log.truncate(end_offset)
                case WriteSnapshotChunk(snapshot, position, data):
                    self._log.write_snapshot_chunk(snapshot, position, data)
                case InstallSnapshot(snapshot):
                    is_installed = self._install(snapshot)
                case _:
                    assert_never(change)
        return is_installed

    def _install(self, snapshot: OffsetAndEpoch) -> bool:
        try:
            self._log.install_snapshot(snapshot)
        except CorruptFileError as error:
            self._effects(Fact("error", "fetched-snapshot-is-corrupt", {"reason": str(error)}))
            self._state.raft.snapshot_refused(snapshot)
            return False
        return True

    def _send(self, message: OutboundRequest | OutboundReply) -> None:
        if isinstance(message, OutboundReply):
            self._dispatcher.answer_from_raft(message.token, message.message)
            return
        request_id, raft, state = message.request_id, self._state.raft, self._state

        def answered(answer: WireMessage | PeerFailure) -> None:
            if isinstance(answer, PeerFailure):
                raft.request_failed(request_id, state.now_ms, is_unsupported_version=answer.is_unsupported_version)
            else:
                raft.receive_response(request_id, answer, state.now_ms)

        self._peers.send(
            PURPOSE,
            message.endpoint,
            message.message,
            timeout_ms=message.timeout_ms,
            now_ms=state.now_ms,
            done=answered,
        )

    def _apply(self, output: RaftOutput, *, is_installed: bool) -> None:
        # First who leads: what was decided under another leader may stand at the same offsets, and be something else.
        if output.leader is not None:
            self._on_leader(output.leader)
        if output.installed_snapshot is not None and is_installed:
            self._load(output.installed_snapshot)
        if output.high_watermark is not None:
            self._state.applier.apply_up_to(output.high_watermark)
            self._dispatcher.answer_committed(output.high_watermark)

    def _tell_facts(self) -> None:
        for fact in self._state.raft.take_facts():
            self._effects(Fact(fact.level, fact.event, fact.fields))

    def _load(self, snapshot: OffsetAndEpoch) -> None:
        try:
            self._state.applier.load_snapshot(snapshot)
        except UnsupportedLevelError as error:
            raise UnfitError(f"This node must not go on: {error}") from error
        except RecordError as error:
            raise FatalError(f"Error while loading snapshot: {error}") from error
        self._snapshots.reset()


def _joined(changes: Iterable[LogChange]) -> list[LogChange]:
    """Join neighbouring appends: the log syncs once for each."""
    joined: list[LogChange] = []
    for change in changes:
        if isinstance(change, Append) and joined and isinstance(joined[-1], Append):
            joined[-1] = Append(joined[-1].data + change.data)
        else:
            joined.append(change)
    return joined
