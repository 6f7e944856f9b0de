"""A lift from its beginning to its report: run, abort and status. What it did stands in its journal."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.client.admin import AsyncAdmin
from falkirk.client.errors import ClientError
from falkirk.lift.controller_process import ControllerProcess
from falkirk.lift.engine import Engine
from falkirk.lift.errors import LiftError, LossesNotAcceptedError
from falkirk.lift.extra_voter import ExtraVoter
from falkirk.lift.hooks import HOOKS_LOG, KEEP_BUNDLE, HookRunner
from falkirk.lift.in_place import InPlace
from falkirk.lift.journal import Entry, Journal, OriginalBroker, Originals, is_over
from falkirk.lift.lift_file import IN_PLACE, IN_PLACE_OF_ONE
from falkirk.lift.lifted_cluster import LiftedCluster, reported_level
from falkirk.lift.lowering import Lowering
from falkirk.lift.place_check import check_id, check_place, check_release
from falkirk.lift.probe import Probe
from falkirk.lift.quorum_access import QuorumAccess, voters_of
from falkirk.lift.roll import Roll
from falkirk.lift.room import check_room, named_if_full
from falkirk.lift.step import Step
from falkirk.lift.unchanged import check_unchanged
from falkirk.mirror.cluster_mirror import LiveSource
from falkirk.operations.lift_check import check_lift, read_logs
from falkirk.operations.lift_observation import observe
from falkirk.operations.lift_way import WayKind
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.temporary_folder import temporary_folder
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from falkirk.client.config import ClientConfig
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.lift.lift_file import LiftFile, Place
    from falkirk.lift.roll import NodeOnRelease
    from falkirk.operations.lift_check import LiftCheck
    from falkirk.operations.lift_way import WayChoice
    from falkirk.protocol.endpoint import Endpoint

_LOCK: Final = "lock"
# Those of the ways that a lift file can name.
_WAYS_OF_PLACES: Final = (
    WayKind.EXTRA_VOTER,
    WayKind.DYNAMIC_FIRST,
    WayKind.IN_PLACE_MAJORITY,
    WayKind.BY_SNAPSHOT,
)
_REQUEST_MS: Final = 10_000
_PROBE_MS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftConnections:
    """How brokers and controllers are reached."""

    brokers: ClientConfig
    controllers: ClientConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LiftStatus:
    """The journal, and the quorum as it is now; None where nobody leads it, or nobody answers."""

    originals: Originals | None
    entries: tuple[Entry, ...]
    level: str | None
    quorum: QuorumDescription | None
    nodes: tuple[NodeOnRelease, ...]

    @property
    def is_over(self) -> bool:
        """True if the lift was finished or aborted."""
        return is_over(self.entries)


class Lift:
    """The lift of one file. `notice` gets one line for people at each step, `on_entry` each entry of the journal."""

    def __init__(
        self,
        file: LiftFile,
        connections: LiftConnections,
        *,
        notice: Callable[[str], None] = lambda _text: None,
        on_entry: Callable[[Entry], None] = lambda _entry: None,
    ) -> None:
        self._file = file
        self._connections = connections
        self._notice = notice
        self._on_entry = on_entry
        self._journal = Journal(Path(file.state))
        self._target = file.parsed_target

    async def run(self) -> tuple[Entry, ...]:
        """Begin the lift, or go on with one that was stopped; return its journal.

        Before the level is low, a step that fails gives the quorum back as it was. Raises LiftError with what is to be
        done, ClientError if the cluster cannot be reached, OSError.
        """
        with _locked(self._journal.directory), named_if_full(self._journal.directory):
            if self._journal.is_over:
                raise LiftError(f"the lift of {self._journal.directory} is over: name another state directory")
            async with AsyncExitStack() as stack:
                originals = self._journal.originals()
                if originals is None:
                    originals = await self._begin()
                else:
                    await self._check_unchanged(stack, originals)
                engine = self._engine(stack, originals)
                roll = Roll(self._cluster(stack, originals), self._target.release)
                further = roll.steps(self._hooks()) if self._file.hooks.roll else ()
                probe = await stack.enter_async_context(Probe(self._brokers_admin(stack, _PROBE_MS, originals)))
                await engine.go(probe, further)
                await self._record_roll(roll)
            self._record("finished")
            return tuple(self._journal.read())

    async def abort(self) -> tuple[Entry, ...]:
        """Restore the voters of before. Raises LiftError once the level is low: then only `run` goes on."""
        with _locked(self._journal.directory), named_if_full(self._journal.directory):
            originals = self._journal.originals()
            if originals is None or self._journal.is_over:
                raise LiftError(f"no lift is under way in {self._journal.directory}")
            async with AsyncExitStack() as stack:
                await self._check_unchanged(stack, originals)
                await self._engine(stack, originals).abort()
            return tuple(self._journal.read())

    async def status(self) -> LiftStatus:
        """Read the journal and ask the cluster; nothing is changed."""
        originals = self._journal.originals()
        view: QuorumDescription | None = None
        nodes: tuple[NodeOnRelease, ...] = ()
        async with AsyncExitStack() as stack:
            if originals is not None:
                cluster = self._cluster(stack, originals)
                view, nodes = await cluster.view(), await Roll(cluster, self._target.release).nodes()
            level = await reported_level(self._brokers_admin(stack, _REQUEST_MS, originals))
        return LiftStatus(
            originals=originals,
            entries=tuple(self._journal.read()),
            level=None if level is None else str(MetadataVersion.of_level(level)),
            quorum=view,
            nodes=nodes,
        )

    # --- Inside

    async def _begin(self) -> Originals:
        """Check the cluster, refuse what cannot work, and write down what it is."""
        checked = await self._checked()
        check_may_begin(self._file, checked)
        seen = checked.observation
        controllers = self._file.controllers or tuple(seen.quorum.voter_endpoints.values() if seen.quorum else ())
        place = self._file.extra_voter
        if place is not None:
            await check_place(place, seen.cluster_id, controllers, seen.configs)
        async with AsyncExitStack() as stack:
            features = (await self._brokers_admin(stack, _REQUEST_MS).newest_features()).finalized_features
            view = await self._quorum_access(stack, controllers).describe()
        if place is not None:
            check_id(place, view, brokers=[node.node_id for node in seen.brokers])
        originals = Originals(
            cluster_id=seen.cluster_id,
            leader_id=view.leader_id,
            voters=voters_of(view),
            levels={name: found.max_version_level for name, found in features.items()},
            target=str(self._target.metadata_version),
            brokers=tuple(
                OriginalBroker(node_id=node.node_id, host=node.endpoint.host, port=node.endpoint.port)
                for node in seen.brokers
                if not node.is_fenced
            ),
            is_in_place=place is None,
            replaces_one=self._file.place == IN_PLACE_OF_ONE,
        )
        for voter in originals.voters:
            if not voter.listeners:
                raise LiftError(f"where voter {voter.node_id} listens is not reported, which Kafka does since 3.9")
        if place is not None:
            check_release(place, originals.levels)
            self._process(place, originals).check_directory()
        self._record("originals", fields=msgspec.to_builtins(originals))
        for warning in checked.warnings:
            self._record("warning", fields=warning.as_json())
        return originals

    async def _check_unchanged(self, stack: AsyncExitStack, originals: Originals) -> None:
        """Raise LiftError if the cluster is not the one that the lift began on, as far as it answers."""
        cluster_id: str | None = None
        with suppress(ClientError):
            cluster_id = (await self._brokers_admin(stack, _REQUEST_MS).describe_cluster()).cluster_id
        place = self._file.extra_voter
        own = () if place is None else (place.node_id,)
        check_unchanged(originals, cluster_id=cluster_id, quorum=await self._cluster(stack, originals).view(), own=own)

    async def _checked(self) -> LiftCheck:
        source = LiveSource(
            brokers=self._file.brokers,
            controllers=self._file.controllers,
            config=self._connections.brokers,
            controller_config=self._connections.controllers,
        )
        with temporary_folder("falkirk-lift-") as folder:
            observation = await observe(source, folder, self._notice)
            if observation.directory is not None:
                self._check_room(observation.directory)
            logs = None if observation.directory is None else read_logs(observation.directory, self._target)
            return check_lift(observation, logs, self._target)

    def _check_room(self, fetched: Path) -> None:
        """Raise LiftError if the lift's directories have no room for the metadata log, two snapshots and a bundle."""
        log_bytes = sum(file.stat().st_size for file in (fetched / METADATA_DIRECTORY).iterdir())
        place = self._file.extra_voter
        check_room([self._journal.directory, *([] if place is None else [Path(place.directory)])], log_bytes)

    def _engine(self, stack: AsyncExitStack, originals: Originals) -> Engine:
        if originals.target != str(self._target.metadata_version):
            raise LiftError(f"the lift under way goes to {originals.target}, not to {self._target.metadata_version}")
        is_same = originals.replaces_one == (self._file.place == IN_PLACE_OF_ONE)
        if originals.is_in_place != (self._file.extra_voter is None) or not is_same:
            begun = "in place" if originals.is_in_place else "by an extra voter"
            begun += " of one" if originals.replaces_one else ""
            raise LiftError(f"place: the lift under way goes {begun}")
        place = self._file.extra_voter
        cluster = self._cluster(stack, originals)
        way = self._in_place(cluster) if place is None else self._beside(place, cluster)
        return Engine(
            way,
            cluster,
            limits=self._file.limits,
            has_begun_lowering=lambda: self._journal.has_begun_lowering,
            record=self._record,
            notice=self._notice,
        )

    def _cluster(self, stack: AsyncExitStack, originals: Originals) -> LiftedCluster:
        place = self._file.extra_voter
        own = [] if place is None else [place.endpoint]
        return LiftedCluster(
            self._target.metadata_version,
            originals,
            self._journal.voters(),
            quorum=self._quorum_access(stack, [*own, *(voter.endpoint for voter in originals.voters)]),
            brokers=self._brokers_admin(stack, _REQUEST_MS, originals),
            limits=self._file.limits,
            note=self._note,
            own_id=None if place is None else place.node_id,
        )

    def _beside(self, place: Place, cluster: LiftedCluster) -> ExtraVoter:
        controllers = self._connections.controllers
        process = self._process(place, cluster.originals)

        async def leader() -> Endpoint:
            await process.ensure_running()
            return place.endpoint

        cluster.revive = process.revive
        lowering = Lowering(
            self._file,
            self._target,
            cluster,
            leader=leader,
            config=controllers,
            is_whole=Roll(cluster, self._target.release).is_whole,
        )
        return ExtraVoter(cluster, process, lowering=lowering.steps(), keep_bundle=self._keep_bundle)

    def _process(self, place: Place, originals: Originals) -> ControllerProcess:
        return ControllerProcess(
            place,
            cluster_id=originals.cluster_id,
            bootstrap=[voter.endpoint for voter in originals.voters],
            level=str(MetadataVersion.of_level(originals.levels[METADATA_VERSION])),
            config=self._connections.controllers,
        )

    def _in_place(self, cluster: LiftedCluster) -> InPlace:
        is_whole = Roll(cluster, self._target.release).is_whole
        way = InPlace(cluster, self._hooks(), is_whole)
        controllers = self._connections.controllers
        cluster.revive = way.revive
        lowering = Lowering(
            self._file,
            self._target,
            cluster,
            leader=way.leader,
            config=controllers,
            is_whole=None if way.replaces_broker else is_whole,
        )
        way.lowering = (*lowering.steps(), self._bundle_step(cluster))
        return way

    def _hooks(self) -> HookRunner:
        return HookRunner(
            self._file.hooks,
            release=self._target.release.word,
            limit_s=self._file.limits.hook_s,
            log=self._journal.directory / HOOKS_LOG,
            note=self._note,
        )

    def _note(self, event: str, fields: Mapping[str, object]) -> None:
        self._record(event, fields=dict(fields))

    async def _record_roll(self, roll: Roll) -> None:
        """Write down which nodes the operator is to restart with the older binaries."""
        left = [node.node_id for node in await roll.nodes() if not node.is_on_target]
        if left:
            self._record("to-roll", fields={"nodes": left, "release": self._target.release.word})

    def _bundle_step(self, cluster: LiftedCluster) -> Step:
        """Return the step that keeps the bundle of falkirk's controller that leads, which goes from its machine."""
        has_ended = False

        def bundle() -> Path | None:
            entries = [each for each in self._journal.read() if each.event == "level-lowered"]
            path = entries[-1].fields.get("undo_bundle") if entries else None
            return None if path is None else Path(str(path))

        async def is_kept() -> bool:
            path = bundle()
            return has_ended or path is None or (self._journal.directory / path.name).exists()

        async def keep() -> None:
            nonlocal has_ended
            path = bundle()
            assert path is not None, "it is not done"
            if self._file.hooks.keep_bundle is not None:
                leader_id = (await cluster.view_within()).leader_id
                [leader] = [voter for voter in cluster.voters if voter.node_id == leader_id]
                into = str(self._journal.directory / path.name)
                variables = {"LIFT_BUNDLE": str(path), "LIFT_INTO": into}
                await self._hooks().run(KEEP_BUNDLE, leader_id, leader.endpoint, **variables)
            elif path.exists():
                self._keep_bundle([path])
            else:
                self._record("undo-bundle-left", fields={"path": str(path)})
                has_ended = True

        what = "the undo bundle is kept beside the journal"
        return Step("keep-bundle", what, is_kept, keep, is_after_lowering=True, hooks_s=self._file.limits.hook_s)

    def _keep_bundle(self, bundles: Sequence[Path]) -> None:
        """Copy undo bundles beside the journal: the controller's directory may go after the lift."""
        for bundle in bundles:
            kept = self._journal.directory / bundle.name
            if not kept.exists():
                partial = kept.with_suffix(".partial")
                shutil.copyfile(bundle, partial)
                partial.rename(kept)
                self._record("undo-bundle-kept", fields={"path": str(kept)})

    def _record(self, event: str, step: str | None = None, fields: dict[str, Any] | None = None) -> None:  # Any: JSON
        entry = Entry(at_ms=time.time_ns() // 1_000_000, event=event, step=step, fields=fields or {})
        self._journal.append(entry)
        self._on_entry(entry)

    def _brokers_admin(self, stack: AsyncExitStack, timeout_ms: int, originals: Originals | None = None) -> AsyncAdmin:
        """Return what asks any broker; those that the lift began with answer where the file's are down."""
        known = () if originals is None else originals.brokers
        endpoints = dict.fromkeys([*self._file.brokers, *(broker.endpoint for broker in known)])
        admin = AsyncAdmin(tuple(endpoints), self._connections.brokers.within(timeout_ms))
        stack.push_async_callback(admin.close)
        return admin

    def _quorum_access(self, stack: AsyncExitStack, endpoints: Sequence[Endpoint]) -> QuorumAccess:
        quorum = QuorumAccess(endpoints, self._connections.controllers)
        stack.push_async_callback(quorum.close)
        return quorum


def check_may_begin(file: LiftFile, checked: LiftCheck) -> None:
    """Raise LiftError for rights that are missing, what is in the way, another way, and losses not accepted."""
    seen = checked.observation
    missing = dict.fromkeys([*(each.needs for each in seen.unseen if each.needs), *seen.missing_rights])
    if missing:
        raise LiftError("\n".join(f"missing right: {right}" for right in missing))
    if checked.blockers:
        raise LiftError("\n".join(f"in the way: {blocker}" for blocker in checked.blockers))
    check_way(file, checked.way)
    assert checked.logs is not None, "a log that cannot be read is in the way"
    kinds = file.not_accepted(checked.loss_kinds)
    if kinds:
        raise LossesNotAcceptedError(
            f"the lift would lose {', '.join(kinds)}, which accept_losses does not name: "
            "`falkirk lift check` lists each loss"
        )


def check_way(file: LiftFile, way: WayChoice | None) -> None:
    """Raise LiftError if the cluster cannot go the way of the file."""
    possible = () if way is None else tuple(each.kind for each in way.possible)
    wanted = {IN_PLACE: (WayKind.IN_PLACE_MAJORITY,), IN_PLACE_OF_ONE: (WayKind.BY_SNAPSHOT,)}.get(
        str(file.place), (WayKind.EXTRA_VOTER, WayKind.DYNAMIC_FIRST)
    )
    kind = next((each for each in wanted if each in possible), None)
    if kind is None:
        reasons = [] if way is None else [str(each) for each in way.refused if each.kind in wanted]
        others = ", ".join(each for each in _WAYS_OF_PLACES if each in possible)
        hint = f"; possible: {others} (see place of the lift file)" if others else ""
        raise LiftError(f"not possible here: {'; '.join(reasons) or 'the quorum was not seen'}{hint}")
    if kind is WayKind.DYNAMIC_FIRST and not file.upgrade_kraft_version:
        raise LiftError(
            "the voters are static (kraft.version 0), so falkirk cannot become one: upgrade_kraft_version: true "
            "lets them be made dynamic first, which is not taken back while the cluster runs"
        )


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the directory of a lift. Raises LiftError if another process does."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LiftError(f"{directory}: another process works on this lift") from error
    try:
        yield
    finally:
        os.close(descriptor)
