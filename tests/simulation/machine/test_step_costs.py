"""A step costs what it does, and keeps its host busy for as long."""

import sys

import pytest

from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.varint import decode_varint
from falkirk.simulation.checkers.no_step_stalls import NoStepStalls
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.machine.step_costs import LINES_PER_US, WRITTEN_BYTES_PER_US, StepCosts
from falkirk.simulation.machine.world import World
from falkirk.storage.memory_disk import MemoryDisk

MS = 1000 * WRITTEN_BYTES_PER_US


def cost_of_hashing(characters: int) -> int:
    costs = StepCosts()
    assert costs.measure(lambda: java_string_hash("x" * characters)) == java_string_hash("x" * characters)
    return costs.last.us


def test_a_loop_costs_as_much_as_it_has_elements():
    few, many = cost_of_hashing(10_000), cost_of_hashing(100_000)
    assert few >= 10_000 // LINES_PER_US
    assert 9 * few < many < 11 * few
    assert cost_of_hashing(100_000) == many


def test_the_busiest_function_is_named():
    costs = StepCosts()
    costs.measure(lambda: java_string_hash("x" * 1000))
    assert costs.last.busiest.startswith("java_hash_map.py: java_string_hash, ")


def test_only_falkirks_own_code_costs_and_not_the_simulated_world():
    costs = StepCosts()
    disk = MemoryDisk()
    costs.measure(lambda: [disk.append("/log", b"x") for _ in range(1000)])
    assert (costs.last.us, costs.last.busiest) == (0, "")


def test_what_has_no_loop_counts_as_its_first_calls_did_and_what_has_one_as_it_runs():
    costs = StepCosts()

    def cost(function, *arguments, times=1):
        costs.measure(lambda: [function(*arguments) for _ in range(times)])
        return costs.last.us

    first = cost(decode_varint, b"\x02", 0, times=1_000)
    assert 0.9 * first <= cost(decode_varint, b"\x02", 0, times=1_000) <= 1.1 * first
    cost(java_string_hash, "x", times=100)
    assert cost(java_string_hash, "x" * 10_000) >= 10_000 // LINES_PER_US


def test_what_raises_has_a_cost_and_the_tracer_before_is_back():
    def failing():
        java_string_hash("x" * 10_000)
        raise OSError("disk")

    before = sys.gettrace()
    costs = StepCosts()
    with pytest.raises(OSError, match="disk"):
        costs.measure(failing)
    assert costs.last.us > 0
    assert sys.gettrace() is before


class Writer:
    """Writes so many bytes in its first step, and wants to be stepped at once."""

    def __init__(self, disk: MemoryDisk, size: int) -> None:
        self.times_ms: list[int] = []
        self.next_wakeup_ms = 0
        self._disk = disk
        self._size = size

    def step(self, events, now_ms):
        del events
        if not self.times_ms:
            self._disk.append("/log", bytes(self._size))
        self.times_ms.append(now_ms)
        return []


def written(size: int, *, has_costs: bool):
    """Return the times of a program's steps, and its host."""
    world = World(1)
    host = world.add_host("a", {}, lambda host: Writer(host.disk, size))
    if has_costs:
        host.count_costs()
    host.start()
    world.run(10)
    return host.program.times_ms, host


def test_the_next_step_begins_when_the_work_of_the_last_one_is_over():
    assert written(4 * MS, has_costs=True)[0][:3] == [0, 4, 5]
    assert written(4 * MS, has_costs=False)[0][:3] == [0, 1, 2]


def test_a_step_beyond_the_limit_is_a_stall():
    stalls = NoStepStalls(STEP_MS_MAX)
    _, host = written(STEP_MS_MAX * MS, has_costs=True)
    stalls.after_step(host, host.program)
    _, host = written((STEP_MS_MAX + 1) * MS, has_costs=True)
    with pytest.raises(InvariantViolatedError, match="NoStepStalls: a is busy for 51 ms in one step"):
        stalls.after_step(host, host.program)
