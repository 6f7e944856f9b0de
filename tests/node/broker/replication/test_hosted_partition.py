"""A leader's view of its followers: high watermark, in-sync replicas, what the controller answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.metadata.image.broker_registration import BrokerRegistration
from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.metadata.image.partition import Partition as PartitionState
from falkirk.node.broker.replication.hosted_partition import HostedPartition
from falkirk.node.broker.replication.isr import AlteredIsr, ProposedIsr
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from collections.abc import Callable

LAG_MS = 1_000
KEY = TopicIdPartition(b"t" * 16, "t", 0)
D1, D2 = b"1" * 16, b"2" * 16


class LogInMemory(UnifiedLog):
    """As much of a log as a leader looks at."""

    def __init__(self, log_end_offset: int, config: LogConfig) -> None:
        self.log_end_offset = log_end_offset
        self.high_watermark = self.log_start_offset = 0
        self.config = config

    def update_high_watermark(self, offset: int) -> bool:
        assert offset <= self.log_end_offset
        moved, self.high_watermark = offset != self.high_watermark, offset
        return moved

    def assign_epoch_start_offset(self, epoch: int, start_offset: int) -> None:
        pass


def fail(_log: object, error: OSError) -> None:
    raise error


class Leader:
    """Broker 1 as the leader of a partition with replicas 1, 2 and 3."""

    def __init__(self, *, isr: tuple[int, ...] = (1, 2, 3), min_insync_replicas: int = 1, end_offset: int = 0) -> None:
        self.log = LogInMemory(end_offset, LogConfig(min_insync_replicas=min_insync_replicas))
        self.brokers = {
            broker: BrokerRegistration(broker, 100 + broker, bytes(16), fenced=False) for broker in (1, 2, 3)
        }
        self.sent: list[tuple[ProposedIsr, Callable[[AlteredIsr | ErrorCode], None]]] = []
        self.progress = 0
        self.context = SimpleNamespace(
            node_id=1,
            now_ms=0,
            broker_epoch=101,
            settings=SimpleNamespace(replica_lag_time_max_ms=LAG_MS),
            alive=self.alive,
        )
        self.partition = HostedPartition(KEY, self.context, self, lambda _: self.progressed(), fail)
        self.lead(isr)

    def lead(
        self,
        isr: tuple[int, ...],
        *,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        directories: tuple[bytes, ...] = (bytes(16),) * 3,
    ) -> None:
        state = PartitionState((1, 2, 3), directories, isr, 1, leader_epoch, partition_epoch)
        self.partition.make_leader(state, self.log)

    def alive(self, broker: int) -> BrokerRegistration | None:
        registered = self.brokers.get(broker)
        return None if registered is None or registered.fenced else registered

    def progressed(self) -> None:
        self.progress += 1

    def submit(self, _: object, proposed: ProposedIsr, done: Callable[[AlteredIsr | ErrorCode], None]) -> None:
        self.sent.append((proposed, done))

    def append(self, count: int = 1) -> None:
        self.log.log_end_offset += count
        self.partition.appended()

    def fetch(self, broker: int, offset: int, *, broker_epoch: int | None = None, log_start: int = 0) -> ErrorCode:
        return self.partition.follower_fetched(
            self.partition.remote_replicas[broker],
            offset,
            log_start,
            end_offset=self.log.log_end_offset,
            broker_epoch=100 + broker if broker_epoch is None else broker_epoch,
        )

    def agree(self, isr: tuple[int, ...], partition_epoch: int = 1) -> None:
        _, done = self.sent.pop()
        done(AlteredIsr(isr=isr, leader_epoch=0, partition_epoch=partition_epoch, leader_recovery_state=0))


def test_the_high_watermark_is_the_lowest_end_of_those_in_sync():
    leader = Leader()
    leader.append(5)
    leader.fetch(2, 3)
    assert leader.log.high_watermark == 0

    leader.fetch(3, 2)
    assert leader.log.high_watermark == 2

    leader.fetch(3, 5)
    assert leader.log.high_watermark == 3
    assert leader.progress >= 2


def test_a_leader_that_is_alone_in_sync_commits_at_once():
    leader = Leader(isr=(1,))
    leader.context.now_ms = 10 * LAG_MS

    leader.append(3)

    assert leader.log.high_watermark == 3


def test_below_min_insync_replicas_nothing_is_committed():
    leader = Leader(isr=(1,), min_insync_replicas=2)
    leader.context.now_ms = 10 * LAG_MS

    leader.append(3)

    assert leader.log.high_watermark == 0
    assert leader.partition.min_isr_error() is ErrorCode.NOT_ENOUGH_REPLICAS


def test_more_in_sync_than_there_are_replicas_cannot_be_asked_for():
    leader = Leader(min_insync_replicas=7)

    assert leader.partition.min_isr_error() is ErrorCode.NONE


def test_a_follower_that_has_caught_up_is_waited_for_before_it_has_joined():
    leader = Leader(isr=(1, 2))
    leader.context.now_ms = 10 * LAG_MS
    leader.append(2)
    leader.fetch(2, 2)
    assert leader.log.high_watermark == 2
    leader.fetch(3, 2)
    assert len(leader.sent) == 1

    leader.append(1)
    leader.fetch(2, 3)

    assert leader.log.high_watermark == 2


@pytest.mark.parametrize(("directory", "high_watermark"), [(D1, 3), (D2, 2), (LOST, 3), (MIGRATING, 2)])
def test_a_follower_whose_directory_has_failed_is_not_waited_for(directory: bytes, high_watermark: int):
    leader = Leader()
    leader.append(2)
    for broker in (2, 3):
        leader.fetch(broker, 2)
    leader.append(1)
    leader.fetch(2, 3)
    assert leader.log.high_watermark == 2

    # The controller has heard that D1 of broker 3 has failed.
    leader.brokers[3] = BrokerRegistration(3, 103, bytes(16), fenced=False, log_dirs=(D2,))
    leader.lead((1, 2), partition_epoch=1, directories=(UNASSIGNED, UNASSIGNED, directory))

    assert leader.log.high_watermark == high_watermark


def test_a_follower_joins_when_it_has_the_high_watermark_and_the_start_of_the_epoch():
    leader = Leader(isr=(1, 2), end_offset=10)
    leader.log.high_watermark = 4

    leader.fetch(3, 4)
    leader.fetch(3, 9)
    assert leader.sent == []

    leader.fetch(3, 10)
    proposed, _ = leader.sent[0]
    # Of a broker that has not fetched in this epoch the leader knows no life.
    assert proposed.brokers == {1: 101, 2: -1, 3: 103}
    assert proposed.added == 3


@pytest.mark.parametrize("broker_epoch", [102, 104])
def test_a_follower_in_another_life_than_the_controller_knows_does_not_join(broker_epoch):
    leader = Leader(isr=(1, 2))

    error = leader.fetch(3, 0, broker_epoch=broker_epoch)

    assert leader.sent == []
    assert (error is ErrorCode.NOT_LEADER_OR_FOLLOWER) == (broker_epoch < 103)


@pytest.mark.parametrize("change", [{"fenced": True}, {"in_controlled_shutdown": True}])
def test_a_follower_that_the_controller_would_refuse_is_not_proposed(change):
    leader = Leader(isr=(1, 2))
    leader.brokers[3] = BrokerRegistration(3, 103, bytes(16), **{"fenced": False, **change})

    leader.fetch(3, 0)

    assert leader.sent == []


def test_an_old_follower_that_tells_no_epoch_may_join():
    leader = Leader(isr=(1, 2))

    leader.fetch(3, 0, broker_epoch=-1)

    assert len(leader.sent) == 1


def test_who_joins_counts_before_the_controller_has_agreed_and_who_leaves_until_it_has():
    leader = Leader(isr=(1, 2))
    leader.fetch(3, 0)
    assert leader.partition.isr.maximal == {1, 2, 3}
    leader.agree((1, 2, 3))
    assert leader.partition.isr.committed == {1, 2, 3}

    leader.context.now_ms = LAG_MS + 1
    leader.append()
    leader.partition.shrink()
    proposed, _ = leader.sent[0]
    assert dict(proposed.brokers) == {1: 101}
    assert leader.partition.isr.maximal == {1, 2, 3}
    assert leader.log.high_watermark == 0

    leader.agree((1,), 2)
    assert leader.log.high_watermark == 1


def test_a_follower_at_the_end_is_not_taken_out_however_long_nothing_happens():
    leader = Leader()
    leader.fetch(2, 0)
    leader.fetch(3, 0)
    leader.context.now_ms = 100 * LAG_MS

    leader.partition.shrink()

    assert leader.sent == []


def test_a_follower_of_a_busy_leader_stays_though_it_is_never_at_the_end():
    leader = Leader()
    for step in range(1, 20):
        leader.context.now_ms = step * LAG_MS // 2
        end = leader.log.log_end_offset
        leader.append(10)
        leader.fetch(2, end)
        leader.fetch(3, end)
        leader.partition.shrink()

    assert leader.sent == []


def test_a_follower_that_falls_back_further_and_further_leaves():
    leader = Leader()
    for step in range(1, 5):
        leader.context.now_ms = step * LAG_MS // 2
        leader.append(10)
        leader.fetch(2, leader.log.log_end_offset)
        leader.fetch(3, step)
        leader.partition.shrink()

    assert [set(proposed.brokers) for proposed, _ in leader.sent] == [{1, 2}]


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_a_change_that_was_surely_not_made_is_taken_back(error):
    leader = Leader(isr=(1, 2))
    leader.fetch(3, 0)

    leader.sent.pop()[1](error)

    assert leader.partition.isr.pending is None
    assert leader.partition.isr.maximal == {1, 2}


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_a_change_of_which_nobody_knows_whether_it_was_made_waits_for_metadata(error):
    leader = Leader(isr=(1, 2))
    leader.fetch(3, 0)

    leader.sent.pop()[1](error)

    assert leader.sent == []
    assert leader.partition.isr.maximal == {1, 2, 3}
    leader.lead((1, 2), partition_epoch=1)
    assert leader.partition.isr.pending is None


def test_a_change_is_asked_for_again_after_any_other_error():
    leader = Leader(isr=(1, 2))
    leader.fetch(3, 0)
    proposed, done = leader.sent.pop()

    done(ErrorCode.NOT_CONTROLLER)

    assert [again for again, _ in leader.sent] == [proposed]


def test_an_answer_that_comes_after_new_metadata_is_ignored():
    leader = Leader(isr=(1, 2))
    leader.fetch(3, 0)
    leader.lead((1,), partition_epoch=5)

    leader.agree((1, 2, 3))

    assert leader.partition.isr.committed == {1}
    assert leader.partition.partition_epoch == 5


def test_metadata_that_is_behind_an_answer_of_the_controller_is_old():
    leader = Leader(isr=(1, 2))
    leader.fetch(3, 0)
    leader.agree((1, 2, 3), 7)

    leader.lead((1, 2), partition_epoch=6)

    assert leader.partition.isr.committed == {1, 2, 3}


def test_the_low_watermark_is_that_of_the_replicas_that_are_alive():
    leader = Leader()
    leader.append(10)
    leader.fetch(2, 10, log_start=3)
    leader.fetch(3, 10, log_start=1)
    leader.log.log_start_offset = 5
    assert leader.partition.low_watermark == 1

    leader.brokers.pop(3)

    assert leader.partition.low_watermark == 3


def test_epochs_that_differ_are_told_apart():
    leader = Leader()
    leader.lead((1, 2, 3), leader_epoch=4, partition_epoch=4)
    refused = leader.partition.leader_epoch_error

    assert [refused(epoch) for epoch in (-1, 3, 4, 5)] == [
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 5), st.just(0)),
            st.tuples(st.just("fetch"), st.sampled_from((2, 3)), st.integers(0, 5)),
            st.tuples(st.just("time"), st.integers(1, 2 * LAG_MS), st.just(0)),
            st.tuples(st.just("answer"), st.booleans(), st.just(0)),
        ),
        max_size=60,
    )
)
def test_whatever_happens_no_replica_in_sync_lacks_what_is_committed(steps):
    leader = Leader()
    ends = {2: 0, 3: 0}
    epoch = 0
    for kind, value, step in steps:
        before = leader.log.high_watermark
        if kind == "append":
            leader.append(value)
        elif kind == "fetch":
            ends[value] = min(ends[value] + step, leader.log.log_end_offset)
            leader.fetch(value, ends[value])
        elif kind == "time":
            leader.context.now_ms += value
            leader.partition.shrink()
        elif leader.sent:
            proposed, done = leader.sent.pop()
            epoch += value
            isr = tuple(proposed.brokers)
            done(
                AlteredIsr(isr=isr, leader_epoch=0, partition_epoch=epoch, leader_recovery_state=0)
                if value
                else ErrorCode.INELIGIBLE_REPLICA
            )
        high_watermark = leader.log.high_watermark
        assert before <= high_watermark
        # A broker that the controller may make leader has everything that anybody was told of.
        may_lead = leader.partition.isr.maximal - {1}
        assert all(ends[broker] >= high_watermark for broker in may_lead)
