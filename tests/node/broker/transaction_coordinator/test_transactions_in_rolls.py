"""Nodes roll from release to release, levels rise and fall, and transactions are open over each step."""

from dataclasses import replace

import pytest
from node_network import LOG_DIR
from transaction_cluster import TransactionCluster

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.storage.bootstrap_checkpoint import FILE_NAME
from falkirk.versions.features import TRANSACTION_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release

CONTROLLER = 1
PARTITIONS = 3
ATTEMPTS_MAX = 200


class Story:
    """A cluster whose nodes roll, and what has to be committed in it."""

    def __init__(self, release):
        self.cluster = TransactionCluster(brokers=3, release=release)
        self.network = self.cluster.network
        self.cluster.create("t", factor=3, partitions=PARTITIONS)
        self.release = Release.parse(release)
        self.number = 0
        self.committed = []
        self.offset = None

    @property
    def transaction_version(self):
        return self.network.active.running.image.features.finalized.get(TRANSACTION_VERSION, 0)

    def over(self, step):
        """Do something while transactions are open: one that is committed after it, and one that is aborted."""
        opened = [(self.open(fate), fate == "committed") for fate in ("committed", "aborted")]
        step()
        for (producer, values, offset), is_commit in opened:
            values.append((0, self.write(producer, 0)))
            self.repeat(lambda producer=producer, is_commit=is_commit: producer.end(is_commit=is_commit))
            if is_commit:
                self.committed += values
                self.offset = offset
        self.cluster.run_until(self.cluster.is_idle)

    def open(self, name):
        """Return a producer in a transaction, what it wrote, and the offset that it committed."""
        producer = self.cluster.producer(name, is_version_2=self.transaction_version >= 2)
        if not producer.is_version_2:
            self.repeat(lambda: producer.add(*(("t", index) for index in range(PARTITIONS))))
        values = [(index, self.write(producer, index)) for index in range(PARTITIONS)]
        offset = self.number
        self.repeat(lambda: producer.commit_offset(name, "t", offset))
        return producer, values, offset

    def write(self, producer, index):
        self.number += 1
        value = b"%d" % self.number
        self.repeat(lambda: producer.try_write("t", value, index=index))
        return value

    def repeat(self, request):
        """Send a request until it succeeds, as clients do."""
        error = None
        for _ in range(ATTEMPTS_MAX):
            error = request()
            if error is ErrorCode.NONE:
                return
            self.cluster.run(50)
        raise AssertionError(f"{error} again and again")

    def roll(self, release):
        """Restart each node as a release, with open transactions."""
        self.release = Release.parse(release)
        for node_id in (CONTROLLER, *self.cluster.brokers):
            self.over(lambda node_id=node_id: self.restart(node_id))
        self.check()

    def restart(self, node_id):
        self.network.shut_down(node_id)
        host = self.network.hosts[node_id]
        host.config = replace(host.config, release=self.release)
        # A lowering names it: it has the level that the node was formatted with.
        if host.disk.exists(f"{LOG_DIR}/{FILE_NAME}"):
            host.disk.remove(f"{LOG_DIR}/{FILE_NAME}")
        self.network.start(node_id)
        self.cluster.run_until(lambda: self.network.active is not None)
        self.cluster.run_until(lambda: set(self.cluster.up) == set(self.cluster.brokers), within_ms=60_000)

    def level(self, name, level, type_):
        """Set the level of a feature; return the error and its message."""
        keys = [FeatureUpdateKey(name, level, upgrade_type=type_)]
        answer = self.network.client(CONTROLLER).ask(UpdateFeaturesRequest(60_000, keys), 1)
        refused = next((each for each in (answer, *answer.results) if each.error_code), answer)
        self.cluster.run_until(lambda: not any(host.running.log.lowerings for host in self.network.hosts.values()))
        return ErrorCode(refused.error_code), refused.error_message

    def set_level(self, name, level, type_):
        error, message = self.level(name, level, type_)
        assert error is ErrorCode.NONE, message

    def raise_levels(self):
        """Finalize the highest levels of the release that runs, with open transactions."""
        metadata_version = self.release.latest_metadata_version.level
        self.over(lambda: self.set_level(METADATA_VERSION, metadata_version, UpgradeType.UPGRADE))
        if self.highest(self.release) > self.transaction_version:
            self.over(lambda: self.set_level(TRANSACTION_VERSION, self.highest(self.release), UpgradeType.UPGRADE))

    def lower_levels(self, release):
        """Lower levels to those of a release, with open transactions as far as SAFE allows."""
        to = Release.parse(release)
        if self.highest(to) < self.transaction_version:
            self.over(lambda: self.check_refused(self.highest(to)))
            self.set_level(TRANSACTION_VERSION, self.highest(to), UpgradeType.SAFE_DOWNGRADE)
        metadata_version = to.latest_metadata_version.level
        self.over(lambda: self.set_level(METADATA_VERSION, metadata_version, UpgradeType.SAFE_DOWNGRADE))

    def check_refused(self, level):
        error, message = self.level(TRANSACTION_VERSION, level, UpgradeType.SAFE_DOWNGRADE)
        assert error is ErrorCode.INVALID_UPDATE_VERSION
        assert all(f"transactional id {name} has an open transaction" in message for name in ("committed", "aborted"))

    def highest(self, release):
        feature = release.features.get(TRANSACTION_VERSION)
        return feature.supported.highest if feature is not None and feature.supported is not None else 0

    def check(self):
        """Everything that was committed is there once, in the order of each partition, and nothing else."""
        for index in range(PARTITIONS):
            wanted = [value for at, value in self.committed if at == index]
            assert self.cluster.committed("t", index) == wanted
        assert self.cluster.fetch_offsets("committed") == {("t", 0): self.offset}
        assert self.cluster.fetch_offsets("aborted") == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        ("3.9", "4.3"),
        pytest.param(("3.7", "3.9", "4.0", "4.3", "4.4"), marks=pytest.mark.full),
        pytest.param(("3.7", "4.4"), marks=pytest.mark.full),
    ],
    ids="-".join,
)
def test_transactions_are_open_over_each_step_of_rolls_up_and_down(path):
    story = Story(path[0])
    for release in path[1:]:
        story.roll(release)
        story.raise_levels()
        story.check()
    for release in reversed(path[:-1]):
        story.lower_levels(release)
        story.roll(release)
    errors = [fact for host in story.network.hosts.values() for fact in host.facts if fact.level == "error"]
    assert errors == []
