"""All znodes below one are known, and followed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from zookeeper_world import HeldSession, delete_by_hand, write_by_hand

from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.zookeeper_node.session.operations import GetChildren, GetData, KeeperError
from falkirk.zookeeper_node.session.retries import Retries
from falkirk.zookeeper_node.session.watched_children import WatchedChildren

if TYPE_CHECKING:
    from collections.abc import Mapping


class World:
    """What is below `/d`, as it was taken and decoded; names and data are texts."""

    def __init__(self, **there: str) -> None:
        self.ensemble = Ensemble()
        write_by_hand(self.ensemble, "/d", b"")
        for name, text in there.items():
            self.write(name, text)
        self.taken: list[Mapping[str, str]] = []
        self.decoded: list[str] = []
        self.failed: list[str] = []
        self.held = HeldSession(self.ensemble)
        self.children = WatchedChildren(
            self.held.session,
            Retries(self.held.session),
            "/d",
            decode=self._decode,
            on_read=self.taken.append,
            failed=lambda path, _: self.failed.append(path),
        )
        self.held.connect()

    def write(self, name: str, text: str) -> None:
        write_by_hand(self.ensemble, f"/d/{name}", text.encode())

    def delete(self, name: str) -> None:
        delete_by_hand(self.ensemble, f"/d/{name}")

    def _decode(self, name: str, data: bytes) -> str:
        self.decoded.append(name)
        return data.decode()


def settled(**there: str) -> World:
    world = World(**there)
    world.held.do_all()
    return world


def test_they_are_taken_once_all_have_been_read() -> None:
    world = World(a="1", b="2")
    world.held.do()
    world.held.do()
    assert (world.taken, world.children.is_known) == ([], False)
    world.held.do_all()
    assert world.taken == [{"a": "1", "b": "2"}]
    assert world.children.is_known


def test_none_at_all_are_known_too() -> None:
    assert settled().taken == [{}]


def test_those_that_come_change_and_go_are_followed_and_read_alone() -> None:
    world = settled(a="1", b="2")
    world.write("c", "3")
    world.held.do_all()
    world.write("a", "4")
    world.held.do_all()
    world.delete("b")
    world.held.do_all()
    assert world.taken[1:] == [
        {"a": "1", "b": "2", "c": "3"},
        {"a": "4", "b": "2", "c": "3"},
        {"a": "4", "c": "3"},
    ]
    assert world.decoded == ["a", "b", "c", "a"]


def test_one_that_is_made_anew_is_another_one() -> None:
    world = settled(a="1")
    world.delete("a")
    world.write("a", "1")
    world.held.do_all()
    assert world.decoded == ["a", "a"]


def test_one_that_goes_while_it_is_read_is_gone() -> None:
    world = World(a="1", b="2")
    world.held.do()
    world.delete("a")
    world.held.do_all()
    assert world.taken == [{"b": "2"}]


def test_nothing_is_taken_where_nothing_has_changed() -> None:
    world = settled(a="1")
    world.children.read()
    world.held.lose_connection()
    world.held.reconnect()
    world.held.do_all()
    assert len(world.taken) == 1


def test_in_another_session_they_are_known_when_all_are_read_again() -> None:
    world = settled(a="1")
    world.held.expire()
    assert not world.children.is_known
    world.held.connect()
    assert not world.children.is_known
    world.held.do_until(GetData)
    world.held.do_all()
    assert world.children.is_known
    assert world.taken == [{"a": "1"}, {"a": "1"}]
    assert world.decoded == ["a"]


def test_in_another_session_nothing_is_taken_that_was_read_before() -> None:
    world = settled(a="1", b="2")
    world.held.expire()
    world.write("a", "3")
    world.delete("b")
    world.held.connect()
    world.held.do_all()
    assert world.taken[1:] == [{"a": "3"}]


def test_one_that_goes_before_it_is_read_is_not_waited_for() -> None:
    world = World(a="1")
    world.held.do()
    world.delete("a")
    # Its name is answered first.
    world.held.asked.reverse()
    world.held.do_all()
    assert world.children.is_known
    assert world.taken == [{}]


def test_names_that_are_not_there_yet_are_none() -> None:
    world = World()
    delete_by_hand(world.ensemble, "/d")
    world.held.do_all()
    assert world.taken == [{}]


def test_what_cannot_be_read_is_told() -> None:
    world = World(a="1")
    world.held.do_until(GetData)
    while world.held.asked and not isinstance(world.held.next, GetChildren):
        world.held.refuse(KeeperError.NO_AUTH)
    assert set(world.failed) == {"/d/a"}
    assert not world.children.is_known


NAMES = st.sampled_from("abc")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.sampled_from("12")),
        st.tuples(st.just("delete"), NAMES, st.just("")),
        st.tuples(st.sampled_from(["do", "lose", "expire"]), st.just(""), st.just("")),
    ),
    max_size=20,
)


@given(STEPS)
def test_whatever_happens_they_are_known_in_the_end_as_they_stand(steps: list[tuple[str, str, str]]) -> None:
    world = World()
    there: dict[str, str] = {}
    for kind, name, text in steps:
        if kind == "write":
            world.write(name, text)
            there[name] = text
        elif kind == "delete" and there.pop(name, None) is not None:
            world.delete(name)
        elif kind == "do" and world.held.asked:
            world.held.do()
        elif kind == "lose":
            world.held.lose_connection(carried_out=1)
            world.held.reconnect()
        elif kind == "expire":
            world.held.expire()
            world.held.connect()
    world.held.do_all()
    assert world.taken[-1] == there
