"""One run: a cluster from a seed, a time with faults, a time to recover, and the verdict."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from falkirk.node.broker.broker_lifecycle import UNREGISTERED
from falkirk.node.node import Node
from falkirk.node.step import STEP_MS_MAX
from falkirk.simulation.checkers.acked_records_survive import AckedRecordsSurvive
from falkirk.simulation.checkers.acked_writes_survive import AckedWritesSurvive
from falkirk.simulation.checkers.answers_were_negotiated import AnswersWereNegotiated
from falkirk.simulation.checkers.committed_records_stay import CommittedRecordsStay
from falkirk.simulation.checkers.consistent_committed_data import ConsistentCommittedData
from falkirk.simulation.checkers.data_marks import DataMarks
from falkirk.simulation.checkers.decided_equals_committed import DecidedEqualsCommitted
from falkirk.simulation.checkers.eligible_replicas_fit import EligibleReplicasFit
from falkirk.simulation.checkers.finalized_within_supported import FinalizedWithinSupported
from falkirk.simulation.checkers.idempotence import Idempotence
from falkirk.simulation.checkers.image_by_offset import ImageByOffset
from falkirk.simulation.checkers.in_sync_replicas_have_committed import InSyncReplicasHaveCommitted
from falkirk.simulation.checkers.indexes_fit_the_image import IndexesFitTheImage
from falkirk.simulation.checkers.last_stable_offset_fits import LastStableOffsetFits
from falkirk.simulation.checkers.leader_epochs_fit import LeaderEpochsFit
from falkirk.simulation.checkers.leaders_serve import LeadersServe
from falkirk.simulation.checkers.log_watch import LogWatch
from falkirk.simulation.checkers.logs_match import LogsMatch
from falkirk.simulation.checkers.lowered_logs_begin_behind import LoweredLogsBeginBehind
from falkirk.simulation.checkers.lowerings_are_reported import LoweringsAreReported
from falkirk.simulation.checkers.majority_reached_high_watermark import MajorityReachedHighWatermark
from falkirk.simulation.checkers.monotonic_epoch import MonotonicEpoch
from falkirk.simulation.checkers.monotonic_high_watermark import MonotonicHighWatermark
from falkirk.simulation.checkers.no_step_stalls import NoStepStalls
from falkirk.simulation.checkers.nodes_run_what_is_finalized import NodesRunWhatIsFinalized
from falkirk.simulation.checkers.nothing_above_the_level import NothingAboveTheLevel
from falkirk.simulation.checkers.partition_high_watermarks import PartitionHighWatermarks
from falkirk.simulation.checkers.replicas_match import ReplicasMatch
from falkirk.simulation.checkers.reported_epoch_never_falls import ReportedEpochNeverFalls
from falkirk.simulation.checkers.single_leader import SingleLeader
from falkirk.simulation.checkers.snapshot_equals_log import SnapshotEqualsLog
from falkirk.simulation.checkers.source_survives import SourceSurvives
from falkirk.simulation.checkers.unlowerable_are_led import UnlowerableAreLed
from falkirk.simulation.cluster.simulated_cluster import LOG_DIR, Cluster
from falkirk.simulation.faults import Faults
from falkirk.simulation.history.data_history import DataHistory
from falkirk.simulation.history.feature_history import FeatureHistory
from falkirk.simulation.history.group_history import GroupHistory
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.history.transaction_history import Fate, TransactionHistory
from falkirk.simulation.history.write_history import History
from falkirk.simulation.machine.wire_watch import WireWatch
from falkirk.simulation.machine.world import World
from falkirk.simulation.plans.fault_plan import REPEATED_REQUESTS
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.rolls.operator import Operator
from falkirk.simulation.views.level_watch import LevelWatch
from falkirk.simulation.views.marks import Marks
from falkirk.simulation.views.node_logs import NodeLogs
from falkirk.simulation.views.stored_logs import check_stored_logs
from falkirk.storage.partition_directory import METADATA_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.node.effects import Fact
    from falkirk.simulation.checkers.checker import Checker
    from falkirk.simulation.history.feature_history import LevelAnswer
    from falkirk.simulation.machine.disk import CrashOutcome
    from falkirk.simulation.machine.host import Host, Program
    from falkirk.simulation.views.replica_view import ReplicaView

HEALING_MS: Final = 40_000
_WARM_UP_MS: Final = 4_000
_STOPPING_MS: Final = 30_000
# A roll restarts many nodes, one after the other, several times.
_ROLLING_MS_MAX: Final = 120_000
# Facts that report a defect: no fault around a node may cause them.
_DEFECTS: Final = frozenset(
    (
        "controller-failed",
        "handler-failed",
        "group-coordinator-broke",
        "transaction-coordinator-broke",
        "response-cannot-be-written",
        "raft-two-leaders",
        "raft-records-refused",
        "raft-snapshot-refused",
        "raft-snapshot-not-ahead",
        "fetched-snapshot-is-corrupt",
    )
)
# A real Kafka node ends its process at it (docs/internals/commit-by-snapshot.md).
_FATAL_TO_KAFKA: Final = "raft-truncation-refused"


class Verdict(Enum):
    """The outcome of a run."""

    PASSED = "passed"
    WRONG = "wrong result"
    """An invariant does not hold."""
    STUCK = "lost progress"
    """The cluster has not recovered long after the last fault."""
    CRASHED = "crashed"
    """A program raised an unexpected error, reported a defect of its own, or stopped without a reason."""


class ProgramFailedError(Exception):
    """A program reported a defect of its own, or stopped without a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """The result of a run. `digest` is the same for each replay; `timeline` is empty where it was not kept.

    `marks`: how often rare states were reached; `changes`: the number of disk changes of each node until the faults
    ended. `answers`: those that the operator received; `gave_up`: why the operator abandoned its plan.
    """

    seed: int
    scenario: str
    verdict: Verdict
    problem: str | None
    simulated_ms: int
    digest: str
    timeline: "Sequence[str]"
    counts: dict[str, int]
    marks: dict[str, int]
    changes: dict[str, int]
    answers: "tuple[LevelAnswer, ...]" = ()
    gave_up: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPoint:
    """A crash of one node at one change of its disk, counted from 1 after formatting."""

    node_id: int
    change: int
    outcome: "CrashOutcome"


