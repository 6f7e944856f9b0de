"""Errors of operations. Their texts are complete, and made for operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.client.refusal import Refusal


class OperationError(Exception):
    """The operation was refused or failed."""


class InvalidInputError(OperationError):
    """The arguments contradict each other, or do not parse."""


class RefusedError(OperationError):
    """A node answered with an error. `subject`: the group, topic or partition that it is about."""

    def __init__(self, subject: str, refusal: Refusal) -> None:
        super().__init__(f"{subject}: {refusal}")
        self.refusal = refusal


class TopicRefusedError(RefusedError):
    """A topic cannot be described."""


class CommitRefusedError(RefusedError):
    """A coordinator does not commit offsets."""
