"""The way by an extra voter on a made-up quorum: whatever stops it, the next command ends it, or restores what was."""

from dataclasses import dataclass, field, replace

import msgspec
import pytest
from lift_fakes import (
    HIGH,
    LOW,
    VOTERS,
    FakeBrokers,
    FakeLift,
    FakeQuorum,
    KilledError,
    lifted_cluster,
    progress_to,
    versions_at,
)

from falkirk.client.node_versions import NodeVersions
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.lift.errors import LiftError
from falkirk.lift.extra_voter import ExtraVoter
from falkirk.lift.journal import OriginalVoter
from falkirk.lift.step import Step
from falkirk.protocol.endpoint import Endpoint

EXTRA = OriginalVoter(node_id=9, directory_id=f"{9:032x}", listeners=VOTERS[0].listeners)
STATIC = tuple(
    OriginalVoter(node_id=voter.node_id, directory_id="00" * 16, listeners=voter.listeners) for voter in VOTERS
)
# Changes of the voters in a lift that nothing stops: 9 joins, three leave, three return, 9 leaves.
CHANGES = 8
pytestmark = pytest.mark.usefixtures("polls_at_once")


@dataclass
class VotersQuorum(FakeQuorum):
    """A quorum whose voters change. At the change number `fails_at` the command dies, after its effect or before."""

    is_dynamic: bool = True
    runs_extra: bool = False
    changes: list[tuple[str, int]] = field(default_factory=list)
    fails_at: int | None = None
    is_effective: bool = True
    # The image of falkirk's controller ends there; what it has of the log is applied bit by bit.
    applied_offset: int = -150

    async def versions_at(self, endpoint: Endpoint) -> NodeVersions:
        assert endpoint == EXTRA.endpoint
        self.applied_offset = min(self.applied_offset + 50, 100)
        return versions_at(self.level, progress_to(self.applied_offset))

    async def describe(self) -> QuorumDescription:
        self.leader_id = self._leader()
        view = await super().describe()
        observers = {1, 2, 3, *({9} if self.runs_extra else ())} - self.voters
        states = {each: self._state(each) for each in (*self.voters, *observers)}
        listeners = {voter.node_id: {"CONTROLLER": voter.endpoint} for voter in (*VOTERS, EXTRA)}
        return replace(
            view,
            voter_states=tuple(states[each] for each in sorted(self.voters)),
            observer_states=tuple(states[each] for each in sorted(observers)),
            voter_listeners={node_id: listeners[node_id] for node_id in self.voters},
        )

    async def add_voter(self, voter: OriginalVoter) -> None:
        assert int(voter.directory_id, 16) == voter.node_id, "by its directory id"
        self._change("add", voter.node_id, {*self.voters, voter.node_id})

    async def remove_voter(self, voter: OriginalVoter) -> None:
        self._change("remove", voter.node_id, self.voters - {voter.node_id})

    def _change(self, what: str, node_id: int, voters: set[int]) -> None:
        fails = len(self.changes) == self.fails_at
        self.changes.append((what, node_id))
        assert self.applied_offset >= 0, "it could not decide"
        if not fails or self.is_effective:
            assert voters
            self.voters = voters
        if fails:
            raise KilledError

    def _leader(self) -> int | None:
        up = sorted(each for each in self.voters if each != 9 or self.runs_extra)
        has_majority = 2 * len(up) > len(self.voters)
        return None if not has_majority else self.leader_id if self.leader_id in up else up[0]

    def _state(self, node_id: int) -> ReplicaState:
        directory_id = node_id.to_bytes(16, "big") if self.is_dynamic else bytes(16)
        return ReplicaState(
            node_id=node_id,
            directory_id=directory_id,
            log_end_offset=100,
            last_fetch_timestamp=None,
            last_caught_up_timestamp=None,
        )


@dataclass
class UpgradingBrokers(FakeBrokers):
    """Brokers that forward kraft.version's upgrade."""

    quorum: VotersQuorum = field(default_factory=VotersQuorum)

    async def update_features(self, updates, *, validate_only):
        assert not validate_only
        assert [(name, update.max_version_level) for name, update in updates.items()] == [("kraft.version", 1)]
        self.quorum.is_dynamic = True
        return self

    def all(self) -> None:
        pass


