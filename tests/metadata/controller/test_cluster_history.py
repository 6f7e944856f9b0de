"""Whatever brokers do and however time passes, the cluster stays in states that Kafka's rules allow."""

from __future__ import annotations

import pytest
from broker_requests import register, registration_request
from controllers import controller_of, directory, incarnation, make_image, run, run_due
from hypothesis import given, settings
from hypothesis import strategies as st

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import BrokerHeartbeatRequest, PartitionRecord, TopicRecord

SESSION_MS = 100
BROKERS = (1, 2, 3)
TOPIC = b"t" * 16
LEVELS = {"3.3-IV1": "3.9", "3.7-IV4": "3.9", "4.4-IV2": "4.4"}

broker_ids = st.sampled_from(BROKERS)
steps = st.one_of(
    st.tuples(st.just("register"), broker_ids, st.booleans(), st.booleans()),
    # Far more often than anything else: a broker that lives does nothing else.
    *[
        st.tuples(
            st.just("heartbeat"),
            broker_ids,
            st.sampled_from(("behind", "caught up", "caught up", "caught up")),
            st.sampled_from((False, False, True)),
            st.sampled_from((False, False, True)),
            st.sampled_from((None, None, 0, 1)),
        )
    ]
    * 3,
    st.tuples(st.just("pass"), st.sampled_from((1, SESSION_MS // 2, SESSION_MS, SESSION_MS + 1))),
    st.tuples(st.just("unregister"), broker_ids),
    st.tuples(st.just("failover")),
)


class History:
    """A cluster and what an onlooker knows of it."""

    def __init__(self, level: str) -> None:
        self.release = LEVELS[level]
        assignment = ((1, 2, 3), (2, 3, 1), (3, 1, 2), (1,))
        features = {"eligible.leader.replicas.version": 1} if level.startswith("4") else {}
        # Nobody is there yet: the partitions wait for their brokers.
        partitions = [
            PartitionRecord(
                index, TOPIC, replicas, replicas, (), (), -1, 0, 0, 0, tuple(directory(one) for one in replicas)
            )
            for index, replicas in enumerate(assignment)
        ]
        self.now_ms = 0
        self._lead(
            make_image(
                release=self.release,
                metadata_version=level,
                features=features,
                records=[TopicRecord("topic", TOPIC), *partitions],
            )
        )
        self.starts = dict.fromkeys(BROKERS, 0)
        self.epochs: list[int] = [-1]
        # When each broker was last heard of; a new controller counts from its own beginning.
        self.heard: dict[int, int] = {}
        # Once asked for, a shutdown goes on even if later heartbeats do not repeat the wish.
        self.shutting_down: set[int] = set()

    def _lead(self, image):
        self.controller = controller_of(
            image, release=self.release, now_ms=self.now_ms, broker_session_timeout_ms=SESSION_MS
        )

    @property
    def registered(self):
        return self.controller.state.image.cluster.brokers

    def take(self, step):
        getattr(self, f"do_{step[0]}")(*step[1:])
        run_due(self.controller, self.now_ms)
        self.check()

    def check(self):
        for broker_id, broker in self.registered.items():
            if not broker.fenced:
                assert self.now_ms - self.heard[broker_id] <= SESSION_MS
        next_due = self.controller.cluster.next_due_ms
        assert next_due is None or next_due > self.now_ms
        for partition in self.controller.state.image.topics.topic("topic").partitions:
            if partition.leader != -1:
                assert not self.registered[partition.leader].fenced
                assert partition.leader in partition.isr

    def do_register(self, broker_id, is_new_start, is_clean):
        before = self.registered.get(broker_id)
        self.starts[broker_id] += is_new_start
        previous = before.broker_epoch if before is not None and is_clean else -1
        request = registration_request(
            broker_id, start=self.starts[broker_id], release=self.release, previous_broker_epoch=previous
        )
        result = register(self.controller, request, now_ms=self.now_ms)
        if isinstance(result, ApiError):
            assert result.error_code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
            assert before is not None
            assert before.incarnation_id != request.incarnation_id
            assert self.now_ms - self.heard[broker_id] <= SESSION_MS
            self.starts[broker_id] -= is_new_start
            return
        epoch = run(self.controller, result, now_ms=self.now_ms)
        after = self.registered[broker_id]
        assert after.incarnation_id == incarnation(broker_id, self.starts[broker_id])
        if before is not None and before.incarnation_id == after.incarnation_id:
            assert (epoch, after.fenced) == (before.broker_epoch, before.fenced)
        else:
            assert epoch > max(self.epochs)
            assert after.fenced
            self.epochs.append(epoch)
            self.shutting_down.discard(broker_id)

    def do_heartbeat(self, broker_id, reading, want_fence, want_shut_down, offline):
        broker = self.registered.get(broker_id)
        if broker is None:
            return
        before = self.controller.state.image
        request = BrokerHeartbeatRequest(
            broker_id,
            broker.broker_epoch,
            -1 if reading == "behind" else self.controller.state.next_offset,
            want_fence,
            want_shut_down,
            () if offline is None else (directory(broker_id, offline),),
        )
        result = self.controller.cluster.heartbeat(request, now_ms=self.now_ms)
        response = run(self.controller, result, now_ms=self.now_ms)
        self.heard[broker_id] = self.now_ms
        assert bool(result.records) == (not before.has_same_content(self.controller.state.image))
        assert response.is_fenced == self.registered[broker_id].fenced
        assert response.is_caught_up == (reading == "caught up")
        if want_shut_down:
            self.shutting_down.add(broker_id)
        assert not response.should_shut_down or (broker_id in self.shutting_down and response.is_fenced)
        if broker.fenced and not response.is_fenced:
            assert response.is_caught_up
            assert not want_fence

    def do_pass(self, milliseconds):
        self.now_ms += milliseconds

    def do_unregister(self, broker_id):
        result = self.controller.cluster.unregister_broker(broker_id)
        if broker_id in self.registered:
            run(self.controller, result, now_ms=self.now_ms)
            assert broker_id not in self.registered
        else:
            assert result.error_code is ErrorCode.BROKER_ID_NOT_REGISTERED

    def do_failover(self):
        self._lead(self.controller.state.image)
        self.heard |= dict.fromkeys(self.registered, self.now_ms)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=60)
@given(data=st.lists(steps, min_size=10, max_size=50))
def test_brokers_are_only_ever_in_states_that_kafka_allows(level, data):
    history = History(level)
    for broker_id in BROKERS:
        history.take(("register", broker_id, True, False))
        history.take(("heartbeat", broker_id, "caught up", False, False, None))
    for step in data:
        history.take(step)
