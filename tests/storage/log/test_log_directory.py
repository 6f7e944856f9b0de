"""The checkpoints of a log directory with very many logs: what one log changes does not cost what all logs would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from falkirk import slices as sliced
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.simulation.machine.step_costs import StepCosts
from falkirk.slices import exhaust
from falkirk.storage.log import log_checkpoint, log_directory
from falkirk.storage.log.log_directory import LogDirectory
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.offset_checkpoints import FILE_NAMES, parse_offset_checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

PIECE, FEW, MANY = 256, 512, 2_048
CLEANER, RECOVERY_POINTS = "cleaner-offset-checkpoint", "recovery-point-offset-checkpoint"


@pytest.fixture(autouse=True)
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (log_directory, log_checkpoint):
        monkeypatch.setattr(module, "LOGS_AT_ONCE", PIECE)
    monkeypatch.setattr(sliced, "VISITS_PER_SLICE", PIECE)


class Log:
    """As much of a log as its directory looks at."""

    def __init__(self, topic: str, number: int) -> None:
        self.topic_partition = TopicPartition(topic, number)
        self.recovery_point = self.high_watermark = self.log_start_offset = 100
        self.base_offset = 10
        self.segments = self

    active = property(lambda self: self)

    def __getitem__(self, index: int) -> Log:
        return self


def a_directory(count: int) -> LogDirectory:
    disk = MemoryDisk()
    disk.make_directory("/d")
    directory = LogDirectory(disk, "/d", b"i" * 16)
    for number in range(count):
        log: Any = Log("t", number)
        directory.add(log)
    for name in FILE_NAMES:
        if name == CLEANER:
            directory.cleaner_offsets = {log.topic_partition: 50 for log in directory.logs}
        else:
            exhaust(directory.write_slices(name))
    for log in list(directory.logs)[:2]:
        directory.write_cleaner_offset(log.topic_partition, 50)
    return directory


def checkpoint(directory: LogDirectory, name: str) -> dict[tuple[str, int], int]:
    return parse_offset_checkpoint(directory._disk.read(f"/d/{name}"), file=name).as_dict()


def cost_us(action: Callable[[], object]) -> int:
    costs = StepCosts()
    costs.measure(action)
    return costs.last.us


def cut(directory: LogDirectory) -> None:
    log: Any = next(iter(directory.logs))
    log.recovery_point = log.log_start_offset = log.base_offset = 5
    directory.log_was_truncated(log)


def make_anew(directory: LogDirectory) -> None:
    log = next(iter(directory.logs))
    forget(directory, log)


def forget(directory: LogDirectory, log: Any) -> None:
    directory.remove(log)
    left = {log.topic_partition for log in directory.logs}
    directory.forget_former(log.topic_partition, left.__contains__)


def compact(directory: LogDirectory) -> None:
    directory.write_cleaner_offset(TopicPartition("t", 0), 60)


@pytest.mark.parametrize(
    ("change", "name", "left"),
    [
        (cut, RECOVERY_POINTS, 5),
        (cut, CLEANER, 5),
        *((make_anew, name, None) for name in FILE_NAMES),
        (compact, CLEANER, 60),
    ],
)
def test_what_one_log_changes_does_not_cost_what_all_logs_would(
    change: Callable[[LogDirectory], None], name: str, left: int | None
) -> None:
    costs = []
    for directory in map(a_directory, (FEW, MANY)):
        before = checkpoint(directory, name)
        costs.append(cost_us(lambda directory=directory: change(directory)))
        found = checkpoint(directory, name)
        assert found.pop(("t", 0), None) == left
        del before["t", 0]
        assert found == before
    assert costs[1] < 1.2 * costs[0]


def test_what_else_is_gone_goes_with_it() -> None:
    directory = a_directory(10)
    logs = list(directory.logs)
    for log in logs[1:5]:
        directory.remove(log)
    forget(directory, logs[0])
    assert list(checkpoint(directory, RECOVERY_POINTS)) == [log.topic_partition for log in logs[5:]]


@pytest.mark.parametrize("begin", [LogDirectory.write_slices, LogDirectory.read_checkpoint])
def test_checkpoints_of_many_logs_are_read_and_written_a_piece_at_a_time(begin: Callable[..., Any]) -> None:
    directory, costs, found = a_directory(MANY), list[int](), list[Any]([None])
    slices = begin(directory, RECOVERY_POINTS)
    while found[-1] is None:
        costs.append(cost_us(lambda: found.append(next(slices, "end"))))
    assert len(costs) >= MANY // PIECE
    assert max(costs) < sum(costs) / 4
    assert len(directory._written[RECOVERY_POINTS]._pieces) == MANY // PIECE
