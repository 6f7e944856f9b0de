"""The scopes by name: small enough that all their runs can be explored."""

from __future__ import annotations

from typing import Final

from falkirk.simulation.explorer.scope import Scope

_ALL: Final = (
    Scope(
        name="election",
        about="three voters that have just started elect a leader, and any of them crashes at any write",
        voters=(1, 2, 3),
        depth_max=20,
        epochs_max=1,
        crashes_max=1,
    ),
    Scope(
        name="elections",
        about="three voters that have just started elect leaders of two epochs",
        voters=(1, 2, 3),
        depth_max=30,
        epochs_max=2,
    ),
    Scope(
        name="late-requests",
        about="one epoch, in which each request may arrive when its requester no longer waits for the response",
        voters=(1, 2, 3),
        depth_max=10,
        epochs_max=1,
        has_late_requests=True,
    ),
    Scope(
        name="separate-answers",
        about="one epoch, in which requests and responses arrive one by one",
        voters=(1, 2, 3),
        depth_max=12,
        epochs_max=1,
        has_separate_answers=True,
    ),
    Scope(
        name="pre-votes",
        about="a leader loses its voters, and pre-votes come before the next election (KIP-996)",
        voters=(1, 2, 3),
        starts_led=True,
        depth_max=12,
        epochs_max=2,
        has_pre_vote=True,
    ),
    Scope(
        name="crash",
        about="a record is appended, any replica crashes at any write, and another leader is elected",
        voters=(1, 2, 3),
        starts_led=True,
        depth_max=20,
        epochs_max=2,
        appends_max=1,
        crashes_max=1,
    ),
    Scope(
        name="losses",
        about="a record is appended, two requests or responses are lost, and another leader is elected",
        voters=(1, 2, 3),
        starts_led=True,
        depth_max=20,
        epochs_max=2,
        appends_max=1,
        losses_max=2,
    ),
    Scope(
        name="epochs",
        about="a record is appended in any of three epochs, so that one of an older epoch may be replaced",
        voters=(1, 2, 3),
        starts_led=True,
        depth_max=10,
        epochs_max=3,
        appends_max=1,
    ),
    Scope(
        name="voter",
        about="of two voters and an observer one is added or removed, and another leader is elected",
        voters=(1, 2),
        observers=(3,),
        starts_led=True,
        depth_max=30,
        epochs_max=2,
        voter_changes_max=1,
    ),
    Scope(
        name="voters",
        about="two changes of voters in three epochs",
        voters=(1, 2, 3),
        observers=(4,),
        starts_led=True,
        depth_max=12,
        epochs_max=3,
        voter_changes_max=2,
    ),
)
SCOPES: Final = {scope.name: scope for scope in _ALL}
"""The scopes that `falkirk explore` knows."""
