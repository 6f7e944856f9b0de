"""The way in place on made-up controllers: whatever stops it, the next command ends it, or restores what was."""

import pytest
from lift_fakes import HIGH, LOW, VOTERS, FakeBrokers, FakeControllers, FakeLift, KilledError, lifted_cluster

from falkirk.lift.errors import HookError, LiftError
from falkirk.lift.in_place import InPlace
from falkirk.lift.journal import OriginalBroker
from falkirk.lift.lowering import Lowering
from falkirk.lift.step import Step
from falkirk.logdir.target import parse_target

ALL_KAFKA = {1: "kafka", 2: "kafka", 3: "kafka"}
pytestmark = pytest.mark.usefixtures("polls_at_once")
# Calls of hooks in a lift that nothing stops: two nodes are replaced and restored.
HOOKS = 8
ASKED_BEFORE_IT_ENDS = 10


class FakeHooks:
    """Stops and starts made-up controllers. At the call number `fails_at` it raises, after its effect or before."""

    def __init__(self, controllers: FakeControllers) -> None:
        self.controllers = controllers
        self.calls: list[tuple[str, int]] = []
        self.fails_at: int | None = None
        self.failure: BaseException = KilledError()
        self.is_effective = True

    def limit_s(self, *_names: str) -> float:
        return 60.0

    async def run(self, name: str, node_id: int, _endpoint: object) -> None:
        fails = len(self.calls) == self.fails_at
        self.calls.append((name, node_id))
        if not fails or self.is_effective:
            self._run(name, node_id)
        if fails:
            raise self.failure

    def _run(self, name: str, node_id: int) -> None:
        running = self.controllers.running
        match name:
            case "stop" if running[node_id] == "kafka":
                running[node_id] = None
            case "stop_falkirk" if running[node_id] == "falkirk":
                running[node_id] = None
            case "start":
                assert running[node_id] != "falkirk", "its directory is locked"
                # Kafka's binaries end at a record that lowers the level.
                assert not self.controllers.holds_lowering
                running[node_id] = "kafka"
            case "start_falkirk":
                assert running[node_id] != "kafka", "its directory is locked"
                running[node_id] = "falkirk"
        self.controllers.elect()


