"""Transactions of both kinds of producers while brokers are killed at random: each is seen whole, once, or never."""

from random import Random

import pytest
from transaction_cluster import TransactionCluster

from falkirk.protocol.error_codes import ErrorCode

NAMES = ("a", "b", "c")
PARTITIONS = 3
TRANSACTIONS = 40
ATTEMPTS_MAX = 200
CHAOS = 0.12
# Some transactions end by themselves.
SHORT_TIMEOUT_MS = 2_000
# The producer is over: another one has its name, or its transaction took too long.
FENCED = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTION_ABORTABLE,
}


class World:
    """Producers that repeat what can succeed later, and a broker that is down at times."""

    def __init__(self, seed, release):
        self.random = Random(seed)
        self.has_version_2 = release >= "4"
        properties = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
        self.cluster = TransactionCluster(brokers=3, seed=seed, release=release, properties=properties)
        self.cluster.create("t", factor=3, partitions=PARTITIONS)
        self.producers = {}
        self.down = None
        self.committed = set()

    def chaos(self):
        if self.random.random() >= CHAOS:
            return
        if self.down is None:
            self.down = self.random.choice(self.cluster.brokers)
            self.cluster.network.kill(self.down)
        else:
            self.recover()

    def recover(self):
        if self.down is not None:
            self.cluster.start(self.down)
            self.down = None

    def is_done(self, request, over=FENCED):
        """Send a request until it succeeds; False with an error of `over`."""
        for _ in range(ATTEMPTS_MAX):
            try:
                error = request()
            except AssertionError:
                # The broker that was asked has been killed.
                error = None
            if error is ErrorCode.NONE or error in over:
                return error is ErrorCode.NONE
            self.cluster.run(50)
        raise AssertionError(f"{error} again and again")

    def producer(self, name):
        if name not in self.producers or self.random.random() < 0.1:
            timeout_ms = self.random.choice((SHORT_TIMEOUT_MS, 60_000))
            is_version_2 = self.has_version_2 and self.random.random() < 0.7
            self.producers[name] = self.cluster.producer(name, timeout_ms=timeout_ms, is_version_2=is_version_2)
        return self.producers[name]

    def transact(self, number):
        """Run a transaction; False if its producer is to be forgotten."""
        producer = self.producer(name := self.random.choice(NAMES))
        records = dict.fromkeys(self.random.sample(range(PARTITIONS), self.random.randint(1, 3)), b"%d" % number)
        fate = self.random.random()
        partitions = [("t", index) for index in records]
        self.chaos()
        is_fine = producer.is_version_2 or self.is_done(lambda: producer.add(*partitions))
        for index, value in records.items():
            is_fine = is_fine and self.is_done(
                lambda index=index, value=value: producer.try_write("t", value, index=index)
            )
            self.chaos()
        is_commit, is_left_open = fate < 0.75, fate > 0.9
        if is_fine and not is_left_open:
            # With transaction.version 2 an abort by timeout raises the epoch once, as the end of a transaction does.
            timed_out = {ErrorCode.INVALID_TXN_STATE} if producer.timeout_ms == SHORT_TIMEOUT_MS else set()
            is_fine = self.is_done(lambda: producer.end(is_commit=is_commit), FENCED | timed_out)
            if is_fine and is_commit:
                self.committed |= set(records.items())
        self.chaos()
        if not is_fine or is_left_open:
            del self.producers[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "seed"),
    [
        ("3.9", 1),
        ("4.4", 2),
        *(
            pytest.param(release, seed, marks=pytest.mark.full)
            for release in ("3.7", "4.0", "4.3")
            for seed in range(3, 23)
        ),
    ],
)
def test_kills_lose_and_double_nothing(release, seed):
    world = World(seed, release)
    for number in range(TRANSACTIONS):
        world.transact(number)
    world.recover()
    cluster = world.cluster
    cluster.run(3_000)
    cluster.run_until(cluster.is_idle, within_ms=120_000)
    found = [(index, value) for index in range(PARTITIONS) for value in cluster.committed("t", index)]
    assert (len(found), set(found)) == (len(world.committed), world.committed)
    assert [fact for host in cluster.network.hosts.values() for fact in host.facts if fact.level == "error"] == []
