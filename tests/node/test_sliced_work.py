"""Work over many steps."""

import gc
import re
from collections import defaultdict
from pathlib import Path

import pytest

import falkirk.node
from falkirk.node.sliced_work import SlicedWorks, WorkCancelledError

NODE = Path(falkirk.node.__file__).parent
NODE_DOCUMENT = Path(__file__).parents[2] / "docs/internals/node.md"


def counted(log: list[str], name: str, slices: int):
    """Work of so many slices."""
    try:
        for number in range(slices):
            log.append(f"{name}{number}")
            if number < slices - 1:
                yield
    finally:
        log.append(f"{name} over")


def test_one_slice_of_one_work_runs_at_a_time_and_all_get_their_turn():
    log: list[str] = []
    works = SlicedWorks(lambda: None)
    works.start("a", counted(log, "a", 2))
    works.start("b", counted(log, "b", 2))
    assert log == []
    runs = 0
    while works.is_busy:
        before = len(log)
        works.progress()
        assert len([line for line in log[before:] if not line.endswith("over")]) == 1
        runs += 1
    assert runs == 4
    assert log == ["a0", "b0", "a1", "a over", "b1", "b over"]
    assert works.names == ()
    assert works.progressed == ["a", "b", "a", "b"]


def test_cancelled_work_cleans_up_and_does_nothing_more():
    log: list[str] = []
    works = SlicedWorks(lambda: None)
    work = works.start("a", counted(log, "a", 3))
    works.progress()
    work.cancel()
    assert log == ["a0", "a over"]
    assert not works.is_busy
    works.progress()
    assert log == ["a0", "a over"]


def test_work_of_a_node_that_is_gone_does_not_clean_up():
    """Its files may be those of the next node by then."""
    cleaned: list[str] = []

    def cleaning():
        try:
            yield
            yield
        except WorkCancelledError:
            cleaned.append("cancelled")
            raise

    works = SlicedWorks(lambda: None)
    works.start("a", cleaning())
    works.progress()
    del works
    gc.collect()
    assert cleaned == []
    works = SlicedWorks(lambda: None)
    work = works.start("a", cleaning())
    works.progress()
    work.cancel()
    work.cancel()
    assert cleaned == ["cancelled"]


def test_what_a_slice_raises_ends_the_work_and_reaches_the_caller():
    works = SlicedWorks(lambda: None)

    def failing():
        yield
        raise OSError("disk")

    works.start("a", failing())
    works.progress()
    with pytest.raises(OSError, match="disk"):
        works.progress()
    assert not works.is_busy


def test_a_start_asks_for_another_step():
    woken: list[bool] = []
    works = SlicedWorks(lambda: woken.append(True))
    works.start("a", counted([], "a", 1))
    assert woken == [True]
    assert works.is_busy
    assert works.names == ("a",)


def test_work_that_is_done_at_once_is_not_told_as_slices():
    log: list[str] = []
    works = SlicedWorks(lambda: None)
    works.begin("a", counted(log, "a", 1))
    assert (works.progressed, works.is_busy) == ([], False)
    works.begin("b", counted(log, "b", 2))
    works.progress()
    assert (works.progressed, works.is_busy) == (["b", "b"], False)


def test_work_that_comes_last_waits_for_what_is_under_way():
    log: list[str] = []
    works = SlicedWorks(lambda: None)
    works.begin_last("a", counted(log, "a", 1))
    assert (log, works.is_busy) == (["a0", "a over"], False)
    works.start("b", counted(log, "b", 3))
    works.begin_last("c", counted(log, "c", 2))
    works.start("d", counted(log, "d", 6))
    while works.is_busy:
        works.progress()
    assert log.index("b over") < log.index("c0") < log.index("c over") < log.index("d over")


def test_all_sliced_work_is_in_the_list():
    (section,) = re.findall(r"^## Sliced work\n(.+?)^## ", NODE_DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    listed = dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|", section, re.MULTILINE))
    started = defaultdict(set)
    for file in NODE.rglob("*.py"):
        source = file.read_text()
        names = re.findall(r"(?:works\.(?:start|begin|begin_last)|start_work)\(\s*f?\"([^\"]+)\"", source)
        if "works.begin(NAME" in source:
            names += re.findall(r'^NAME: Final = "(.+)"', source, re.MULTILINE)
        for name in names:
            started[re.sub(r"{.*}", "<partition>", name)].add(f"`{file.relative_to(NODE)}`")
    assert started.keys() == listed.keys()
    assert {name: files for name, files in started.items() if not all(file in listed[name] for file in files)} == {}
