"""The leader's side of replication: appending, answering fetches, moving the high watermark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.batch_builder import ValueBatchBuilder, build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.lowering_tags import shows_follows_lowerings
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.leader_change_message import LeaderChangeMessage, Voter
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.raft.context import PARTITION, TOPIC, TOPIC_ID
from falkirk.raft.fetch_answers import fetch_answer, refused_fetch
from falkirk.raft.leader_state import Leader
from falkirk.raft.output import Append
from falkirk.raft.raft_log import BOOTSTRAP_SNAPSHOT
from falkirk.raft.voter_history import BOOTSTRAP_OFFSET
from falkirk.raft.voter_set import ReplicaKey, VoterSet
from falkirk.timers import Timers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.messages.fetch_request import FetchPartition, FetchRequest
    from falkirk.protocol.messages.fetch_response import FetchResponse
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.schema import WireMessage
    from falkirk.raft.context import RaftContext
    from falkirk.raft.leader_state import ReplicaProgress
    from falkirk.raft.output import LogChange

BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""KRaft's limit for a batch, header included."""
_HIGH_WATERMARK_SINCE: Final = 18
_NO_TOPIC_NAME_SINCE: Final = 13
_REPLICA_STATE_SINCE: Final = 15


class NotLeaderError(Exception):
    """The replica does not lead, or no longer; nothing was appended."""

    error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class BatchTooLargeError(Exception):
    """The records do not fit one batch (8 MiB): nothing was appended."""

    error_code = ErrorCode.RECORD_LIST_TOO_LARGE


class SnapshotOfferRefusedError(Exception):
    """A snapshot of what is not committed may not be offered; nothing was sent."""


@dataclass(frozen=True, slots=True)
class _WaitingFetch:
    key: ReplicaKey
    request: "FetchRequest"
    partition: "FetchPartition"
    api_version: int
    deadline_ms: int