class Lifted(FakeLift):
    """A lift in place."""

    def __init__(self, count: int = 3, **fields: object) -> None:
        super().__init__()
        self.fields = fields
        self.voters = VOTERS[:count]
        ids = {voter.node_id for voter in self.voters}
        self.controllers = FakeControllers(voters=ids, running=dict.fromkeys(ids, "kafka"))
        self.hooks = FakeHooks(self.controllers)
        self.dies_lowering = False
        self.never_commits = False
        self.restart()

    def restart(self) -> None:
        """Begin a new command, which remembers nothing."""
        self.hooks.fails_at = None
        cluster = lifted_cluster(self.controllers, FakeBrokers(level=None), self.voters, **self.fields)
        self.cluster = cluster
        self.way = InPlace(cluster, self.hooks, self._is_whole)
        target = parse_target("3.9")
        follow = Lowering(None, target, cluster, leader=self.way.leader, config=None, is_whole=None).steps()[1]
        self.way.lowering = (Step("lower", "", cluster.is_lowered, self._lower), follow)
        cluster.revive = self.way.revive
        self.begin(self.way, cluster)

    async def _is_whole(self) -> bool:
        """Brokers that are controllers, too, serve as Kafka's alone."""
        return set(self.controllers.running.values()) == {"kafka"}

    async def _lower(self) -> None:
        await self.way.leader()
        assert self.controllers.running[self.controllers.leader_id] == "falkirk"
        replaced = sum(kind == "falkirk" for kind in self.controllers.running.values())
        assert replaced == (1 if "replaces_one" in self.fields else len(self.voters) // 2 + 1)
        if self.never_commits:
            self.controllers.holds_lowering = True
            raise LiftError("no answer")
        self.controllers.level = LOW
        if self.dies_lowering:
            self.dies_lowering = False
            raise KilledError


def test_it_lowers_with_a_majority_of_falkirk_and_restores_what_was():
    lifted = Lifted()
    lifted.go()
    assert lifted.controllers.running == ALL_KAFKA
    assert lifted.controllers.level == LOW
    assert len(lifted.hooks.calls) == HOOKS
    # 3 is Kafka's and won an election; it is left alone.
    assert 3 not in {node_id for _, node_id in lifted.hooks.calls}


@pytest.mark.parametrize("is_combined", [False, True])
def test_one_that_does_not_lead_is_replaced_by_falkirk_which_then_leads(is_combined):
    brokers = tuple(OriginalBroker(node_id=node_id, host="kafka", port=9092) for node_id in (1, 2, 3))
    lifted = Lifted(replaces_one=True, brokers=brokers if is_combined else ())
    lifted.go()
    assert lifted.controllers.running == ALL_KAFKA
    assert lifted.controllers.level == LOW
    assert lifted.hooks.calls == [("stop", 2), ("start_falkirk", 2), ("stop_falkirk", 2), ("start", 2)]


def test_kafka_comes_back_to_a_log_with_a_lowering_that_was_not_committed_when_another_leads():
    lifted = Lifted(replaces_one=True)
    lifted.never_commits = True
    with pytest.raises(LiftError, match=r"no answer\. The voters are 1, 2, 3 again, as before$"):
        lifted.go()
    assert lifted.controllers.running == ALL_KAFKA


def test_of_two_controllers_kafka_does_not_come_back_to_such_a_log():
    lifted = Lifted(count=2, replaces_one=True)
    lifted.never_commits = True
    with pytest.raises(LiftError, match=r"The quorum could not be given back: controller 2 has a lowering"):
        lifted.go()
    assert lifted.controllers.running == {1: "kafka", 2: "falkirk"}


def test_what_falkirk_never_leads_is_given_back():
    lifted = Lifted()
    lifted.controllers.refusals = 1000
    with pytest.raises(LiftError, match=r"falkirk has won none of 20 elections\. The voters are 1, 2, 3 again"):
        lifted.go()
    assert lifted.controllers.running == ALL_KAFKA


@pytest.mark.parametrize("place", [{}, {"replaces_one": True}])
def test_falkirk_that_ends_before_it_leads_is_started_again_and_leads(place):
    lifted = Lifted(**place)
    controllers, ask_to_lead = lifted.controllers, lifted.controllers.ask_to_lead
    asked = []

    async def ends_when_it_is_asked(voter, quorum):
        asked.append(voter.node_id)
        if len(asked) == 1:
            controllers.running[2] = None
            controllers.elect()
        await ask_to_lead(voter, quorum)

    controllers.ask_to_lead = ends_when_it_is_asked
    lifted.go()
    assert asked[0] == 2
    assert lifted.hooks.calls.count(("start_falkirk", 2)) == 2
    assert lifted.controllers.level == LOW
    assert lifted.controllers.running == ALL_KAFKA


@pytest.mark.parametrize("is_effective", [True, False])
@pytest.mark.parametrize("call", range(HOOKS))
def test_a_command_that_was_killed_at_any_hook_is_ended_by_the_next(call, is_effective):
    lifted = Lifted()
    lifted.hooks.fails_at, lifted.hooks.is_effective = call, is_effective
    with pytest.raises(KilledError):
        lifted.go()
    lifted.restart()
    lifted.go()
    assert lifted.controllers.running == ALL_KAFKA
    assert lifted.controllers.level == LOW


def test_a_command_that_was_killed_after_the_lowering_does_not_lower_again():
    lifted = Lifted()
    lifted.dies_lowering = True
    with pytest.raises(KilledError):
        lifted.go()
    lifted.restart()
    lifted.go()
    assert [event for event in lifted.events if event[1] == "lower"] == [("begun", "lower")]
    assert lifted.controllers.running == ALL_KAFKA


@pytest.mark.parametrize("call", range(4))
def test_abort_restores_kafka_wherever_the_command_was_killed(call):
    lifted = Lifted()
    lifted.hooks.fails_at = call
    with pytest.raises(KilledError):
        lifted.go()
    lifted.restart()
    lifted.abort()
    assert lifted.controllers.running == ALL_KAFKA
    assert lifted.controllers.level == HIGH


@pytest.mark.parametrize("call", range(4))
def test_a_hook_that_fails_before_the_level_is_low_restores_kafka(call):
    lifted = Lifted()
    lifted.hooks.fails_at, lifted.hooks.is_effective = call, False
    lifted.hooks.failure = HookError("hook stop of node 2 ended with status 5: no such unit")
    with pytest.raises(LiftError, match=r"no such unit\. The voters are 1, 2, 3 again, as before$"):
        lifted.go()
    assert lifted.controllers.running == ALL_KAFKA
    assert lifted.events[-1] == ("aborted", None)


@pytest.mark.parametrize("call", range(2))
def test_a_lone_controller_that_a_failed_hook_left_stopped_is_started_again(call):
    lifted = Lifted(count=1)
    lifted.hooks.fails_at, lifted.hooks.is_effective = call, False
    lifted.hooks.failure = HookError("hook start_falkirk of node 1 ended with status 5: no such unit")
    with pytest.raises(LiftError, match=r"no such unit\. The voters are 1 again, as before$"):
        lifted.go()
    assert lifted.controllers.running == {1: "kafka"}


@pytest.mark.parametrize("call", range(4, HOOKS))
def test_a_hook_that_fails_afterwards_is_run_again_by_the_next_command(call):
    lifted = Lifted()
    lifted.hooks.fails_at, lifted.hooks.is_effective = call, False
    lifted.hooks.failure = HookError("hook start of node 2 ended with status 5: no such unit")
    with pytest.raises(LiftError, match=r"The level is low: run the same command again to go on$"):
        lifted.go()
    lifted.restart()
    lifted.go()
    assert lifted.controllers.running == ALL_KAFKA


def test_every_voter_is_restored_whichever_was_replaced():
    lifted = Lifted()
    assert {step.name for step in lifted.way.way_back()} == {f"restore-{voter.node_id}" for voter in VOTERS}


def test_a_controller_that_has_ended_before_it_was_seen_to_follow_is_started_again():
    lifted = Lifted()
    lifted.dies_lowering = True
    with pytest.raises(KilledError):
        lifted.go()
    lifted.controllers.running[2] = None
    lifted.controllers.elect()
    lifted.restart()
    lifted.go()
    assert ("start_falkirk", 2) in lifted.hooks.calls[2:]
    assert lifted.controllers.running == ALL_KAFKA


def test_a_controller_that_ends_while_the_lowered_log_is_waited_for_is_started_again():
    lifted = Lifted(count=1)
    controllers, versions_at = lifted.controllers, lifted.controllers.versions_at
    asked = 0

    async def dies_once_it_was_asked(endpoint):
        nonlocal asked
        if controllers.level == LOW:
            asked += 1
            controllers.holds_lowering |= asked == 1
        if asked == ASKED_BEFORE_IT_ENDS:
            controllers.running[1] = None
            controllers.elect()
        return await versions_at(endpoint)

    controllers.versions_at = dies_once_it_was_asked
    lifted.go()
    called = ["stop", "start_falkirk", "start_falkirk", "stop_falkirk", "start"]
    assert lifted.hooks.calls == [(name, 1) for name in called]
    assert controllers.running == {1: "kafka"}
