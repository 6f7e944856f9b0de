"""Ports of nodes that are down, or not started yet, are given to nobody else."""

import subprocess
import sys
from pathlib import Path

import kafka_ports

CHILD = """
import sys, kafka_ports
kafka_ports._FIRST, kafka_ports._LAST = int(sys.argv[1]), int(sys.argv[2])
print(*kafka_ports.free_ports(10), flush=True)
sys.stdin.read()
"""


def test_two_processes_and_two_calls_choose_different_ports(monkeypatch):
    first = kafka_ports.free_ports(1)[0]
    bounds = (first - 30, first + 30)
    monkeypatch.setattr(kafka_ports, "_FIRST", bounds[0])
    monkeypatch.setattr(kafka_ports, "_LAST", bounds[1])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, *map(str, bounds)],
        cwd=Path(kafka_ports.__file__).parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        chosen = [*map(int, child.stdout.readline().split()), *kafka_ports.free_ports(10), *kafka_ports.free_ports(10)]
    assert len(chosen) == len(set(chosen)) == 30


def test_ports_are_moved_together_to_free_ones(monkeypatch):
    taken = kafka_ports.free_ports(1)[0]
    # Others at work may have some of these.
    monkeypatch.setattr(kafka_ports, "_FIRST", taken - 10)
    monkeypatch.setattr(kafka_ports, "_LAST", taken + 29)
    move = kafka_ports.free_move({39_000, 39_002})
    moved = {39_000 + move, 39_002 + move}
    assert taken not in moved
    assert not moved & set(kafka_ports.free_ports(30))