class ReplicationLeader:
    """Answers fetches in any state (other nodes return the leader); everything else needs the replica to lead.

    Fetches read what is written, which may not be synced yet. The leader's own log counts for the high watermark like
    any other, once it is.

    A replica whose fetch does not say that it can apply a record that lowers metadata.version (a real Kafka node) gets
    nothing from its batch on: it waits until the log starts behind that, and then fetches the snapshot at the log's
    start (KIP-1155). Each fetch counts for itself, since another process may have taken the node's place and disk.
    """

    def __init__(self, context: RaftContext) -> None:
        self._context = context
        self._quorum = context.quorum
        self._log = context.log
        self._waiting: dict[int, _WaitingFetch] = {}
        self._deadlines: Timers[int, int] = Timers()
        self.on_high_watermark: Callable[[Leader, int], None] = lambda _leader, _now_ms: None

    # Appending.

    def begin_epoch(self, leader: Leader, now_ms: int) -> None:
        """Append the control records that start an epoch; nothing of the epoch may be committed before.

        At kraft.version 1 they include the voters, if so far only the bootstrap snapshot has them, or if this voter's
        endpoints differ from those in the log.
        """
        assert self._log.end_offset == leader.epoch_start_offset
        change = LeaderChangeMessage(
            leader_id=leader.own_key.node_id,
            voters=[Voter(voter_id=node_id) for node_id in self._quorum.voters.ids],
            granting_voters=[Voter(voter_id=node_id) for node_id in leader.granting],
        )
        records: list[tuple[ControlRecordType, WireMessage]] = [(ControlRecordType.LEADER_CHANGE, change)]
        history = self._log.history
        if history.kraft_version >= 1 and history.voters_offset is not None:
            voters, own = history.voters, self._quorum.own_node
            if history.voters_offset == BOOTSTRAP_OFFSET or voters.needs_update(own):
                updated = voters.updated(own)
                assert updated is not None
                level = KRaftVersionRecord(kraft_version=history.kraft_version)
                records += [
                    (ControlRecordType.KRAFT_VERSION, level),
                    (ControlRecordType.KRAFT_VOTERS, updated.record()),
                ]
        self._append_control(leader, records, now_ms)

    def append(self, values: Sequence[bytes], now_ms: int) -> int:
        """Append data records as one batch; return the offset of the first. See RaftReplica.append."""
        assert values
        leader = self._quorum.state
        if not isinstance(leader, Leader):
            raise NotLeaderError(f"node {self._quorum.own_key.node_id} does not lead in epoch {leader.epoch}")
        base_offset = self._log.end_offset
        builder = ValueBatchBuilder(base_offset=base_offset, leader_epoch=leader.epoch, timestamp_ms=now_ms)
        builder.extend(values)
        if builder.size > BATCH_BYTES_MAX:
            raise BatchTooLargeError(f"{len(values)} records take {builder.size} bytes, {BATCH_BYTES_MAX} are the most")
        self._log.append(builder.build(), end_offset=base_offset + len(values), epoch=leader.epoch)
        return base_offset

    def append_voters(self, leader: Leader, voters: VoterSet, now_ms: int) -> int:
        """Append new voters, which take effect at once; return the record's offset."""
        offset = self._log.end_offset
        self._append_control(leader, [(ControlRecordType.KRAFT_VOTERS, voters.record())], now_ms)
        return offset

    def append_kraft_version(self, leader: Leader, version: int, voters: VoterSet, now_ms: int) -> None:
        """Append a kraft.version with the voters, which both take effect at once."""
        level = KRaftVersionRecord(kraft_version=version)
        self._append_control(
            leader,
            [(ControlRecordType.KRAFT_VERSION, level), (ControlRecordType.KRAFT_VOTERS, voters.record())],
            now_ms,
        )

    def _append_control(
        self, leader: Leader, messages: Sequence[tuple[ControlRecordType, WireMessage]], now_ms: int
    ) -> None:
        base_offset = self._log.end_offset
        records = []
        history = self._log.history
        for offset, (record_type, message) in enumerate(messages, base_offset):
            key, value = encode_control_record(record_type, message)
            records.append(Record(offset, now_ms, key, value))
            if isinstance(message, KRaftVersionRecord):
                history.add_kraft_version(offset, message.kraft_version)
            elif isinstance(message, VotersRecord):
                history.add_voters(offset, message)
        data = build_batch(records, base_offset=base_offset, leader_epoch=leader.epoch, is_control=True)
        self._log.append(data, end_offset=base_offset + len(records), epoch=leader.epoch)
        leader.set_voters(history.voters, now_ms + self._quorum.check_quorum_timeout_ms)
        self.update_high_watermark(leader, now_ms)

    def persisted(self, leader: Leader, now_ms: int) -> None:
        """Update our own progress after a write, and complete the fetches that waited for it."""
        own = leader.progress(leader.own_key)
        end = self._log.reader.end_offset
        if own.end_offset == end:
            return
        own.end_offset = end
        self.update_high_watermark(leader, now_ms)
        self.answer_waiting()

    def update_high_watermark(self, leader: Leader, now_ms: int) -> None:
        """Raise the high watermark if more is committed, and complete what waited for it."""
        if not leader.update_high_watermark():
            return
        assert leader.high_watermark is not None
        self._log.raise_high_watermark(leader.high_watermark)
        self.on_high_watermark(leader, now_ms)
        self.answer_waiting()

    def offer_refusal(self, snapshot: OffsetAndEpoch) -> str | None:
        """Return why a snapshot cannot be offered; None if it can."""
        leader, reader = self._quorum.state, self._log.reader
        if not isinstance(leader, Leader):
            return f"node {self._quorum.own_key.node_id} does not lead in epoch {leader.epoch}"
        if snapshot.epoch != leader.epoch or not leader.epoch_start_offset < snapshot.offset <= reader.end_offset:
            return f"{snapshot} does not end in the log of epoch {leader.epoch}"
        voters_offset = self._log.history.voters_offset
        if leader.pending_change is not None or (
            voters_offset is not None and reader.lowerings and voters_offset >= reader.lowerings[0].base_offset
        ):
            return "the voters change"
        if not leader.can_offer(snapshot):
            return (
                f"of {len(leader.voters)} voters too few have offset {snapshot.offset - 1}: once one has fetched the "
                "snapshot, the others could still elect a leader without it; one replica of falkirk suffices for at "
                "most 4 voters"
            )
        return None

    def offer_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Offer a snapshot to voters that are held back. See RaftReplica.offer_snapshot."""
        refusal = self.offer_refusal(snapshot)
        if refusal is not None:
            raise SnapshotOfferRefusedError(refusal)
        leader = self._quorum.state
        assert isinstance(leader, Leader)
        leader.offered_snapshot = snapshot
        self.answer_waiting()

    # Fetches.

    def receive_fetch(self, token: int, request: FetchRequest, api_version: int, now_ms: int) -> None:
        """Answer a fetch, at once or when there is something new."""
        if self._context.is_foreign(request.cluster_id):
            self._context.reply(token, refused_fetch(ErrorCode.INCONSISTENT_CLUSTER_ID))
            return
        if not _is_metadata_partition(request, api_version):
            self._context.reply(token, refused_fetch(ErrorCode.INVALID_REQUEST))
            return
        partition = request.topics[0].partitions[0]
        if (
            request.max_wait_ms < 0
            or partition.fetch_offset < 0
            or not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch
        ):
            self._context.reply(token, fetch_answer(self._context, api_version, error=ErrorCode.INVALID_REQUEST))
            return
        node_id = request.replica_state.replica_id if api_version >= _REPLICA_STATE_SINCE else request.replica_id
        fetch = _WaitingFetch(
            ReplicaKey(node_id, partition.replica_directory_id),
            request,
            partition,
            api_version,
            now_ms + request.max_wait_ms,
        )
        self._update_progress(fetch, now_ms)
        answer, is_complete = self._answer(fetch)
        if is_complete or request.max_wait_ms == 0:
            self._send(token, fetch, answer)
        else:
            self._waiting[token] = fetch
            self._deadlines.schedule(token, fetch.deadline_ms, token)

    def answer_waiting(self) -> None:
        """Complete the waiting fetches for which there is something new."""
        if not self._waiting:
            return
        for token, fetch in list(self._waiting.items()):
            answer, is_complete = self._answer(fetch)
            if is_complete:
                self.forget(token)
                self._send(token, fetch, answer)

    def has_awaited(self, changes: Sequence[LogChange]) -> bool:
        """Return whether these changes are appends for which other voters wait."""
        leader = self._quorum.state
        if not (changes and self._waiting and isinstance(leader, Leader)):
            return False
        is_awaited = any(leader.voter_progress(fetch.key) is not None for fetch in self._waiting.values())
        return is_awaited and all(isinstance(change, Append) for change in changes)

    def answer_expired(self, now_ms: int) -> None:
        """Complete the waiting fetches whose maximum wait has passed."""
        while (token := self._deadlines.pop_due(now_ms)) is not None:
            fetch = self._waiting.pop(token)
            self._send(token, fetch, self._answer(fetch)[0])

    def stop_leading(self) -> None:
        """Refer all waiting fetches to the new leader."""
        for token, fetch in self._waiting.items():
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            self._context.reply(token, fetch_answer(self._context, fetch.api_version, error=error))
        self._waiting.clear()
        self._deadlines.clear()

    def forget(self, token: int) -> None:
        """Drop a waiting fetch."""
        self._waiting.pop(token, None)
        self._deadlines.cancel(token)

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next waiting fetch must be answered."""
        return self._deadlines.next_due_ms

    def _send(self, token: int, fetch: _WaitingFetch, answer: FetchResponse) -> None:
        self._context.reply(token, answer)
        leader = self._quorum.state
        if isinstance(leader, Leader) and leader.high_watermark is not None and fetch.key.node_id >= 0:
            leader.progress(fetch.key).sent_high_watermark = leader.high_watermark

    def _answer(self, fetch: _WaitingFetch) -> tuple[FetchResponse, bool]:
        """Return the response, and whether it has something new."""
        context, partition = self._context, fetch.partition
        error = context.leader_error(partition.current_leader_epoch)
        leader = self._quorum.state
        if error or not isinstance(leader, Leader):
            return fetch_answer(context, fetch.api_version, error=error), True
        if fetch.key.node_id == leader.own_key.node_id:
            return fetch_answer(context, fetch.api_version, error=ErrorCode.UNKNOWN_SERVER_ERROR), True
        if self._log.is_rewinding:
            return fetch_answer(context, fetch.api_version, high_watermark=leader.high_watermark), False
        offset = partition.fetch_offset
        snapshot, diverging = self._place(offset, partition.last_fetched_epoch)
        if snapshot is None and diverging is None:
            snapshot = self._offered(leader, fetch)
        if snapshot is not None or diverging is not None:
            answer = fetch_answer(
                context,
                fetch.api_version,
                high_watermark=leader.high_watermark,
                diverging=diverging,
                snapshot=snapshot,
            )
            return answer, True
        records = b""
        ceiling = self._ceiling(fetch)
        if offset < (self._log.reader.end_offset if ceiling is None else ceiling):
            bytes_max = min(max(fetch.request.max_bytes, 0), context.config.fetch_bytes_max)
            records = self._log.reader.read(offset, bytes_max)
            if ceiling is not None:
                records = _before(records, ceiling)
        answer = fetch_answer(context, fetch.api_version, high_watermark=leader.high_watermark, records=records)
        return answer, bool(records) or self._lacks_high_watermark(leader, fetch)

    @property
    def held_back_end(self) -> int | None:
        """See RaftReplica.held_back_end."""
        leader, lowerings = self._quorum.state, self._log.reader.lowerings
        if not isinstance(leader, Leader) or not lowerings:
            return None
        ends = (
            each.end_offset
            for each in (*leader.voters.values(), *leader.observers.values())
            if each.key.node_id != leader.own_key.node_id
            and not each.follows_lowerings
            and (each.fetched_offer is None or each.fetched_offer != leader.offered_snapshot)
        )
        return max((end for end in ends if end is not None and end > lowerings[0].base_offset), default=None)

    def _ceiling(self, fetch: _WaitingFetch) -> int | None:
        """Return the offset from which on a replica is held back; None if it is not."""
        lowerings = self._log.reader.lowerings
        if not lowerings or shows_follows_lowerings(fetch.request.unknown_tagged_fields):
            return None
        return lowerings[0].base_offset

    def _offered(self, leader: Leader, fetch: _WaitingFetch) -> OffsetAndEpoch | None:
        """Return the snapshot that a voter is to fetch because nothing else of the log is for it.

        Observers wait for the commit: they block no election, so they could have what is lost.
        """
        snapshot, ceiling = leader.offered_snapshot, self._ceiling(fetch)
        offset, epoch = fetch.partition.fetch_offset, fetch.partition.last_fetched_epoch
        if snapshot is None or ceiling is None or offset < ceiling or leader.voter_progress(fetch.key) is None:
            return None
        return snapshot if (snapshot.epoch, snapshot.offset) > (epoch, offset) else None

    def _update_progress(self, fetch: _WaitingFetch, now_ms: int) -> None:
        """Record a fetch that fits our log: the replica has everything before its offset."""
        leader, partition = self._quorum.state, fetch.partition
        if (
            not isinstance(leader, Leader)
            or partition.current_leader_epoch != leader.epoch
            or fetch.key.node_id in (-1, leader.own_key.node_id)
            or self._log.is_rewinding
            or self._place(partition.fetch_offset, partition.last_fetched_epoch) != (None, None)
        ):
            return
        progress = leader.progress(fetch.key)
        self._note_offered_snapshot(leader, progress, fetch)
        progress.fetched(partition.fetch_offset, self._log.reader.end_offset, now_ms)
        progress.follows_lowerings = shows_follows_lowerings(fetch.request.unknown_tagged_fields)
        leader.voter_fetched(fetch.key, now_ms, self._quorum.check_quorum_timeout_ms)
        if leader.voter_progress(fetch.key) is not None:
            self.update_high_watermark(leader, now_ms)

    def _note_offered_snapshot(self, leader: Leader, progress: ReplicaProgress, fetch: _WaitingFetch) -> None:
        """Recognise a held-back replica that reaches the offered snapshot's end: nothing but that leads there."""
        snapshot, ceiling = leader.offered_snapshot, self._ceiling(fetch)
        if snapshot is None or ceiling is None or progress.end_offset is None or ceiling >= snapshot.offset:
            return
        if progress.end_offset < snapshot.offset == fetch.partition.fetch_offset:
            progress.fetched_offer = snapshot

    def _lacks_high_watermark(self, leader: Leader, fetch: _WaitingFetch) -> bool:
        """Return whether the replica lacks our high watermark.

        Before version 18 a request does not contain the replica's. Differs from Kafka, which lets such a replica wait:
        we remember what we sent, so that older followers, too, learn of commits at once.
        """
        high_watermark = leader.high_watermark
        if high_watermark is None or fetch.key.node_id < 0:
            return False
        # A replica that is held back can know it up to its own end only.
        high_watermark = min(high_watermark, fetch.partition.fetch_offset)
        if fetch.api_version >= _HIGH_WATERMARK_SINCE:
            return fetch.partition.high_watermark < high_watermark
        return leader.progress(fetch.key).sent_high_watermark < high_watermark

    def _place(self, offset: int, epoch: int) -> tuple[OffsetAndEpoch | None, OffsetAndEpoch | None]:
        """Return (snapshot to fetch, point of divergence) for a follower's position; both None if it fits.

        As Kafka's ReplicatedLog.validateOffsetAndEpoch.
        """
        reader = self._log.reader
        latest = reader.latest_snapshot
        if offset == 0:
            if latest is not None and latest != BOOTSTRAP_SNAPSHOT:
                return latest, None
            if reader.start_offset == 0:
                return None, None
        earliest = reader.earliest_snapshot
        start = reader.start_offset
        if earliest is not None and (
            offset < start or (offset == start and epoch != earliest.epoch) or epoch < earliest.epoch
        ):
            assert latest is not None
            return latest, None
        end = reader.end_offset_for_epoch(epoch)
        if end.epoch != epoch or end.offset < offset:
            return None, end
        return None, None


def _before(records: bytes, offset: int) -> bytes:
    """Return the batches that begin before an offset."""
    for batch in read_batches(records):
        if batch.base_offset >= offset:
            return records[: batch.position]
    return records


def _is_metadata_partition(request: FetchRequest, api_version: int) -> bool:
    if len(request.topics) != 1:
        return False
    topic = request.topics[0]
    named = topic.topic_id == TOPIC_ID if api_version >= _NO_TOPIC_NAME_SINCE else topic.topic == TOPIC
    return named and len(topic.partitions) == 1 and topic.partitions[0].partition == PARTITION
