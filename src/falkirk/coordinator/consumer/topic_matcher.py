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
# Transitions kept; beyond, they are made anew.
_CACHED_MAX: Final = 20_000
_TOO_LARGE: Final = "expression too large"
_END: Final = ""


class TopicMatcher:
    """One expression. The whole name has to match, as Kafka has it."""

    def __init__(self, program: list[_Step]) -> None:
        self._program = program
        self._transitions: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
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
        steps = frozenset((0,))
        before = _END
        for character in name:
            steps = self._after(steps, before, character)
            if not steps:
                return False
            before = "w" if _is_word(character) else "."
        return bool(self._after(steps, before, _END))

    def _after(self, steps: frozenset[int], before: str, character: str) -> frozenset[int]:
        """Give where the program may be behind a character; behind the end: anything if it matches."""
        key = (steps, before, character)
        found = self._transitions.get(key)
        if found is None:
            if len(self._transitions) >= _CACHED_MAX:
                self._transitions.clear()
            found = self._transitions[key] = self._made(steps, before, character)
        return found

    def _made(self, steps: frozenset[int], before: str, character: str) -> frozenset[int]:
        seen: set[int] = set()
        after: set[int] = set()
        waiting = list(steps)
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
                case _Assert(kind=kind) if _holds(kind, before, character):
                    waiting.append(at + 1)
                case _Match() if character == _END:
                    after.add(at)
        self._work += len(seen)
        if self._work > _WORK_MAX:
            raise TopicPatternError(_TOO_LARGE)
        return frozenset(after)


class _Take:
    __match_args__ = ("of",)
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
