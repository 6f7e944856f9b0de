"""The guarantees of KIP-584 hold wherever things go wrong: every place, every pair of faults, and any history.

Success means that the update was applied. An error means that it was not, and will not be; only REQUEST_TIMED_OUT, and
a controller that died, leave it open. Nobody writes who is not the controller.
"""

from collections.abc import Mapping
from itertools import product

import pytest
from controller_world import ControllerWorld, Question
from hypothesis import given
from hypothesis import strategies as st
from zookeeper_world import delete_by_hand, depose_by_hand, write_by_hand

from falkirk.metadata.zookeeper.controller_znode import CONTROLLER_EPOCH_PATH, CONTROLLER_PATH
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.metadata.zookeeper.finalized_features import FinalizedRange
from falkirk.protocol.error_codes import ErrorCode
from falkirk.simulation.zookeeper.world.ensemble import BY_HAND, Ensemble, Transaction
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.session.operations import Znode

PATH = "/features"
EMPTY = b'{"version":1,"status":1,"features":{}}'
MALFORMED = b"{"


class Judge:
    """Sees every transaction: which features were finalized when, and by whom."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.applied: dict[str, int] = {}
        # Who has deleted it by hand, and made it again in the version that it had, has misled everybody.
        self._was_deleted = False
        self._controller = BY_HAND
        self._questions: list[tuple[Question, str]] = []
        ensemble.observers.append(self._observe)

    def expect(self, question: Question, feature: str) -> None:
        """Hold the answer of this question, which adds this feature, against what is applied."""
        self._questions.append((question, feature))

    def judge(self) -> None:
        """Compare what was said so far with what was done so far."""
        for question, feature in self._questions:
            times = self.applied.get(feature, 0)
            assert times <= 1, f"{feature} was applied {times} times"
            assert question.count <= 1, f"{feature} was answered {question.count} times"
            if not question.is_answered or question.error[0] is ErrorCode.REQUEST_TIMED_OUT:
                continue
            if question.error[0] is ErrorCode.NONE and question.error_of(feature) is ErrorCode.NONE:
                assert times == 1, f"{feature} was answered with success, and never applied"
            else:
                assert times == 0, f"{feature} was applied, and answered with {question.answers}"

    def _observe(self, transaction: Transaction) -> None:
        for change in transaction.changes:
            if change.path == CONTROLLER_EPOCH_PATH:
                self._controller = transaction.session_id
            elif change.path == PATH and transaction.session_id == BY_HAND:
                self._was_deleted |= change.after is None
            elif change.path == PATH:
                assert transaction.session_id == self._controller, "whoever is fenced writes nothing"
                assert change.after is not None, "a controller never deletes it"
                before = features_of(change.before)
                assert before is not None or self._was_deleted, "what is malformed is not written over"
                for feature in (features_of(change.after) or {}).keys() - (before or {}).keys():
                    self.applied[feature] = self.applied.get(feature, 0) + 1


def features_of(znode: Znode | None) -> Mapping[str, FinalizedRange] | None:
    """Return what is finalized, None if it cannot be read."""
    try:
        return {} if znode is None else decode_features(znode.data, PATH).features
    except ZnodeError:
        return None


BASE = {"base": SupportedRange(1, 1)}
FEATURES = {**BASE, **{f"f{number}": SupportedRange(1, 1) for number in range(19)}}


def controller(ensemble: Ensemble, node_id: int = 1) -> ControllerWorld:
    """Return a controller that finalizes no more than `base` itself, and knows a broker that runs all features."""
    world = ControllerWorld(ensemble, node_id=node_id, supported=BASE)
    world.brokers = {1: FEATURES}
    return world


# --- Faults: what may happen to a controller, or beside it, between two steps


def lose(world: ControllerWorld, *, carried_out: int) -> None:
    world.lose_connection(carried_out=carried_out)
    world.reconnect()


def expire(world: ControllerWorld, *, carried_out: int) -> None:
    world.expire(carried_out=carried_out)
    world.enter()


def die(world: ControllerWorld, *, carried_out: int) -> None:
    """Let the process end: nobody is answered any more."""
    for asked in list(world.asked)[:carried_out]:
        world.ensemble.ask(world.session_id, asked.operation)
    world.asked.clear()
    world.has_watches = False
    world.ensemble.end_session(world.session_id)


def lose_controller(world: ControllerWorld) -> None:
    if world.ensemble.znode(CONTROLLER_PATH) is not None:
        delete_by_hand(world.ensemble, CONTROLLER_PATH)


def delete_features(world: ControllerWorld) -> None:
    if world.ensemble.znode(PATH) is not None:
        delete_by_hand(world.ensemble, PATH)


def register_incompatible(world: ControllerWorld) -> None:
    world.register(7, {})


FAULTS = {
    "loss-before": lambda world: lose(world, carried_out=0),
    "loss-after": lambda world: lose(world, carried_out=1),
    "expiry-before": lambda world: expire(world, carried_out=0),
    "expiry-after": lambda world: expire(world, carried_out=1),
    "deposed": lambda world: depose_by_hand(world.ensemble),
    "controller-deleted": lose_controller,
    "written-by-hand": lambda world: write_by_hand(world.ensemble, PATH, EMPTY),
    "malformed-by-hand": lambda world: write_by_hand(world.ensemble, PATH, MALFORMED),
    "deleted-by-hand": delete_features,
    "epoch-raised": lambda world: write_by_hand(world.ensemble, CONTROLLER_EPOCH_PATH, b"100"),
    "time-over": lambda world: world.wait(60_000),
    "incompatible-broker": register_incompatible,
}
# As many steps as an update takes that is asked for again after a fault.
STEPS = 6


def heal(world: ControllerWorld) -> None:
    """Take away what stands in the way, and see that the cluster serves again."""
    ensemble = world.ensemble
    world.brokers = {1: FEATURES}
    znode = ensemble.znode(PATH)
    if znode is None or features_of(znode) is None:
        write_by_hand(ensemble, PATH, EMPTY)
    znode = ensemble.znode(CONTROLLER_PATH)
    if znode is not None and not znode.ephemeral_owner:
        delete_by_hand(ensemble, CONTROLLER_PATH)
    world.role.refresh()
    world.do_all()
    question = world.ask_for(f18=1)
    world.do_all()
    if question.error[0] is ErrorCode.NOT_CONTROLLER:
        # Only the write has shown that the epoch is another one.
        question = world.ask_for(f18=1)
        world.do_all()
    assert question.results == {"f18": ErrorCode.NONE}


def run(*faults: tuple[int, str]) -> None:
    """Ask for an update, let each fault happen after so many further steps, and hold the answer against the history."""
    ensemble = Ensemble()
    write_by_hand(ensemble, PATH, EMPTY)
    judge = Judge(ensemble)
    world = controller(ensemble)
    world.enter()
    world.do_all()
    question = world.ask_for(f0=1)
    judge.expect(question, "f0")
    for steps, fault in faults:
        for _ in range(steps):
            if world.asked:
                world.do()
        FAULTS[fault](world)
        judge.judge()
    world.do_all()
    world.wait(60_000)
    judge.judge()
    assert question.is_answered
    heal(world)
    judge.judge()


@pytest.mark.parametrize("step", range(3))
def test_what_is_answered_is_true_whatever_happens_between_any_steps(step):
    for fault in FAULTS:
        run((step, fault))


@pytest.mark.full
@pytest.mark.parametrize("first", FAULTS)
def test_what_is_answered_is_true_whatever_two_things_happen_between_any_steps(first):
    for second, step, gap in product(FAULTS, range(3), range(STEPS)):
        run((step, first), (gap, second))


@pytest.mark.parametrize("carried_out", [0, 1], ids=["before", "after"])
@pytest.mark.parametrize("step", range(3))
def test_a_controller_that_dies_leaves_all_or_nothing_and_a_cluster_that_goes_on(step, carried_out):
    ensemble = Ensemble()
    write_by_hand(ensemble, PATH, EMPTY)
    judge = Judge(ensemble)
    world, other = controller(ensemble), controller(ensemble, node_id=2)
    for each in (world, other):
        each.enter()
        each.do_all()
    question = world.ask_for(f0=1, f1=1)
    judge.expect(question, "f0")
    judge.expect(question, "f1")
    for _ in range(step):
        if world.asked:
            world.do()
    die(world, carried_out=carried_out)
    other.do_all()
    judge.judge()
    features = decode_features(ensemble.znode(PATH).data, PATH).features
    assert features.keys() in (set(), {"f0", "f1"})
    assert question.is_answered == (step == 2)
    again = other.ask_for(f2=1)
    other.do_all()
    assert again.results == {"f2": ErrorCode.NONE}


@given(st.data())
def test_what_is_answered_is_true_in_any_history_of_two_controllers(data):
    ensemble = Ensemble()
    write_by_hand(ensemble, PATH, EMPTY)
    judge = Judge(ensemble)
    worlds = [controller(ensemble, node_id) for node_id in (1, 2)]
    for world in worlds:
        world.enter()
        world.do_all()
    names = iter(sorted(FEATURES.keys() - {"base", "f18"}))
    actions = st.sampled_from(["step"] * 12 + ["update"] * 4 + ["pause", "resume"] + sorted(FAULTS))
    for action, world in data.draw(
        st.lists(st.tuples(actions, st.sampled_from(worlds)), min_size=10, max_size=60), label="history"
    ):
        if action == "step":
            if world.asked:
                world.do()
        elif action == "update":
            name = next(names, None)
            if name is not None:
                judge.expect(world.ask_for(timeout_ms=90_000, **{name: 1}), name)
        elif action == "pause":
            world.has_watches = False
        elif action == "resume":
            world.has_watches = True
            world.role.refresh()
        else:
            FAULTS[action](world)
        judge.judge()
    for world in worlds:
        world.has_watches = True
        world.do_all()
        world.wait(200_000)
        world.do_all()
    judge.judge()
    worlds[1].expire()
    heal(worlds[0])
