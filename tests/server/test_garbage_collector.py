import gc
from collections import deque
from collections.abc import Iterator
from weakref import proxy, ref

import pytest

from falkirk.server import garbage_collector
from falkirk.server.garbage_collector import (
    OLD_VISITS_MAX,
    SURVIVOR_COLLECTIONS,
    YOUNG_COLLECTIONS,
    YOUNG_OBJECTS,
    YOUNG_STEPS,
    GarbageCollector,
    Held,
    settle_memory,
)


class Cycle:
    """Garbage that no count of references finds, once nobody else has it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def collector_of_python() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    gc.collect()


def grow_old() -> None:
    """Let as many collections of young objects pass as make one of their survivors due."""
    for _ in range(YOUNG_COLLECTIONS):
        gc.collect(0)


def test_no_step_collects_old_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collector, "YOUNG_OBJECTS", 10)
    settle_memory()
    oldest = 0

    def count(phase: str, info: dict[str, int]) -> None:
        nonlocal oldest
        oldest = max(oldest, info["generation"])

    gc.callbacks.append(count)
    kept = [[number] for number in range(100_000)]
    gc.callbacks.remove(count)
    assert oldest == 0
    assert GarbageCollector(Held).is_due
    assert kept


def test_no_code_of_an_object_runs_when_objects_are_counted() -> None:
    class Strange(list[int]):
        def __len__(self) -> int:
            raise AssertionError("asked")

    kept = proxy(Cycle()), Strange()
    gc.collect()
    with pytest.raises(ReferenceError):
        str(kept[0])
    assert GarbageCollector(Held).collect_old() == "old objects"


def test_garbage_among_survivors_is_collected_when_it_is_due() -> None:
    settle_memory()
    garbage = GarbageCollector(Held)
    assert not garbage.is_due
    cycle = Cycle()
    watched = ref(cycle)
    grow_old()
    del cycle
    assert garbage.is_due
    assert watched() is not None
    assert garbage.collect() == "survivors"
    assert watched() is None
    assert not garbage.is_due


def test_old_garbage_is_collected_with_every_tenth_collection_of_survivors() -> None:
    settle_memory()
    garbage = GarbageCollector(Held)
    cycle = Cycle()
    watched = ref(cycle)
    for _ in range(SURVIVOR_COLLECTIONS):
        assert watched() is not None
        grow_old()
        assert garbage.collect() == "survivors"
    del cycle
    grow_old()
    assert garbage.collect() == "old objects"
    assert watched() is None


def test_old_objects_are_collected_when_many_have_survived() -> None:
    settle_memory()
    garbage = GarbageCollector(Held)
    kept = [[number] for number in range(YOUNG_OBJECTS // 2)]
    grow_old()
    assert garbage.collect() == "survivors"
    kept += [[number] for number in range(YOUNG_OBJECTS // 2)]
    grow_old()
    assert garbage.collect() == "old objects"
    assert kept


def test_objects_that_replace_old_ones_do_not_pile_up_as_new_ones() -> None:
    kept = [[number] for number in range(20_000)]
    settle_memory()
    garbage = GarbageCollector(Held)
    for step in range(2 * YOUNG_STEPS):
        for number in range(step * 200, step * 200 + 200):
            kept[number] = [number]
        garbage.count_step()
        if garbage.is_due:
            garbage.collect()
    assert len(gc.get_objects(generation=0)) < 200 * YOUNG_STEPS


def test_many_old_objects_are_frozen_so_that_the_next_collection_does_not_visit_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage_collector, "OLD_VISITS_MAX", 1_000)
    settle_memory()
    garbage = GarbageCollector(Held)
    kept = [[number] for number in range(2_000)]
    garbage.collect_old()
    assert len(gc.get_objects(2)) < 1_000
    assert kept


def test_few_old_objects_that_refer_to_many_are_frozen_too() -> None:
    many = [(number,) for number in range(OLD_VISITS_MAX)]
    settle_memory()
    garbage = GarbageCollector(Held)
    kept = [dict(enumerate(many)), list(many), set(many), deque(many)]
    garbage.collect_old()
    assert gc.get_objects(2) == []
    kept.append([])
    garbage.collect_old()
    assert any(each is kept[-1] for each in gc.get_objects(2))


def test_so_many_that_a_collection_would_be_a_long_step_are_frozen_uncollected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage_collector, "COLLECTED_VISITS_MAX", OLD_VISITS_MAX)
    settle_memory()
    garbage = GarbageCollector(Held)
    collected = []
    gc.callbacks.append(lambda phase, _: collected.append(phase))
    kept = [[number] for number in range(OLD_VISITS_MAX)]
    collected.clear()
    garbage.collect_old()
    gc.callbacks.pop()
    assert collected == []
    assert len(gc.get_objects()) < 100
    assert kept


def test_what_is_frozen_is_counted_only_where_all_would_be_collected_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collector, "OLD_VISITS_MAX", 1_000)
    monkeypatch.setattr(garbage_collector, "FROZEN_OBJECTS_MIN", 5_000)
    settle_memory()
    garbage = GarbageCollector(Held)
    counts = 0

    def get_freeze_count() -> int:
        nonlocal counts
        counts += 1
        return count()

    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", get_freeze_count)
    values = []
    for _ in range(20):
        # Many survive, and are gone; and there are more blocks, none of which an object of the collector has.
        requests = [[number] for number in range(2_000)]
        values += [float(number) for number in range(2_000)]
        assert garbage.collect_old() == "old objects"
        del requests
    assert 1 < counts < 10
    assert values


def test_garbage_among_frozen_objects_is_found_when_they_have_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collector, "OLD_VISITS_MAX", 1_000)
    monkeypatch.setattr(garbage_collector, "FROZEN_OBJECTS_MIN", 5_000)
    settle_memory()
    garbage = GarbageCollector(Held)
    cycle = Cycle()
    watched = ref(cycle)
    kept = [[number] for number in range(4_000)]
    assert garbage.collect_old() == "old objects"
    del cycle
    kept += [[number] for number in range(4_000)]
    assert watched() is not None
    assert garbage.collect_old() == "all objects"
    assert watched() is None
    # What was found to be needed may double.
    kept += [[number] for number in range(8_000)]
    assert garbage.collect_old() == "old objects"
    kept += [[number] for number in range(8_000)]
    assert garbage.collect_old() == "all objects"


def test_what_was_frozen_and_is_gone_is_no_reason_to_collect_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collector, "OLD_VISITS_MAX", 1_000)
    monkeypatch.setattr(garbage_collector, "FROZEN_OBJECTS_MIN", 20_000)
    settle_memory()
    garbage = GarbageCollector(Held)
    for _ in range(20):
        requests = [[number] for number in range(4_000)]
        assert garbage.collect_old() == "old objects"
        del requests


def test_what_the_node_knows_that_it_has_more_of_is_no_reason_to_collect_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage_collector, "OLD_VISITS_MAX", 1_000)
    monkeypatch.setattr(garbage_collector, "FROZEN_OBJECTS_MIN", 5_000)
    settle_memory()
    held = Held()
    garbage = GarbageCollector(lambda: held)
    kept = [[number] for number in range(50_000)]
    held = Held(objects=50_000)
    assert garbage.collect_old() == "old objects"
    # Once they are gone again, as many others may be garbage.
    held = Held()
    kept += [[number] for number in range(10_000)]
    assert garbage.collect_old() == "all objects"
    # An image is many blocks, and few objects, but those that pass are counted.
    values = [float(number) for number in range(50_000)]
    held = Held(blocks=50_000)
    for _ in range(100):
        requests = [[number] for number in range(2_000)]
        assert garbage.collect_old() == "old objects"
        del requests
    assert kept
    assert values


def test_a_few_thousand_new_objects_are_all_that_one_collection_looks_at() -> None:
    settle_memory()
    garbage = GarbageCollector(Held)
    most = 0

    def count(phase: str, info: dict[str, int]) -> None:
        nonlocal most
        if phase == "start" and info["generation"] == 2:
            most = max(most, len(gc.get_objects()))

    gc.callbacks.append(count)
    kept = []
    for number in range(100_000):
        kept.append([number])
        if garbage.is_due:
            garbage.collect()
    gc.callbacks.remove(count)
    assert 0 < most < 10_000
    assert kept
