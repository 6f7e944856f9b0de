"""`falkirk groups delete` and `delete-offsets`: what was deleted, and what a coordinator refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.padded_columns import padded, width
from falkirk.cli.groups.kafka_exceptions import exception_message, exception_text
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.client.refusal import Refusal
    from falkirk.operations.group_offsets import DeletedOffsets

_OF_GROUPS: Final = frozenset(
    {
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.NON_EMPTY_GROUP,
    }
)
_OF_PARTITIONS: Final = frozenset(
    {
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


@dataclass(frozen=True, slots=True)
class DeletedGroups:
    """A `Result`; None for a group that was deleted."""

    outcomes: Mapping[str, Refusal | None]

    def text(self) -> Iterator[str]:
        """Yield which groups were deleted, and which were not."""
        done = ", ".join(f"'{group_id}'" for group_id, refusal in self.outcomes.items() if refusal is None)
        refusals = {group_id: refusal for group_id, refusal in self.outcomes.items() if refusal is not None}
        if not refusals:
            yield f"Deletion of requested consumer groups ({done}) was successful."
            return
        yield "\nError: Deletion of some consumer groups failed:"
        for group_id, refusal in refusals.items():
            yield f"* Group '{group_id}' could not be deleted due to: {exception_text(refusal)}"
        if done:
            yield f"\nThese consumer groups were deleted successfully: {done}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the groups, each with its error or null."""
        return {
            "groups": [
                {"group": group_id, "error": None if refusal is None else str(refusal)}
                for group_id, refusal in self.outcomes.items()
            ]
        }


@dataclass(frozen=True, slots=True)
class DeletedOffsetsView:
    """A `Result`."""

    deleted: DeletedOffsets

    def text(self) -> Iterator[str]:
        """Yield a sentence, and a line for each partition."""
        if self.deleted.refusal is None:
            yield f"Request succeeded for deleting offsets from group {self.deleted.group_id}."
        elif self.deleted.refusal.error_code in _OF_PARTITIONS:
            yield "\nError: Encountered some partition-level error, see the follow-up details."
        elif self.deleted.refusal.error_code in _OF_GROUPS:
            yield f"\nError: {exception_message(self.deleted.refusal)}"
        else:
            yield f"\nError: Encountered some unknown error: {self.deleted.refusal}"
        widths = [width(15, (each.topic for each in self.deleted.outcomes)), 10, 15]
        yield ""
        yield padded(("TOPIC", "PARTITION", "STATUS"), widths)
        for each, refusal in sorted(
            self.deleted.outcomes.items(), key=lambda item: f"{item[0].topic}{item[0].partition}"
        ):
            status = "Successful" if refusal is None else f"Error: {exception_text(refusal)}"
            yield padded((each.topic, each.partition if each.partition >= 0 else None, status), widths)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {
            "group": self.deleted.group_id,
            "error": None if self.deleted.refusal is None else str(self.deleted.refusal),
            "offsets": [
                {
                    "topic": each.topic,
                    "partition": each.partition if each.partition >= 0 else None,
                    "error": None if refusal is None else str(refusal),
                }
                for each, refusal in sorted(self.deleted.outcomes.items())
            ],
        }
