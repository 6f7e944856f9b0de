"""Findings of made clusters, and a page that is served from them in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from contextlib import contextmanager

import msgspec

from falkirk.ledger.findings import BlockerKind
from falkirk.ledger.open_transaction import OpenTransaction
from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.watch.core.findings import (
    EventKind,
    FeatureState,
    Findings,
    FoundBlocker,
    FoundLoss,
    GroupState,
    LowestLevel,
    NodeState,
    Place,
    Source,
    WatchEvent,
    Way,
    WayState,
)
from falkirk.watch.core.targets import older_releases
from falkirk.watch.page.server import serving_page

RELEASES = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3")
BEGIN_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
HIGHEST = MetadataVersion.parse("4.4-IV1").level
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m'\"&../%2F"


def made_loss(number=0, *, kind="cordoned_log_dirs", releases=RELEASES[:5], detail=None):
    return FoundLoss(
        kind=kind,
        outcome="lost",
        key=f"{kind}-{number}",
        detail=detail or f"broker {number} has cordoned log directories",
        place=Place(
            log="__cluster_metadata-0",
            offset=300 + number,
            end_offset=301 + number,
            timestamp_ms=BEGIN_MS + number * HOUR_MS,
            record="BrokerRegistrationChangeRecord",
        ),
        releases=tuple(releases),
        remedy="remove cordoned.log.dirs from the broker's configuration",
        command=f"kafka-configs.sh --bootstrap-server BROKERS --alter --entity-type brokers --entity-name {number}",
    )


def made_way(release, state, losses=()):
    [level] = [target.metadata_version for target in older_releases() if target.release.word == release]
    blockers = ()
    if state is WayState.BLOCKED:
        text = "partition orders-0 has 1 of 3 replicas in its ISR"
        blockers = (
            FoundBlocker(
                kind=BlockerKind.BELOW_FULL_ISR,
                fields={},
                text=text,
                remedy="start the brokers whose replicas are missing",
                command="kafka-topics.sh --bootstrap-server kafka-1:9092 --describe --under-replicated-partitions",
            ),
        )
    return Way(
        release=release,
        level=level.level,
        name=str(level),
        state=state,
        is_lossless=None if state is WayState.UNKNOWN else not losses,
        is_blocked=None if state is WayState.UNKNOWN else bool(blockers),
        losses={losses[0].kind: len(losses)} if losses else {},
        inaccessible={},
        cut_off={"member": 2} if state is WayState.OPEN else {},
        dropped_features=(),
        blockers=blockers,
        point_of_no_return=losses[0] if losses else None,
        unknown=("metadata: last read 60 s ago",) if state is WayState.UNKNOWN else (),
    )


def made_findings(name="prod", *, losses=2, at_ms=BEGIN_MS + 5 * HOUR_MS, is_fresh=True, group="orders-app"):
    """Return findings of a cluster at 4.3: to 4.1 and below it would lose `losses`, to 4.2 it can go."""
    lost = tuple(made_loss(number) for number in range(losses))
    states = dict.fromkeys(RELEASES[:5], WayState.CLOSED if losses else WayState.OPEN)
    states |= {"4.2": WayState.OPEN, "4.3": WayState.NOT_BELOW}
    if not is_fresh:
        states = dict.fromkeys(RELEASES, WayState.UNKNOWN)
    ways = tuple(
        made_way(release, state, lost if state is WayState.CLOSED else ()) for release, state in states.items()
    )
    return Findings(
        cluster=name,
        cluster_id="6vbh4wk5T4Km8jEVAG4DaA",
        at_ms=at_ms,
        is_fresh=is_fresh,
        sources=(
            Source(name="metadata", is_fresh=is_fresh, as_of_ms=at_ms, reason=None if is_fresh else "kafka-1 is gone"),
        ),
        metadata_version="4.3-IV0",
        features=(
            FeatureState(
                feature="metadata.version", finalized=30, name="4.3-IV0", supported=(7, HIGHEST), can_rise_to=HIGHEST
            ),
        ),
        ways=ways,
        lowest=LowestLevel(level=MetadataVersion.parse("4.2-IV1").level, name="4.2-IV1", forced_by={}),
        losses=lost,
        loss_count=len(lost),
        groups=(
            GroupState(
                group=group,
                type="consumer",
                partition=1,
                members=2,
                committed_offsets=3,
                verdicts=dict.fromkeys(RELEASES, "kept"),
            ),
        ),
        group_count=1,
        groups_by_type={"consumer": 1},
        transactions=(
            OpenTransaction(
                transactional_id="pay-1",
                state="ongoing",
                partition=3,
                offset=9,
                producer_id=1000,
                producer_epoch=1,
                partitions=("orders-0",),
                start_timestamp_ms=BEGIN_MS,
            ),
        ),
        transaction_count=1,
        nodes=(
            NodeState(
                node_id=1,
                roles=("broker", "controller"),
                endpoint="127.0.0.1:9092",
                answers=True,
                reason=None,
                is_fenced=False,
                supported={"metadata.version": (7, HIGHEST)},
                finalized={"metadata.version": 30},
                finalized_epoch=512,
            ),
        ),
        counts={"topics": 12, "brokers": 1},
    )


def with_way(findings, way):
    """Return findings with another way in the place of the one to the same release."""
    ways = tuple(way if each.release == way.release else each for each in findings.ways)
    return msgspec.structs.replace(findings, ways=ways)


def made_event(cluster, kind, release, at_ms, **fields):
    return WatchEvent(
        key=f"{cluster}/{kind}/{release}/{at_ms}",
        kind=EventKind(kind),
        at_ms=at_ms,
        cluster=cluster,
        cluster_id="6vbh4wk5T4Km8jEVAG4DaA",
        release=release,
        fields=fields,
        text=f"{cluster}: {kind} {release}",
    )


class MadeWatch:
    """What a page reads of a watch."""

    def __init__(self, *findings, journal=None):
        self.lifts = {}
        self.latest = {each.cluster: each for each in findings}
        self.journal = journal

    def publish(self, findings):
        self.latest = {**self.latest, findings.cluster: findings}


@contextmanager
def served_page(make_watch, *, token=None, lifts=None):
    """Serve the page of the watch that `make_watch()` returns, in a thread of its own; yields address and watch."""
    begun: Future = Future()
    stop = threading.Event()

    async def serve():
        watch = make_watch()
        watch.lifts = lifts or {}
        async with serving_page(watch, Endpoint("127.0.0.1", 0), token=token) as address:
            begun.set_result((address, watch))
            while not stop.is_set():  # noqa: ASYNC110 - set by another thread
                await asyncio.sleep(0.05)
        if watch.journal is not None:
            watch.journal.close()

    def run():
        try:
            asyncio.run(serve())
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield begun.result(30)
    finally:
        stop.set()
        thread.join(30)


def wait_for(condition, timeout_s=15.0):
    """Wait until a condition holds; its last value is returned."""
    end = time.monotonic() + timeout_s
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value