def simulate(
    seed: int,
    *,
    keeps_timeline: bool = True,
    scenario: Scenario | None = None,
    crash: CrashPoint | None = None,
    has_step_costs: bool = False,
    step_ms_max: int = STEP_MS_MAX,
    has_transactions: bool = False,
) -> SimulationResult:
    """Run a seed to its end. The result depends only on the arguments.

    `scenario`: replaces the one that the seed chooses. `crash`: an additional fault; the host starts again when the
    faults end. `has_step_costs`: steps of nodes take as long as they cost, and none may take more than `step_ms_max`;
    what is made once in a process counts where it is made, so only runs in fresh processes are the same.
    `has_transactions`: the seed chooses a scenario with transactional clients.
    """
    world = World(seed, keeps_timeline=keeps_timeline)
    run = _Run(world, scenario or Scenario.of_seed(world.chance, has_transactions=has_transactions), crash)
    if has_step_costs:
        run.count_step_costs(step_ms_max)
    return run.result()


class _Run:
    """One run in progress."""

    def __init__(self, world: World, scenario: Scenario, crash: CrashPoint | None) -> None:
        self._world = world
        self._scenario = scenario
        self._crash = crash
        self._history = History()
        self._data_history = DataHistory()
        self._group_history = GroupHistory(self._data_history)
        self._transaction_history = TransactionHistory()
        self._cluster = Cluster(
            self._world,
            self._scenario,
            self._history,
            self._data_history,
            self._group_history,
            transaction_history=self._transaction_history,
        )
        self._marks = Marks()
        self._levels = LevelWatch()
        self._lowered_logs = LoweredLogsBeginBehind(self._levels)
        self._operator: Operator | None = None
        self._checkers: tuple[Checker, ...] = (
            SingleLeader(),
            MonotonicEpoch(self._cluster.directory_ids),
            MonotonicHighWatermark(),
            MajorityReachedHighWatermark(self._cluster.directory_ids),
            ConsistentCommittedData(),
            ImageByOffset(),
            SnapshotEqualsLog(self._levels),
            FinalizedWithinSupported(),
            LeadersServe(),
            AckedWritesSurvive(self._history, are_requests_repeated=REPEATED_REQUESTS in self._scenario.faults.kinds),
            LogsMatch(),
            NothingAboveTheLevel(),
            NodesRunWhatIsFinalized(),
            self._lowered_logs,
            UnlowerableAreLed(),
            DecidedEqualsCommitted(),
            IndexesFitTheImage(),
            EligibleReplicasFit(self._marks),
            *self._begin_rolls(),
        )
        self._world.network.watch = WireWatch(
            (AnswersWereNegotiated(), ReportedEpochNeverFalls(self._cluster.directory_ids))
        )
        self._logs = LogWatch(
            self._data_history,
            (
                ReplicasMatch(),
                CommittedRecordsStay(),
                AckedRecordsSurvive(),
                Idempotence(),
                InSyncReplicasHaveCommitted(),
                PartitionHighWatermarks(),
                LeaderEpochsFit(),
                LastStableOffsetFits(),
                DataMarks(self._marks),
            ),
        )
        self._seen_starts: dict[str, int] = {}
        self._is_disturbed = False
        self._brokers: dict[str, tuple[int, NodeLogs]] = {}
        self._changes: dict[str, int] = {}

    def _begin_rolls(self) -> Sequence[Checker]:
        """Create the operator if the scenario has one, and return the checkers of rolls."""
        if self._scenario.roll is None:
            return ()
        history = FeatureHistory(self._history.levels)
        self._operator = Operator(
            self._scenario.roll,
            world=self._world,
            cluster=self._cluster,
            levels=self._levels,
            history=history,
            marks=self._marks,
        )
        rehearsed = self._scenario.rehearsed
        source = () if rehearsed is None else (SourceSurvives(rehearsed.image),)
        return (LoweringsAreReported(self._levels, history), *source)

    def count_step_costs(self, step_ms_max: int) -> None:
        """Let steps of nodes take time, and check that none takes too long."""
        stalls = NoStepStalls(step_ms_max)
        for host in self._cluster.nodes:
            host.count_costs()
            host.observers.append(stalls.after_step)

    def result(self) -> SimulationResult:
        """Run to the end and return the result."""
        verdict, problem = Verdict.PASSED, None
        self._world.timeline.add("world", f"seed {self._world.seed}: {self._scenario}")
        try:
            problem = self._play()
            if problem is not None:
                verdict = Verdict.STUCK
        except InvariantViolatedError as error:
            verdict, problem = Verdict.WRONG, str(error)
        except Exception:  # noqa: BLE001  whatever a program raises ends the run, and is the result
            verdict, problem = Verdict.CRASHED, traceback.format_exc()
        counts = self._counts()
        self._world.timeline.add("world", f"{verdict.value}{': ' + problem if problem else ''}")
        return SimulationResult(
            seed=self._world.seed,
            scenario=str(self._scenario),
            verdict=verdict,
            problem=problem,
            simulated_ms=self._world.clock.now_ms,
            digest=f"{self._world.timeline.digest:08x}",
            timeline=self._world.timeline.lines,
            counts=counts,
            marks=dict(sorted(self._marks.counts.items())),
            changes=self._changes,
            answers=() if self._operator is None else tuple(self._operator.answers),
            gave_up=None if self._operator is None else self._operator.gave_up,
        )

    def _play(self) -> str | None:
        """Return what has not recovered in the end; None if all has."""
        world, cluster = self._world, self._cluster
        for host in cluster.nodes:
            host.observers.append(self._check)
            host.listeners_to_refusals.append(self._refused)
        for host in world.hosts.values():
            host.listeners_to_facts.append(self._hear)
        cluster.format()
        if self._crash is not None:
            disk = cluster.host_of(self._crash.node_id).disk
            disk.changes_until_crash, disk.crash_outcome = self._crash.change, self._crash.outcome
        formatted_changes = {host.name: host.disk.changes for host in cluster.nodes}
        cluster.start()
        self._faults = Faults(
            self._scenario.faults,
            world.chance("faults"),
            clock=world.clock,
            network=world.network,
            controllers=cluster.controllers,
            brokers=cluster.brokers,
            timeline=world.timeline,
            shut_down=cluster.shut_down,
            wipe=cluster.wipe,
            lost_power=self._lost_power,
            marks=self._marks,
            has_data=self._scenario.data is not None,
            log_dirs=cluster.log_dirs,
            metadata_directory=f"{LOG_DIR}/{METADATA_DIRECTORY}",
        )
        if self._scenario.data is not None:
            # Until topics are made and the first records are written.
            world.run(_WARM_UP_MS)
        self._faults.begin()
        self._is_disturbed = True
        if self._operator is not None:
            self._operator.begin()
        world.run(world.clock.now_ms + self._scenario.faults_ms)
        self._changes = {host.name: host.disk.changes - formatted_changes[host.name] for host in cluster.nodes}
        self._faults.end()
        self._is_disturbed = False
        stays = self._wait_for_operator()
        if stays is not None:
            return stays
        healed_at_ms = world.clock.now_ms
        acknowledged, acked = self._history.acknowledged, self._data_history.acked
        world.run(healed_at_ms + HEALING_MS, until=lambda: self._moves(acknowledged, acked))
        cluster.end_workload()
        world.run(healed_at_ms + 2 * HEALING_MS, until=lambda: self._unsettled() is None)
        problem = self._unsettled()
        if problem is None and not self._moves(acknowledged - 2, acked - 9):
            problem = "nothing was acknowledged after the last fault"
        if problem is not None:
            return problem
        replicas = cluster.replicas
        for checker in self._checkers:
            checker.at_end(replicas)
        self._logs.at_end(cluster.brokers_with_logs)
        self._group_history.check_linearizable()
        self._transaction_history.check_atomic()
        return None if self._scenario.data is None else self._stop_brokers()

    def _unsettled(self) -> str | None:
        """Return what has not yet recovered; None if all has."""
        return self._cluster.unsettled() or self._lowered_logs.missing(self._cluster.replicas)

    def _wait_for_operator(self) -> str | None:
        """Wait until the operator is done; return the step that does not finish, None if all do."""
        operator, world = self._operator, self._world
        if operator is None or world.run(world.clock.now_ms + _ROLLING_MS_MAX, until=lambda: operator.is_done):
            return None
        return f"the operator does not get on: {operator.doing}; last refused: {operator.last_refusal or 'nothing'}"

    def _stop_brokers(self) -> str | None:
        """Shut down all brokers and check their disks; return which one does not stop, None if all do."""
        world, hosts = self._world, self._cluster.data_hosts
        self._faults.leave()
        for host in hosts:
            self._cluster.shut_down(host)
        world.run(world.clock.now_ms + _STOPPING_MS, until=lambda: not any(host.is_up for host in hosts))
        for host in hosts:
            if host.is_up:
                return f"{host.name} does not stop"
            for log_dir in self._cluster.log_dirs:
                check_stored_logs(host.disk, log_dir, host.name)
        return None

    def _moves(self, acknowledged_before: int, acked_before: int) -> bool:
        moves = self._history.acknowledged >= acknowledged_before + 3
        return moves and (self._scenario.data is None or self._data_history.acked >= acked_before + 10)

    def _lost_power(self, host: Host) -> None:
        node_id = self._cluster.node_id_of(host)
        if node_id is not None:
            self._logs.lost_power(node_id)

    def _check(self, host: Host, program: Program) -> None:
        replica = cast("ReplicaView", program)
        if host.stopped is not None and host.stopped.exit_code:
            self._refused(host, host.stopped.reason)
            for checker in self._checkers:
                checker.failed(replica)
            self._check_logs(host, program)
            return
        if replica.is_active_controller:
            self._marks.count_fencing(replica.image.cluster)
        is_new = self._seen_starts.get(host.name) != host.starts
        self._seen_starts[host.name] = host.starts
        if is_new and host.disk.flipped is not None:
            raise ProgramFailedError(f"{host.name} runs with a flipped bit: {host.disk.flipped}")
        for checker in self._checkers:
            if is_new:
                checker.started(replica)
            checker.after_step(replica)
        self._check_logs(host, program)

    def _refused(self, host: Host, reason: str | None) -> None:
        """Handle a node that does not run: its disk fails, or an operator started it as too old a release.

        During faults, a broker may also fail to register for a minute of its own clock.
        """
        if self._is_disturbed and reason == UNREGISTERED:
            return
        flipped = host.disk.flipped
        if flipped is not None and flipped.path in (reason or ""):
            self._marks.add("flipped bit refused")
            host.disk.unflip()
            return
        if host.disk.error is None and (self._operator is None or not self._operator.refused(host, reason or "")):
            raise ProgramFailedError(f"{host.name} stopped: {reason}")

    def _check_logs(self, host: Host, program: Program) -> None:
        if self._scenario.data is None or not isinstance(program, Node):
            return
        self._logs.published(program.image)
        if program.broker is None:
            return
        replicas = program.broker.replicas
        is_known = host.name in self._brokers and self._brokers[host.name][0] == host.starts
        if host.stopped is not None or not replicas.is_started:
            if is_known:
                self._logs.ended(self._brokers[host.name][1])
            return
        if not is_known:
            self._brokers[host.name] = host.starts, NodeLogs(program.node_id, replicas)
            self._logs.started(self._brokers[host.name][1])
        self._logs.after_step(self._brokers[host.name][1])

    def _hear(self, host: Host, fact: Fact) -> None:
        self._marks.count_fact(fact)
        if fact.event in _DEFECTS or (fact.event == _FATAL_TO_KAFKA and self._is_like_kafka(host)):
            fields = "\n".join(f"{key}={value}" for key, value in fact.fields.items())
            raise ProgramFailedError(f"{host.name} tells of {fact.event}\n{fields}")

    def _is_like_kafka(self, host: Host) -> bool:
        roll = self._scenario.roll
        return roll is not None and self._cluster.node_id_of(host) in roll.unlowerable

    def _counts(self) -> dict[str, int]:
        hosts = self._world.hosts.values()
        self._marks.add("request repeated", self._world.network.counts["repeats"])
        self._marks.add("connection broken", self._world.network.counts["breaks"])
        self._marks.add("crash within a change on disk", sum(host.crashes_in_changes for host in hosts))
        self._marks.add("producer gave up", self._data_history.given_up)
        self._marks.add("offsets committed by a group", self._group_history.acked)
        self._marks.add("members of both protocols in a group", self._group_history.mixed)
        self._marks.add("administrator served through a broker", self._history.acknowledged_through_brokers)
        return {
            **self._world.network.counts,
            "steps": sum(host.steps for host in hosts),
            "starts": sum(host.starts for host in hosts),
            "requested": self._history.requested,
            "acknowledged": self._history.acknowledged,
            **(self._data_counts() if self._scenario.data is not None else {}),
        }

    def _data_counts(self) -> dict[str, int]:
        history = self._data_history
        return {
            "produced": history.produced,
            "acked": history.acked,
            "given up": history.given_up,
            "read": history.read,
            "offsets committed": self._group_history.acked,
            "level of groups": self._group_history.highest_level,
            "transactions committed": self._transaction_history.count(Fate.COMMITTED),
            "transactions aborted": self._transaction_history.count(Fate.ABORTED),
            "lossy": sum(history.keeping(key) is not None for key in history.lossy),
        }
