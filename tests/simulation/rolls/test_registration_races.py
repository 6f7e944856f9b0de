"""A server registers while a level is finalized that it does not support: every order of requests and commits.

The steps are `r` (the registration reaches the active controller), `u` (the update does), `c` (all that is appended is
committed) and `x` (the active controller is gone, and another one takes over).
"""

from itertools import permutations

import pytest

from falkirk.protocol.messages import BrokerRegistrationRequest, ControllerRegistrationRequest, UpdateFeaturesRequest
from falkirk.protocol.messages import broker_registration_request as broker_message
from falkirk.protocol.messages import controller_registration_request as controller_message
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.simulation.checkers.finalized_within_supported import FinalizedWithinSupported
from falkirk.simulation.checkers.image_by_offset import ImageByOffset
from falkirk.simulation.cluster.simulated_cluster import Cluster
from falkirk.simulation.history.data_history import DataHistory
from falkirk.simulation.history.group_history import GroupHistory
from falkirk.simulation.history.transaction_history import TransactionHistory
from falkirk.simulation.history.write_history import History
from falkirk.simulation.machine.world import World
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.scenario import CLUSTER_ID, Scenario
from falkirk.simulation.rolls.feature_questions import update_error
from falkirk.simulation.workload.feature_administrator import FeatureAdministrator
from falkirk.simulation.workload.operation import Operation
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

OLD, NEW = Release.parse("3.9"), Release.parse("4.3")
SERVER_ID = 50


def broker_registration():
    return BrokerRegistrationRequest(
        broker_id=SERVER_ID,
        cluster_id=CLUSTER_ID,
        incarnation_id=bytes(15) + b"1",
        listeners=[broker_message.Listener("PLAINTEXT", "broker-50", 9092, 0)],
        features=[broker_message.Feature(name, *levels) for name, levels in supported()],
        log_dirs=(b"d" * 16,),
    )


def controller_registration():
    return ControllerRegistrationRequest(
        controller_id=SERVER_ID,
        incarnation_id=bytes(15) + b"1",
        listeners=[controller_message.Listener("CONTROLLER", "controller-50", 9093, 0)],
        features=[controller_message.Feature(name, *levels) for name, levels in supported()],
    )


def supported():
    return [(name, (each.lowest, each.highest)) for name, each in OLD.supported_features().items()]


