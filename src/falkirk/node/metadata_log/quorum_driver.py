"""Executes the output of raft: persist, send, apply, in this order.

Everything that the requests of a step append is persisted with one sync of the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.endpoint import Endpoint
from falkirk.raft.output import Append, InstallSnapshot, OutboundReply, Truncate, WriteSnapshotChunk
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.effects import Effect
    from falkirk.node.metadata_log.metadata_applier import MetadataApplier
    from falkirk.node.metadata_log.snapshot_generator import SnapshotGenerator
    from falkirk.node.step import Step
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.output import LeaderAndEpoch, LogChange, OutboundRequest, RaftOutput
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.metadata_log import MetadataLog

PURPOSE: Final = "raft"


class QuorumDriver:
    """Connects the replica with disk, other nodes and image.

    Called in the order of `raft.output.RaftOutput`: `on_reply` with the token of a request and its response,
    `on_leader` at every change of the leadership, `on_committed` with the high watermark when the image has reached it.
    """

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        log: MetadataLog,
        applier: MetadataApplier,
        *,
        outbound: OutboundConnections,
        snapshots: SnapshotGenerator,
        on_reply: Callable[[int, WireMessage], None],
        on_leader: Callable[[LeaderAndEpoch], None],
        on_committed: Callable[[int], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._raft = raft
        self._log = log
        self._applier = applier
        self._outbound = outbound
        self._snapshots = snapshots
        self._on_reply = on_reply
        self._on_leader = on_leader
        self._on_committed = on_committed
        self._effects = effects
        self._cluster: ClusterImage | None = None
        self.is_unsynced = False
        # The applied offset that was acted on.
        self._noticed_offset = applier.applied_offset

    def run(self) -> bool:
        """Execute outputs until there is none; return whether there was any.

        Raises OSError, CorruptFileError and FatalError: the node cannot go on then.
        """
        raft, ran = self._raft, False
        self._notice_applied()
        while not (output := raft.pop_output()).is_empty:
            ran = True
            is_installed = self._persist(output)
            for message in output.messages:
                self._send(message)
            self._apply(output, is_installed=is_installed)
        self._log_facts()
        return ran

    def finish_append(self) -> None:
        """Sync what an earlier step has written and sent to other voters. Raises OSError."""
        if self.is_unsynced:
            self._sync()
            self._raft.persisted(self._step.now_ms)
            self._step.wake()

    def _sync(self) -> None:
        self._log.sync()
        self.is_unsynced = False

    def resign(self) -> None:
        """Resign as the leader and notify the voters, without applying anything more. No-op on other nodes."""
        raft = self._raft
        if raft.is_leader:
            raft.resign(self._step.now_ms)
            output = raft.pop_output()
            self._persist(output)
            for message in output.messages:
                self._send(message)
            self._log_facts()

    def _persist(self, output: RaftOutput) -> bool:
        """Write everything to disk; return whether a fetched snapshot was installed.

        What other voters wait for is synced in the next step, when it has been sent.
        """
        is_installed, may_send_first = False, output.may_send_first
        if output.election_state is not None or (output.log_changes and not may_send_first):
            # Raft is told when this output is written, too.
            self._sync()
        if output.election_state is not None:
            self._log.write_election_state(output.election_state)
        for change in _joined(output.log_changes):
            match change:
                case Append(data):
                    self._step.bytes_persisted += len(data)
                    self._log.append(data, is_synced=not may_send_first)
                case Truncate(end_offset):
                    self._log.truncate(end_offset)
                case WriteSnapshotChunk(snapshot, position, data):
                    self._step.bytes_persisted += len(data)
                    self._log.write_snapshot_chunk(snapshot, position, data)
                case InstallSnapshot(snapshot):
                    is_installed = self._install(snapshot)
                case _:
                    assert_never(change)
        if may_send_first:
            self.is_unsynced = True
            self._raft.written()
        elif not self.is_unsynced:
            self._raft.persisted(self._step.now_ms)
        return is_installed

    def _install(self, snapshot: OffsetAndEpoch) -> bool:
        try:
            self._log.install_snapshot(snapshot)
        except CorruptFileError as error:
            self._effects(Fact("error", "fetched-snapshot-is-corrupt", {"reason": str(error)}))
            self._raft.snapshot_refused(snapshot)
            return False
        return True

    def _send(self, message: OutboundRequest | OutboundReply) -> None:
        if isinstance(message, OutboundReply):
            self._on_reply(message.token, message.message)
            return
        request_id, raft, step = message.request_id, self._raft, self._step

        def answered(answer: WireMessage | RequestFailure) -> None:
            if isinstance(answer, RequestFailure):
                raft.request_failed(request_id, step.now_ms, is_unsupported_version=answer.is_unsupported_version)
            else:
                raft.receive_response(request_id, answer, step.now_ms)

        self._outbound.send(
            PURPOSE,
            message.endpoint,
            message.message,
            timeout_ms=message.timeout_ms,
            now_ms=step.now_ms,
            done=answered,
        )

    def _apply(self, output: RaftOutput, *, is_installed: bool) -> None:
        # The leader first: under another leader the same offsets may hold other records.
        if output.leader is not None:
            self._on_leader(output.leader)
        if output.installed_snapshot is not None and is_installed:
            self._snapshots.reset()
            self._applier.load_snapshot(output.installed_snapshot)
        if output.high_watermark is not None:
            self._applier.apply_up_to(output.high_watermark)
        self._notice_applied()

    def _notice_applied(self) -> None:
        """Act on what was applied here, or by sliced work since the last time."""
        applied_offset = self._applier.applied_offset
        if applied_offset != self._noticed_offset:
            self._step.records_applied += applied_offset - self._noticed_offset
            self._noticed_offset = applied_offset
            self._on_committed(applied_offset)
        cluster = self._applier.image.cluster
        if cluster is not self._cluster:
            self._cluster = cluster
            self._raft.set_registered_controllers(
                _quorum_endpoints(cluster, self._step.config.controller_listener_names[0])
            )

    def _log_facts(self) -> None:
        for fact in self._raft.pop_facts():
            self._effects(Fact(fact.level, fact.event, fact.fields))


def _quorum_endpoints(cluster: ClusterImage, listener: str) -> dict[int, Endpoint]:
    """Return where registered controllers listen for the quorum, by node id."""
    return {
        controller_id: Endpoint(point.host, point.port)
        for controller_id, controller in cluster.controllers.items()
        for point in controller.end_points
        if point.name.upper() == listener.upper()
    }


def _joined(changes: Iterable[LogChange]) -> list[LogChange]:
    """Join adjacent appends: the log syncs once for each."""
    joined: list[LogChange] = []
    for change in changes:
        if isinstance(change, Append) and joined and isinstance(joined[-1], Append):
            joined[-1] = Append(b"".join((joined[-1].data, change.data)))
        else:
            joined.append(change)
    return joined
