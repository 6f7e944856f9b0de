"""Coordinator topics are read from their leaders piece by piece, whatever the leaders answer."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from controllers import Broker, make_image
from coordinator_topics import transaction
from group_records import Log, member

from falkirk import slices
from falkirk.coordinator.records.log_entry import TransactionEnd
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.metadata.controller.features.coordinator_use import GroupInUse
from falkirk.node.config.node_config import Listener
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.controller.coordinator_survey import ATTEMPTS_MAX, CoordinatorSurvey
from falkirk.node.sliced_work import SlicedWorks
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    FetchResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.messages.fetch_response import FetchableTopicResponse, PartitionData
from falkirk.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from falkirk.protocol.record import Record

GROUPS, TRANSACTIONS, STATES = "__consumer_offsets", "__transaction_state", "__share_group_state"
DEADLINE_MS = 60_000
# broker.session.timeout.ms
SESSION_MS = 9000


def batch(offset, *pairs, producer_id=-1, is_transactional=False, is_control=False):
    records = [Record(offset + index, 0, key, value) for index, (key, value) in enumerate(pairs)]
    return build_batch(
        records,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        is_transactional=is_transactional,
        is_control=is_control,
    )


@dataclass
class Leaders:
    """Stands for all brokers: answers from logs, `errors` first. A log is its batches by base offset."""

    logs: dict[tuple[str, int], dict[int, bytes]]
    errors: list = field(default_factory=list)
    piece_bytes: int = 1_000_000
    asked: list = field(default_factory=list)
    # What is written, by partition, while a fetch waits; time passes if there is nothing more.
    later: list = field(default_factory=list)
    # Until then no leader knows that it is one.
    unaware_until_ms: int = 0
    # Errors of InitProducerId, and the ids that were asked for.
    init_errors: list = field(default_factory=list)
    aborted: list = field(default_factory=list)
    # Answers that are under way.
    answers: list = field(default_factory=list)
    # How many steps the work took behind the first one.
    steps: int = 0
    step: SimpleNamespace = None
    metadata: SimpleNamespace = None

    def send(self, _purpose, endpoint, message, *, done, listener, delay_ms, **_times):
        self.step.now_ms += delay_ms
        self.asked.append((type(message).__name__, endpoint, listener))
        if isinstance(message, InitProducerIdRequest):
            self.aborted.append((message.transactional_id, message.transaction_timeout_ms))
            error = self.init_errors.pop(0) if self.init_errors else ErrorCode.CONCURRENT_TRANSACTIONS
            self.answer(done, InitProducerIdResponse(error_code=error))
            return
        if self.step.now_ms < self.unaware_until_ms:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif self.errors:
            error = self.errors.pop(0)
            if isinstance(error, RequestFailure):
                self.answer(done, error)
                return
        else:
            error = 0
        is_offset = isinstance(message, ListOffsetsRequest)
        self.answer(done, self.offsets(message, error) if is_offset else self.fetched(message, error))

    def answer(self, done, response):
        """Answer in a later step."""
        self.answers.append(lambda: done(response))

    def offsets(self, message, error):
        (topic,) = message.topics
        (partition,) = topic.partitions
        assert partition.timestamp == -2
        start = min(self.logs[topic.name, partition.partition_index], default=0)
        found = ListOffsetsPartitionResponse(partition.partition_index, error, offset=start)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(topic.name, [found])])

    def fetched(self, message, error):
        (topic,) = message.topics
        (partition,) = topic.partitions
        if message.max_wait_ms:
            self.wait(message)
        log = self.logs[topic.topic, partition.partition]
        end = 0
        for offset in log:
            end = offset + int.from_bytes(log[offset][23:27], "big") + 1
        data = (
            b"".join(log[offset] for offset in log if offset >= max(at for at in log if at <= partition.fetch_offset))
            if log
            else b""
        )
        found = PartitionData(partition.partition, error, high_watermark=end, records=data[: self.piece_bytes])
        return FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, [found])])

    def wait(self, message):
        if not self.later:
            self.step.now_ms += message.max_wait_ms
            return
        for where, pair in self.later.pop(0):
            log = self.logs[where]
            log[len(log)] = batch(len(log), pair)


def survey(leaders, *, topics=(GROUPS, TRANSACTIONS), leader=1, own_listener=None, name=None, **waiting):
    """Survey one partition for each log; return what is told."""
    records = []
    for topic in sorted({topic for topic, _ in leaders.logs}):
        topic_id = topic.encode()[:16].ljust(16)
        records.append(TopicRecord(topic, topic_id))
        records += [
            PartitionRecord(partition_id=partition, topic_id=topic_id, replicas=(1,), isr=(1,), leader=leader)
            for of, partition in sorted(leaders.logs)
            if of == topic
        ]
    listener = own_listener or Listener(
        name="CONTROLLER",
        security_protocol="PLAINTEXT",
        endpoint=Endpoint("c", 1),
        advertised=Endpoint("c", 1),
        is_controller=True,
    )
    config = SimpleNamespace(inter_broker_listener_name=name, listeners=(listener,))
    step = SimpleNamespace(now_ms=0, config=config, works=SlicedWorks(lambda: None))
    metadata = SimpleNamespace(image=make_image(brokers=[Broker(broker_id=1)], records=records))
    told = []
    leaders.step, leaders.metadata = step, metadata
    CoordinatorSurvey(step, metadata, leaders, topics, deadline_ms=DEADLINE_MS, done=told.append, **waiting).start()
    while leaders.answers or step.works.is_busy:
        if leaders.answers:
            leaders.answers.pop(0)()
        else:
            leaders.steps += 1
            step.works.progress()
    (use,) = told
    return use


def test_transactions_and_groups_of_all_partitions_are_found():
    log = Log()
    log.value(11, "shares", epoch=1)
    log.value(5, member("modern", "b"))
    log.value(5, member("modern", "a"))
    log.commit("modern", 0)
    log.commit("modern", 1)
    pairs = [(entry.key, entry.value) for entry in log.entries]
    leaders = Leaders(
        {
            (GROUPS, 0): {0: batch(0, *pairs)},
            (GROUPS, 1): {},
            (TRANSACTIONS, 0): {0: batch(0, transaction("b", TransactionState.PREPARE_COMMIT))},
            (TRANSACTIONS, 1): {0: batch(0, transaction("a", TransactionState.ONGOING))},
        }
    )
    use = survey(leaders)
    assert use.groups == (
        GroupInUse("modern", "consumer", 2, 0, ("a", "b"), committed=2),
        GroupInUse("shares", "share", 0, 0),
    )
    assert [(each.transactional_id, each.state) for each in use.transactions] == [
        ("a", "ongoing"),
        ("b", "prepare commit"),
    ]
    assert use.unread == ()


def test_a_step_reads_some_records_and_takes_up_some_groups(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 2)
    log = Log()
    for number in range(5):
        log.commit(f"plain-{number}")
    pairs = [(entry.key, entry.value) for entry in log.entries]
    leaders = Leaders({(GROUPS, 0): {0: batch(0, *pairs)}})
    assert len(survey(leaders).groups) == 5
    assert leaders.steps == 5 + 5


def test_states_of_share_groups_are_counted_over_all_partitions_of_their_topic():
    log = Log()
    log.value(11, "shares", epoch=1)
    states = [b"\0\0" + b"\0\6shares" + bytes(16) + number.to_bytes(4, "big") for number in range(3)]
    leaders = Leaders(
        {
            (GROUPS, 0): {0: batch(0, *((entry.key, entry.value) for entry in log.entries))},
            (STATES, 0): {0: batch(0, *((state, b"x") for state in states[:2]))},
            (STATES, 1): {0: batch(0, (states[2], b"x"))},
        }
    )
    use = survey(leaders, topics=(GROUPS, STATES))
    assert use.groups == (GroupInUse("shares", "share", 0, 0, share_partitions=3),)
    assert use.unread == ()


def test_a_log_is_read_in_pieces_from_its_start_and_its_last_record_counts():
    batches = {offset: batch(offset, transaction("t", TransactionState.ONGOING)) for offset in range(40, 50)}
    batches[50] = batch(50, transaction("t", TransactionState.COMPLETE_COMMIT))
    # Each answer has a whole batch and a part of the next.
    leaders = Leaders({(TRANSACTIONS, 0): batches}, piece_bytes=len(batches[40]) + 20)
    assert survey(leaders).transactions == ()
    assert len(leaders.asked) == 1 + 11
    del batches[50]
    assert [each.offset for each in survey(leaders).transactions] == [49]


def open_in(*partitions):
    """Leaders of partitions that each have an open transaction, `t0`, `t1` ..."""
    return Leaders(
        {(TRANSACTIONS, each): {0: batch(0, transaction(f"t{each}", TransactionState.ONGOING))} for each in partitions}
    )


def test_the_end_of_open_transactions_is_waited_for():
    leaders = open_in(0, 1)
    leaders.later = [
        [((TRANSACTIONS, 0), transaction("t0", TransactionState.PREPARE_COMMIT))],
        [((TRANSACTIONS, 0), transaction("t0", TransactionState.COMPLETE_COMMIT))],
        [((TRANSACTIONS, 1), transaction("t1", TransactionState.COMPLETE_ABORT))],
    ]
    use = survey(leaders, waits=True)
    assert (use.transactions, use.aborted, use.unended, use.unread) == ((), (), (), ())
    assert leaders.aborted == []


def test_what_begins_meanwhile_is_named_and_not_waited_for():
    leaders = open_in(0)
    leaders.later = [
        [((TRANSACTIONS, 0), transaction("new", TransactionState.ONGOING))],
        [((TRANSACTIONS, 0), transaction("t0", TransactionState.ONGOING, start_timestamp_ms=77))],
    ]
    use = survey(leaders, waits=True)
    assert [each.transactional_id for each in use.transactions] == ["new", "t0"]
    assert use.unended == ()


def test_transactions_that_do_not_end_are_named_when_time_is_up():
    leaders = open_in(0, 1)
    leaders.later = [[((TRANSACTIONS, 0), transaction("t0", TransactionState.COMPLETE_ABORT))]]
    use = survey(leaders, waits=True)
    (sentence,) = use.unended
    assert str(sentence) == (
        "transactional id t1 has an open transaction (ongoing) of producer 5 with epoch 2 since "
        "1970-01-01T00:00:00.009000+00:00 in t-0"
    )
    assert [each.transactional_id for each in use.transactions] == ["t1"]
    assert use.unread == ()


def test_whoever_has_not_ended_in_any_partition_is_named():
    use = survey(open_in(0, 1, 2), waits=True)
    assert [each.transaction.transactional_id for each in use.unended] == ["t0", "t1", "t2"]
    assert use.unread == ()


def test_open_transactions_are_aborted_once_and_decided_ones_are_not():
    leaders = open_in(0)
    leaders.logs[TRANSACTIONS, 0][1] = batch(1, transaction("decided", TransactionState.PREPARE_COMMIT))
    leaders.init_errors = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    leaders.later = [
        [],
        [],
        [((TRANSACTIONS, 0), transaction("t0", TransactionState.PREPARE_ABORT))],
        [((TRANSACTIONS, 0), transaction("t0", TransactionState.COMPLETE_ABORT))],
        [((TRANSACTIONS, 0), transaction("decided", TransactionState.COMPLETE_COMMIT))],
    ]
    use = survey(leaders, waits=True, aborts=True)
    assert leaders.aborted == [("t0", 60_000)] * 2
    assert [each.transactional_id for each in use.aborted] == ["t0"]
    assert (use.transactions, use.unended) == ((), ())


def test_a_refused_abort_is_named():
    leaders = open_in(0)
    leaders.init_errors = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    (sentence,) = survey(leaders, waits=True, aborts=True).unended
    assert str(sentence).endswith("(not aborted: TRANSACTIONAL_ID_AUTHORIZATION_FAILED)")
    assert len(leaders.aborted) == 1


class LeavingLeaders(Leaders):
    """Those of which none is left once it has answered a fetch."""

    def fetched(self, message, error):
        topics = self.metadata.image.topics
        self.metadata.image = SimpleNamespace(topics=topics, cluster=SimpleNamespace(brokers={}))
        return super().fetched(message, error)


def test_a_leader_that_goes_before_the_abort_ends_the_wait_once():
    leaders = LeavingLeaders(open_in(0).logs)
    leaders.logs[TRANSACTIONS, 0][1] = batch(1, transaction("t1", TransactionState.ONGOING))
    use = survey(leaders, waits=True, aborts=True)
    assert [each.transaction.transactional_id for each in use.unended] == ["t0", "t1"]
    assert [each.transactional_id for each in use.transactions] == ["t0", "t1"]


def test_a_leader_that_changes_does_not_end_the_wait():
    leaders = open_in(0)
    leaders.later = [[], [((TRANSACTIONS, 0), transaction("t0", TransactionState.COMPLETE_COMMIT))]]
    leaders.errors = [0, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER]
    use = survey(leaders, waits=True)
    assert (use.transactions, use.unended, use.unread) == ((), (), ())


def test_offsets_of_an_aborted_transaction_are_none():
    log = Log()
    log.commit("aborted", producer=9)
    (entry,) = log.entries
    end = (b"\0\0" + int(ControlRecordType.ABORT).to_bytes(2, "big"), b"\0\0\0\0\0\0")
    batches = {
        0: batch(0, (entry.key, entry.value), producer_id=9, is_transactional=True),
        1: batch(1, end, producer_id=9, is_transactional=True, is_control=True),
    }
    assert isinstance(log.end(9, commit=False), TransactionEnd)
    assert survey(Leaders({(GROUPS, 0): batches})).groups == ()


def test_a_partition_is_begun_anew_when_its_leader_changes():
    batches = {0: batch(0, transaction("t", TransactionState.ONGOING))}
    errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER, RequestFailure("gone")]
    use = survey(Leaders({(TRANSACTIONS, 0): batches}, errors=errors))
    assert [each.transactional_id for each in use.transactions] == ["t"]
    assert use.unread == ()


def test_what_stays_unreadable_is_named_with_why_and_the_rest_is_read():
    leaders = Leaders(
        {
            (TRANSACTIONS, 0): {0: batch(0, transaction("t", TransactionState.ONGOING))},
            (TRANSACTIONS, 1): {0: batch(0, transaction("u", TransactionState.ONGOING))},
        },
        errors=[ErrorCode.KAFKA_STORAGE_ERROR] * ATTEMPTS_MAX,
    )
    use = survey(leaders)
    assert [str(each) for each in use.unread] == ["__transaction_state-0: KAFKA_STORAGE_ERROR"]
    assert [each.transactional_id for each in use.transactions] == ["u"]


def test_a_right_that_is_missing_is_named_at_once():
    leaders = open_in(0)
    leaders.errors = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    use = survey(leaders)
    assert [str(each) for each in use.unread] == ["__transaction_state-0: TOPIC_AUTHORIZATION_FAILED"]
    assert leaders.step.now_ms == 0


def test_a_leader_that_does_not_know_yet_that_it_is_one_is_asked_again_after_a_while():
    leaders = open_in(0)
    leaders.unaware_until_ms = SESSION_MS
    use = survey(leaders)
    assert [each.transactional_id for each in use.transactions] == ["t0"]
    assert use.unread == ()


def test_bytes_that_are_no_batches_are_named():
    spoilt = bytearray(batch(0, transaction("t", TransactionState.ONGOING)))
    spoilt[-1] ^= 1
    (unread,) = survey(Leaders({(TRANSACTIONS, 0): {0: bytes(spoilt)}})).unread
    assert str(unread).startswith("__transaction_state-0: CRC of the batch of offset 0 is ")


def test_partitions_without_leaders_are_named_however_many_there_are():
    leaders = Leaders({(GROUPS, partition): {} for partition in range(2000)})
    use = survey(leaders, leader=-1)
    assert len(use.unread) == 2000
    assert str(use.unread[0]) == "__consumer_offsets-0: it has no leader"
    assert leaders.asked == []


def test_brokers_are_spoken_to_on_a_listener_that_this_node_can_speak():
    def asked(**fields):
        leaders = Leaders({(GROUPS, 0): {}})
        use = survey(leaders, **fields)
        return use.unread or {(endpoint, listener) for _, endpoint, listener in leaders.asked}

    broker = Endpoint("broker-1", 9092)
    secure = Listener(
        name="SECURE",
        security_protocol="SSL",
        endpoint=Endpoint("c", 1),
        advertised=Endpoint("c", 1),
        is_controller=True,
    )
    # As secure as the controllers' own listener, with its settings.
    assert asked() == {(broker, "CONTROLLER")}
    # The one of the brokers among themselves, where this node is a broker.
    assert asked(name="PLAINTEXT") == {(broker, "PLAINTEXT")}
    # Without security, where there is no such.
    assert asked(own_listener=secure) == {(broker, "PLAINTEXT")}
