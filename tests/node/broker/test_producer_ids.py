"""Producer ids out of blocks of the active controller (KIP-730)."""

from types import SimpleNamespace

from falkirk.node.broker.producer_ids import RETRY_BACKOFF_MS, ProducerIds
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.step import Step
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AllocateProducerIdsResponse


class Channel:
    """Notes what is sent; `answer` answers the oldest."""

    def __init__(self, *, is_open=True):
        self.is_open = is_open
        self.sent = []

    def send(self, message, *, timeout_ms, done):  # noqa: ARG002
        if self.is_open:
            self.sent.append((message, done))
        return self.is_open

    def answer(self, answer):
        self.sent.pop(0)[1](answer)


def make(**fields):
    """Return (ids, channel, step, facts) of broker 5 in epoch 77."""
    step = Step(SimpleNamespace(node_id=5), cluster_id="", random=None, now_ms=1000)
    step.has_work = False
    channel, facts = Channel(**fields), []
    return ProducerIds(step, channel, broker_epoch=lambda: 77, effects=facts.append), channel, step, facts


def block(start, length=10):
    return AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=length)


def test_the_first_block_is_asked_for_when_the_first_id_is_wanted():
    ids, channel, step, _ = make()
    assert channel.sent == []
    assert (ids.next_id(), ids.next_id(), step.has_work) == (None, None, True)
    ((message, _),) = channel.sent
    assert (message.broker_id, message.broker_epoch) == (5, 77)


def test_ids_are_given_in_order_and_the_next_block_is_asked_for_before_the_last_of_them():
    ids, channel, _, _ = make()
    ids.next_id()
    channel.answer(block(100))
    assert [ids.next_id() for _ in range(9)] == list(range(100, 109))
    assert channel.sent == []
    assert ids.next_id() == 109
    assert len(channel.sent) == 1
    channel.answer(block(2000, 5))
    assert [ids.next_id() for _ in range(4)] == [2000, 2001, 2002, 2003]


def test_without_a_next_block_there_is_none_until_it_comes():
    ids, channel, _, _ = make()
    ids.next_id()
    channel.answer(block(0, 2))
    assert [ids.next_id() for _ in range(3)] == [0, 1, None]
    assert len(channel.sent) == 1
    channel.answer(block(9))
    assert ids.next_id() == 9


def test_a_refusal_is_told_and_minded_for_a_moment():
    ids, channel, step, facts = make()
    ids.next_id()
    channel.answer(AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assert [fact.fields["reason"] for fact in facts] == ["the controller answers STALE_BROKER_EPOCH"]
    assert (ids.next_id(), channel.sent) == (None, [])
    step.now_ms += RETRY_BACKOFF_MS
    assert (ids.next_id(), len(channel.sent)) == (None, 1)
    channel.answer(RequestFailure("gone"))
    assert "gone" in facts[-1].fields["reason"]


def test_a_block_that_cannot_be_is_not_taken():
    ids, channel, step, facts = make()
    ids.next_id()
    channel.answer(block(100, 2))
    assert [ids.next_id(), ids.next_id()] == [100, 101]
    for wrong in (block(50), block(-1), block(200, -1), block(2**63 - 5)):
        assert ids.next_id() is None
        channel.answer(wrong)
        step.now_ms += RETRY_BACKOFF_MS
    assert len(facts) == 4
    ids.next_id()
    channel.answer(block(102))
    assert ids.next_id() == 102


def test_an_empty_block_is_no_block():
    ids, channel, _, _ = make()
    ids.next_id()
    channel.answer(block(100, 0))
    assert ids.next_id() is None
    assert ids.next_id() is None
    assert len(channel.sent) == 1


def test_without_a_controller_it_is_tried_again_at_once():
    ids, channel, _, _ = make(is_open=False)
    assert ids.next_id() is None
    channel.is_open = True
    ids.next_id()
    assert len(channel.sent) == 1
