"""Validation of ApiVersions requests (KIP-511), which authentication needs before a handler runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.protocol.messages import ApiVersionsRequest

# Names of clients' software, and its versions.
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """Return whether software, cluster and node are well-formed; if not, the error is INVALID_REQUEST."""
    if version >= 5 and (request.cluster_id is None) != (request.node_id == -1):
        return False
    if version < 3:
        return True
    software = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in software)