class Race:
    """Three controllers of the new release at the old one's level, and who asks the active one."""

    def __init__(self, registration, *, reaches_followers: bool) -> None:
        self.world = World(7, keeps_timeline=False)
        self.reaches_followers = reaches_followers
        scenario = Scenario(
            releases=(NEW,) * 3,
            metadata_version=OLD.latest_metadata_version,
            has_dynamic_voters=False,
            spare_count=0,
            joins_itself=False,
            broker_count=0,
            node_releases=(),
            administrator_count=0,
            faults=FaultPlan(kinds=frozenset(), interval_ms=1000),
        )
        data = DataHistory()
        self.cluster = Cluster(
            self.world, scenario, History(), data, GroupHistory(data), transaction_history=TransactionHistory()
        )
        for host in self.cluster.nodes:
            for checker in (FinalizedWithinSupported(), ImageByOffset()):
                host.observers.append(lambda _, program, checker=checker: checker.after_step(program))
        self.cluster.format()
        self.cluster.start()
        self.wait(lambda: self.cluster.unsettled() is None)
        self.leader = next(host for host in self.cluster.nodes if host.program.is_active_controller)
        self.followers = [host for host in self.cluster.nodes if host is not self.leader]
        update = UpdateFeaturesRequest(
            feature_updates=[FeatureUpdateKey("metadata.version", NEW.latest_metadata_version.level, upgrade_type=1)]
        )
        self.operations = {
            "r": Operation("register", registration(), lambda answer: answer.error_code, lambda _: None),
            "u": Operation("raise", update, update_error, lambda _: None),
        }
        endpoint = scenario.controllers[self.leader.program.node_id]
        self.clients = {
            name: self.world.add_host(
                f"client-{name}", {}, lambda host: FeatureAdministrator([endpoint], self.world.chance(host.name))
            )
            for name in self.operations
        }
        for client in self.clients.values():
            client.start()
        self.world.run(self.world.clock.now_ms + 300)
        self.answers: dict[str, int] = {}
        self.cut()

    def play(self, steps: str) -> None:
        for step in steps:
            {"c": self.commit, "x": self.fail_over}.get(step, lambda step=step: self.ask(step))()
        self.world.network.heal()
        for host in self.cluster.nodes:
            if not host.is_up:
                host.start()
        self.wait(self.is_settled)

    def is_settled(self) -> bool:
        nodes = [host.program for host in self.cluster.nodes]
        return self.cluster.unsettled() is None and all(
            node.image.provenance.end_offset == node.log.end_offset for node in nodes
        )

    def ask(self, name: str) -> None:
        client = self.clients[name]
        client.program.ask(self.operations[name], lambda _, error: self.answers.setdefault(name, error))
        # It looks for work every 50 ms; then the request is on its way for 4 ms at most.
        self.world.run(self.world.clock.now_ms + 60)

    def commit(self) -> None:
        self.world.network.heal()
        nodes = [host.program for host in self.cluster.nodes if host.is_up]
        self.wait(lambda: all(node.image.provenance.end_offset >= self.end_of(nodes) for node in nodes))
        self.cut()

    @staticmethod
    def end_of(nodes) -> int:
        return max(node.log.end_offset for node in nodes)

    def fail_over(self) -> None:
        self.leader.crash("killed")
        self.world.network.heal()
        self.wait(lambda: any(host.program.is_active_controller for host in self.followers))

    def cut(self) -> None:
        """Let nothing be committed: followers cannot say what they have, or do not even get it."""
        for follower in self.followers:
            self.world.network.cut_off(follower.name, self.leader.name)
            if not self.reaches_followers:
                self.world.network.cut_off(self.leader.name, follower.name)

    def wait(self, until) -> None:
        assert self.world.run(self.world.clock.now_ms + 30_000, until=until), "nothing moves"

    @property
    def image(self):
        return next(host.program.image for host in self.cluster.nodes if host.program.is_active_controller)

    @property
    def is_registered(self) -> bool:
        return SERVER_ID in self.image.cluster.brokers or SERVER_ID in self.image.cluster.controllers

    @property
    def is_raised(self) -> bool:
        return self.image.features.metadata_version == MetadataVersion.parse("4.3")


def orders(steps: str) -> list[str]:
    return sorted({"".join(order) for order in permutations(steps)})


# Who registers, and whether what the leader appends reaches its followers.
WAYS = [(broker_registration, True), (controller_registration, False)]
OTHER_WAYS = [(broker_registration, False), (controller_registration, True)]


@pytest.fixture(params=[*WAYS, *(pytest.param(way, marks=pytest.mark.full) for way in OTHER_WAYS)])
def races(request):
    """Yield a function: it plays these steps in every order, and gives each order and its race."""
    registration, reaches_followers = request.param

    def play(steps: str):
        for order in orders(steps):
            race = Race(registration, reaches_followers=reaches_followers)
            race.play(order)
            yield order, race

    return play


@pytest.mark.slow
def test_whoever_comes_first_is_served_and_the_other_is_refused(races):
    assert len(orders("rucc")) == 12
    for order, race in races("rucc"):
        is_registered_first = order.index("r") < order.index("u")
        assert (race.is_registered, race.is_raised) == (is_registered_first, not is_registered_first), order
        assert (race.answers["r"] == 0, race.answers["u"] == 0) == (race.is_registered, race.is_raised), order


@pytest.mark.slow
@pytest.mark.full
def test_not_both_are_served_whenever_the_controller_fails(races):
    assert len(orders("ruccx")) == 60
    for order, race in races("ruccx"):
        assert not (race.is_registered and race.is_raised), order
        for name, is_done in (("r", race.is_registered), ("u", race.is_raised)):
            assert is_done or race.answers.get(name) != 0, f"{order}: {name} was acknowledged and is gone"
