"""Matches names of topics against an expression in time that does not explode: an automaton, made as it is needed.

matcher = TopicMatcher.compiled("orders-.*")
matcher.matching(["orders-eu", "payments"])  # frozenset({"orders-eu"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.consumer.topic_pattern import (
    Assertion,
    Characters,
    Choice,
    Node,
    Repetition,
    Sequence,
    TopicPatternError,
    parse_topic_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

# How much work one question may be, counted in steps of the program looked at; enough for any sane expression.
_WORK_MAX: Final = 2_000_000
_PROGRAM_MAX: Final = 10_000
# States kept; beyond, they are made anew.
_STATES_MAX: Final = 2_000
_TOO_LARGE: Final = "expression too large"
_END: Final = ""


class TopicMatcher:
    """One expression. The whole name has to match, as Kafka has it."""

    def __init__(self, program: list[_Step]) -> None:
        self._program = program
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._start = _State(frozenset((0,)), _END)
        self._work = 0

    @classmethod
    def compiled(cls, pattern: str) -> TopicMatcher:
        """Read an expression. Raises TopicPatternError."""
        program: list[_Step] = []
        _compile(parse_topic_pattern(pattern), program)
        program.append(_Match())
        return cls(program)

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """Give the names that match. Raises TopicPatternError if that is more work than can be asked for."""
        self._work = 0
        return frozenset(name for name in names if self._matches(name))

    def _matches(self, name: str) -> bool:
        state = self._start
        for character in name:
            state = state.after.get(character) or self._made(state, character)
        return bool((state.after.get(_END) or self._made(state, _END)).steps)

    def _made(self, state: _State, character: str) -> _State:
        """Find the state behind a character; behind the end it has steps if the name matches."""
        steps = self._steps_after(state, character)
        before = "w" if _is_word(character) else "."
        after = self._states.get((steps, before))
        if after is None:
            if len(self._states) >= _STATES_MAX:
                self._states.clear()
                self._start = _State(self._start.steps, _END)
            after = self._states[steps, before] = _State(steps, before)
        state.after[character] = after
        return after

    def _steps_after(self, state: _State, character: str) -> frozenset[int]:
        seen: set[int] = set()
        after: set[int] = set()
        waiting = list(state.steps)
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            match self._program[at]:
                case _Take(of=of) if character in of:
                    after.add(at + 1)
                case _Fork(to=to):
                    waiting += to
                case _Assert(kind=kind) if _holds(kind, state.before, character):
                    waiting.append(at + 1)
                case _Match() if character == _END:
                    after.add(at)
        self._work += len(seen)
        if self._work > _WORK_MAX:
            raise TopicPatternError(_TOO_LARGE)
        return frozenset(after)


class _State:
    """Where the program may be, behind what kind of character (`w`: of a word), and what follows as far as is known."""

    __slots__ = ("after", "before", "steps")

    def __init__(self, steps: frozenset[int], before: str) -> None:
        self.steps = steps
        self.before = before
        self.after: dict[str, _State] = {}


class _Take:
    __slots__ = ("of",)

    def __init__(self, of: frozenset[str]) -> None:
        self.of = of


class _Fork:
    __slots__ = ("to",)

    def __init__(self, to: list[int]) -> None:
        self.to = to


class _Assert:
    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind


class _Match:
    __slots__ = ()


_Step = _Take | _Fork | _Assert | _Match


def _compile(node: Node, program: list[_Step]) -> None:
    if len(program) > _PROGRAM_MAX:
        raise TopicPatternError(_TOO_LARGE)
    match node:
        case Characters(of=of):
            program.append(_Take(of))
        case Assertion(kind=kind):
            program.append(_Assert(kind))
        case Sequence(nodes=nodes):
            for each in nodes:
                _compile(each, program)
        case Choice(nodes=nodes):
            _compile_choice(nodes, program)
        case Repetition():
            _compile_repetition(node, program)


def _compile_choice(nodes: tuple[Node, ...], program: list[_Step]) -> None:
    start = _Fork([])
    program.append(start)
    ends = []
    for each in nodes:
        start.to.append(len(program))
        _compile(each, program)
        end = _Fork([])
        program.append(end)
        ends.append(end)
    for end in ends:
        end.to.append(len(program))


def _compile_repetition(node: Repetition, program: list[_Step]) -> None:
    for _ in range(node.least):
        _compile(node.node, program)
    if node.most is None:
        start = len(program)
        fork = _Fork([start + 1])
        program.append(fork)
        _compile(node.node, program)
        program.append(_Fork([start]))
        fork.to.append(len(program))
        return
    forks = []
    for _ in range(node.most - node.least):
        fork = _Fork([len(program) + 1])
        program.append(fork)
        forks.append(fork)
        _compile(node.node, program)
    for fork in forks:
        fork.to.append(len(program))


def _holds(kind: str, before: str, character: str) -> bool:
    if kind == "^":
        return before == _END
    if kind == "$":
        return character == _END
    is_boundary = (before == "w") != _is_word(character)
    return is_boundary == (kind == "b")


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