class FakeProcess:
    """Stands for falkirk's controller, which goes on when the command dies."""

    node_id = 9
    as_voter = EXTRA

    def __init__(self, quorum: VotersQuorum) -> None:
        self._quorum = quorum

    @property
    def is_running(self) -> bool:
        return self._quorum.runs_extra

    async def ensure_running(self) -> None:
        self._quorum.runs_extra = True

    revive = ensure_running

    async def stop(self) -> None:
        assert 9 not in self._quorum.voters
        self._quorum.runs_extra = False

    def undo_bundles(self):
        return []


class Lifted(FakeLift):
    """A lift by an extra voter."""

    def __init__(self, *, is_dynamic: bool = True) -> None:
        super().__init__()
        self.is_dynamic = is_dynamic
        self.quorum = VotersQuorum(is_dynamic=is_dynamic)
        self.brokers = UpgradingBrokers(level=None, quorum=self.quorum)
        self.voters = VOTERS if is_dynamic else STATIC
        self.restart()

    def restart(self) -> None:
        """Begin a new command, which knows no more than the journal."""
        self.quorum.fails_at = None
        cluster = lifted_cluster(self.quorum, self.brokers)
        cluster.voters = self.voters
        if not self.is_dynamic:
            cluster.originals = msgspec.structs.replace(cluster.originals, voters=STATIC)
        cluster.note = self._note
        self.cluster = cluster
        process = FakeProcess(self.quorum)
        cluster.revive = process.revive
        way = ExtraVoter(
            cluster,
            process,
            lowering=(Step("lower", "", cluster.is_lowered, self._lower),),
            keep_bundle=lambda _bundles: None,
        )
        self.begin(way, cluster)

    def check(self, level: int) -> None:
        assert self.quorum.voters == {1, 2, 3}
        assert not self.quorum.runs_extra
        assert self.quorum.level == level

    async def _lower(self) -> None:
        assert self.quorum.voters == {9}
        self.quorum.level = LOW

    def _note(self, event, fields) -> None:
        if event == "voters":
            self.voters = VOTERS
            assert [each["directory_id"] for each in fields["voters"]] == [each.directory_id for each in VOTERS]


def test_it_is_the_only_voter_when_the_level_falls_and_leaves():
    lifted = Lifted()
    lifted.go()
    lifted.check(LOW)
    assert lifted.done() == ["observe", "join", "lead", "lower", "return", "leave", "end"]
    assert len(lifted.quorum.changes) == CHANGES
    # The leader is removed last: it resigns then.
    assert lifted.quorum.changes[1:4] == [("remove", 2), ("remove", 3), ("remove", 1)]


def test_it_joins_when_its_image_has_the_log():
    """Else nobody could write metadata once it leads, as long as it takes to load what it has."""
    lifted = Lifted()
    lifted.quorum.applied_offset = -500
    lifted.go()
    lifted.check(LOW)


def test_static_voters_get_directory_ids_first_by_which_they_return():
    lifted = Lifted(is_dynamic=False)
    lifted.go()
    lifted.check(LOW)
    assert lifted.done()[0] == "upgrade"


@pytest.mark.parametrize("is_effective", [True, False])
@pytest.mark.parametrize("change", range(CHANGES))
def test_a_command_that_was_killed_at_any_change_is_ended_by_the_next(change, is_effective):
    lifted = Lifted()
    lifted.quorum.fails_at, lifted.quorum.is_effective = change, is_effective
    with pytest.raises(KilledError):
        lifted.go()
    lifted.restart()
    lifted.go()
    lifted.check(LOW)


@pytest.mark.parametrize("change", range(4))
def test_abort_restores_the_voters_wherever_the_command_was_killed(change):
    lifted = Lifted()
    lifted.quorum.fails_at = change
    with pytest.raises(KilledError):
        lifted.go()
    lifted.restart()
    lifted.abort()
    lifted.check(HIGH)


@pytest.mark.parametrize("change", range(4, CHANGES))
def test_once_the_level_is_low_abort_changes_nothing(change):
    lifted = Lifted()
    lifted.quorum.fails_at = change
    with pytest.raises(KilledError):
        lifted.go()
    voters = set(lifted.quorum.voters)
    lifted.restart()
    with pytest.raises(LiftError, match="the level is low already"):
        lifted.abort()
    assert lifted.quorum.voters == voters


def test_where_voters_were_made_dynamic_it_is_so_that_they_are_printed():
    lifted = Lifted(is_dynamic=False)

    async def refused() -> None:
        raise LiftError("no route to its listener")

    lifted.quorum.add_voter = lambda _voter: refused()
    with pytest.raises(LiftError, match=r"no route to its listener\. The voters are 1, 2, 3 again, dynamic now$"):
        lifted.go()
