"""Matches topic names against an expression in bounded time, by an automaton that is built on demand.

matcher = TopicMatcher.compiled("orders-.*")
matcher.matching(["orders-eu", "payments"])  # frozenset({"orders-eu"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.patterns.topic_pattern import (
    TOPIC_CHARACTERS,
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
    from collections.abc import Container, Iterable, Iterator

# The work limit of one evaluation, in visited program steps: some tenths of a second, and enough for
# an alternative of a thousand names.
_WORK_MAX: Final = 500_000
# As long as a subscription may be (32 767 bytes), unless repetitions unfold.
_PROGRAM_MAX: Final = 40_000
# Nodes without steps of their own are visited, too, for each repetition of what they are in.
_VISITS_MAX: Final = 4 * _PROGRAM_MAX
# Cells of states that are cached; beyond, the cache is cleared.
_STATE_CELLS_MAX: Final = 50_000
# A transition, besides the steps of its states.
_TRANSITION_CELLS: Final = 4
_TOO_LARGE: Final = "expression too large"
# What a name is made of, to assertions: its ends, characters of words, and others.
_END: Final = ""
_WORD: Final = "w"
_OTHER: Final = "."


class TopicMatcher:
    """One compiled expression. The whole name has to match, as in Kafka."""

    def __init__(self, program: list[_Step]) -> None:
        self._program = program
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._start = _State(frozenset((0,)), _END)
        self._state_cells = 0
        self._work = 0

    @classmethod
    def compiled(cls, pattern: str, alphabet: frozenset[str] = TOPIC_CHARACTERS) -> TopicMatcher:
        """Compile an expression for names of these characters. Raises TopicPatternError."""
        program: list[_Step] = []
        _compile(parse_topic_pattern(pattern, alphabet), program, iter(range(_VISITS_MAX)))
        program.append(_Take(frozenset((_END,))))
        return cls(program)

    @property
    def cells(self) -> int:
        """How many program steps, steps of cached states and transitions there are: some hundred bytes each."""
        return len(self._program) + self._state_cells

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names that match. Raises TopicPatternError if that exceeds the work limit."""
        self._work = 0
        return frozenset(name for name in names if self.matches(name))

    def matches(self, name: str) -> bool:
        """Return whether a name matches. Raises TopicPatternError if all since `matching` exceeds the work limit."""
        state = self._start
        for character in name:
            state = state.after.get(character) or self._made(state, character)
        return bool((state.after.get(_END) or self._made(state, _END)).steps)

    def _made(self, state: _State, character: str) -> _State:
        """Return the state after a character; the state after the end has steps if the name matches."""
        kind = _kind(character)
        if self._state_cells > _STATE_CELLS_MAX:
            self._states.clear()
            self._state_cells = 0
            self._start = _State(self._start.steps, _END)
        reached = state.reached.get(kind)
        if reached is None:
            reached = state.reached[kind] = self._reached(state, kind)
            self._state_cells += len(reached)
        self._spend(len(reached))
        steps = frozenset(at for at, of in reached if character in of)
        after = self._states.get((steps, kind))
        if after is None:
            after = self._states[steps, kind] = _State(steps, kind)
            self._state_cells += len(steps)
        state.after[character] = after
        self._state_cells += _TRANSITION_CELLS
        return after

    def _reached(self, state: _State, kind: str) -> list[tuple[int, Container[str]]]:
        """Follow all steps that consume no character; return the characters consumed next and where they lead."""
        program = self._program
        seen: set[int] = set()
        reached: list[tuple[int, Container[str]]] = []
        waiting = list(state.steps)
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            step = program[at]
            if isinstance(step, _Take):
                reached.append((at + 1, step.of))
            elif isinstance(step, _Fork):
                waiting += step.to
            elif _holds(step.kind, state.before, kind):
                waiting.append(at + 1)
        self._spend(len(seen))
        return reached

    def _spend(self, steps: int) -> None:
        self._work += steps
        if self._work > _WORK_MAX:
            raise TopicPatternError(_TOO_LARGE)


class _State:
    """A set of program steps after a kind of character, and the transitions built so far."""

    __slots__ = ("after", "before", "reached", "steps")

    def __init__(self, steps: frozenset[int], before: str) -> None:
        self.steps = steps
        self.before = before
        self.after: dict[str, _State] = {}
        self.reached: dict[str, list[tuple[int, Container[str]]]] = {}


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


_Step = _Take | _Fork | _Assert


def _compile(node: Node, program: list[_Step], visits: Iterator[int]) -> None:
    """Append the node's steps; `visits` has one item for each node that may still be visited."""
    if len(program) > _PROGRAM_MAX or next(visits, None) is None:
        raise TopicPatternError(_TOO_LARGE)
    match node:
        case Characters(of=of):
            program.append(_Take(of))
        case Assertion(kind=kind):
            program.append(_Assert(kind))
        case Sequence(nodes=nodes):
            for each in nodes:
                _compile(each, program, visits)
        case Choice(nodes=nodes):
            _compile_choice(nodes, program, visits)
        case Repetition():
            _compile_repetition(node, program, visits)


def _compile_choice(nodes: tuple[Node, ...], program: list[_Step], visits: Iterator[int]) -> None:
    start = _Fork([])
    program.append(start)
    ends = []
    for each in nodes:
        start.to.append(len(program))
        _compile(each, program, visits)
        end = _Fork([])
        program.append(end)
        ends.append(end)
    for end in ends:
        end.to.append(len(program))


def _compile_repetition(node: Repetition, program: list[_Step], visits: Iterator[int]) -> None:
    for _ in range(node.least):
        _compile(node.node, program, visits)
    if node.most is None:
        start = len(program)
        fork = _Fork([start + 1])
        program.append(fork)
        _compile(node.node, program, visits)
        program.append(_Fork([start]))
        fork.to.append(len(program))
        return
    forks = []
    for _ in range(node.most - node.least):
        fork = _Fork([len(program) + 1])
        program.append(fork)
        forks.append(fork)
        _compile(node.node, program, visits)
    for fork in forks:
        fork.to.append(len(program))


def _holds(kind: str, before: str, after: str) -> bool:
    if kind == "^":
        return before == _END
    if kind == "$":
        return after == _END
    is_boundary = (before == _WORD) != (after == _WORD)
    return is_boundary == (kind == "b")


def _kind(character: str) -> str:
    if character == _END:
        return _END
    return _WORD if character.isalnum() or character == "_" else _OTHER
