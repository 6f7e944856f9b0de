"""What is explored: the replicas, and how much of each kind of event a run may have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A small cluster and bounds of its runs.

    `voters`: node ids at the start; `observers`: replicas that may become voters, for which kraft.version is 1;
    `jvm_nodes`: those of both that behave as real Kafka's. `starts_led`: the first voter leads, and all have followed
    it. `depth_max`: events in a run; the others bound what a run may have of a kind: epochs, records appended by
    clients, crashes, requests or responses lost, changes of voters, lowerings, decisions of the controller on a
    registration or a level. `has_late_requests`: requests whose
    response is no longer awaited may still arrive. `has_separate_answers`: other events may come between a request's
    arrival and its response's.
    """

    name: str
    about: str
    voters: tuple[int, ...]
    observers: tuple[int, ...] = ()
    jvm_nodes: tuple[int, ...] = ()
    starts_led: bool = False
    depth_max: int
    epochs_max: int
    appends_max: int = 0
    crashes_max: int = 0
    losses_max: int = 0
    voter_changes_max: int = 0
    lowerings_max: int = 0
    decisions_max: int = 0
    has_pre_vote: bool = False
    has_late_requests: bool = False
    has_separate_answers: bool = False

    @property
    def node_ids(self) -> tuple[int, ...]:
        """All replicas, ascending."""
        return tuple(sorted((*self.voters, *self.observers)))

    @property
    def is_dynamic(self) -> bool:
        """True if the voters are in the log (kraft.version 1)."""
        return bool(self.observers) or self.voter_changes_max > 0
