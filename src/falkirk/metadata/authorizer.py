"""Who may do what, by the ACLs of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext


class Authorizer:
    """Decides on one request; allows everything where no authorizer is configured."""

    def is_allowed(self, context: RequestContext, operation: int, resource_type: int, resource_name: str) -> bool:
        """Say whether the principal may do it. Numbers are those of AclOperation and ResourceType."""
        raise NotImplementedError
