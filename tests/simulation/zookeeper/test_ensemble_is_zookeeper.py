"""The ZooKeeper of values answers as a real one: the same operations on both, from two sessions."""

from __future__ import annotations

import random
import threading

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.states import Callback

from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.session.operations import (
    CheckVersion,
    Children,
    Create,
    Delete,
    Done,
    Failed,
    GetChildren,
    GetData,
    KeeperError,
    Multi,
    SetData,
    Znode,
)

pytestmark = pytest.mark.zookeeper

PATHS = ("/a", "/b", "/a/x", "/a/y", "/b/x")
OPERATIONS = 250
REFUSALS = {
    NoNodeError: Failed(KeeperError.NO_NODE),
    NodeExistsError: Failed(KeeperError.NODE_EXISTS),
    BadVersionError: Failed(KeeperError.BAD_VERSION),
    NotEmptyError: Failed(KeeperError.OTHER, detail="NotEmpty"),
    NoChildrenForEphemeralsError: Failed(KeeperError.OTHER, detail="NoChildrenForEphemerals"),
}


class Values:
    """A session with the ensemble of values."""

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.told: list[str] = []
        self.id = ensemble.open_session(60_000, 0, self.told.append)

    def ask(self, operation):
        return self.ensemble.ask(self.id, operation)

    def settle(self) -> None:
        pass

    def close(self) -> None:
        self.ensemble.end_session(self.id)


class Real:
    """A session with a real server; nothing of the driver's is used."""

    def __init__(self, connect: str) -> None:
        self.client = KazooClient(connect, timeout=20)
        self.client.start(timeout=30)
        self.told: list[str] = []
        self.id = self.client.client_id[0]

    def ask(self, operation):
        try:
            return self._ask(operation)
        except KazooException as error:
            return REFUSALS[type(error)]

    def settle(self) -> None:
        """Wait until all watches that have fired have told of it."""
        self.client.sync("/")
        is_idle = threading.Event()
        self.client.handler.dispatch_callback(Callback("watch", is_idle.set, ()))
        assert is_idle.wait(30)

    def close(self) -> None:
        self.client.stop()
        self.client.close()

    def _changed(self, event) -> None:
        self.told.append(event.path)

    def _ask(self, operation):
        match operation:
            case GetData(path, watch):
                return self._get(path, self._changed if watch else None)
            case GetChildren(path, watch):
                return Children(tuple(sorted(self.client.get_children(path, watch=self._changed if watch else None))))
            case Create(path, data, ephemeral):
                self.client.create(path, data, ephemeral=ephemeral)
                return Done()
            case SetData(path, data, version):
                return Done(self.client.set(path, data, version=version).version)
            case Delete(path, version):
                self.client.delete(path, version=version)
                return Done()
            case Multi(parts):
                return self._ask_all(parts)

    def _get(self, path, watcher):
        # Where there is nothing to get, `exists` is what leaves a watch.
        if self.client.exists(path, watch=watcher) is None:
            return Failed(KeeperError.NO_NODE)
        data, stat = self.client.get(path, watch=watcher)
        return Znode(data, stat.version, stat.czxid, stat.ephemeralOwner)

    def _ask_all(self, parts):
        transaction = self.client.transaction()
        for part in parts:
            match part:
                case Create(path, data, ephemeral):
                    transaction.create(path, data, ephemeral=ephemeral)
                case SetData(path, data, version):
                    transaction.set_data(path, data, version)
                case Delete(path, version):
                    transaction.delete(path, version)
                case CheckVersion(path, version):
                    transaction.check(path, version)
        results = transaction.commit()
        for number, result in enumerate(results):
            if isinstance(result, Exception) and not isinstance(result, (RolledBackError, RuntimeInconsistency)):
                refusal = REFUSALS[type(result)]
                return Failed(refusal.refusal, number, refusal.detail)
        return Done(results[-1].version if isinstance(parts[-1], SetData) else 0)


def some_write(chance: random.Random, *, is_part: bool):
    path = chance.choice(PATHS)
    version = chance.choice((-1, -1, 0, 0, 1, 2))
    writes = [
        Create(path, chance.randbytes(2), ephemeral=chance.random() < 0.4),
        Create(path, chance.randbytes(2)),
        SetData(path, chance.randbytes(2), version),
        Delete(path, version),
    ]
    return chance.choice([*writes, CheckVersion(path, version)] if is_part else writes)


def some_operation(chance: random.Random):
    draw = chance.random()
    if draw < 0.3:
        return GetData(chance.choice(PATHS), watch=chance.random() < 0.7)
    if draw < 0.45:
        return GetChildren(chance.choice(("/", *PATHS)), watch=chance.random() < 0.7)
    if draw < 0.65:
        return Multi(tuple(some_write(chance, is_part=True) for _ in range(chance.randrange(1, 4))))
    return some_write(chance, is_part=False)


class SameNames:
    """Session ids and zxids are each server's own: which of one is which of the other, and in the same order."""

    def __init__(self) -> None:
        self.zxids: dict[int, int] = {}

    def check(self, value: Znode, real: Znode, sessions: dict[int, int]) -> None:
        assert (value.data, value.version) == (real.data, real.version)
        assert value.ephemeral_owner == sessions[real.ephemeral_owner]
        assert self.zxids.setdefault(real.czxid, value.czxid) == value.czxid
        ours = [self.zxids[zxid] for zxid in sorted(self.zxids)]
        assert ours == sorted(set(ours))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_operations_have_the_same_answers_and_fire_the_same_watches(chroot, seed):
    chance = random.Random(seed)
    ensemble = Ensemble()
    values = [Values(ensemble), Values(ensemble)]
    reals = [Real(chroot), Real(chroot)]
    sessions = {0: 0} | {real.id: value.id for real, value in zip(reals, values, strict=True)}
    names = SameNames()
    outcomes = set()

    def told(parties) -> list[set[str]]:
        heard = []
        for party in parties:
            party.settle()
            heard.append(set(party.told))
            party.told.clear()
        return heard

    for number in range(OPERATIONS):
        asker, operation = chance.randrange(2), some_operation(chance)
        value, real = values[asker].ask(operation), reals[asker].ask(operation)
        what = f"{number}: {operation}"
        if isinstance(value, Znode) and isinstance(real, Znode):
            names.check(value, real, sessions)
        else:
            assert value == real, what
        heard = told(values)
        assert heard == told(reals), what
        outcomes |= {type(value), *(("told",) if any(heard) else ())}
        if isinstance(value, Failed):
            outcomes.add(value.refusal)

    values[0].close()
    reals[0].close()
    assert told(values[1:]) == told(reals[1:])
    for path in PATHS:
        value, real = values[1].ask(GetData(path)), reals[1].ask(GetData(path))
        assert isinstance(value, Znode) == isinstance(real, Znode), path
    reals[1].close()
    # All of it was met, or nothing was compared.
    assert outcomes >= {Znode, Children, Done, Failed, "told"}
    assert outcomes >= {KeeperError.NO_NODE, KeeperError.NODE_EXISTS, KeeperError.BAD_VERSION, KeeperError.OTHER}
