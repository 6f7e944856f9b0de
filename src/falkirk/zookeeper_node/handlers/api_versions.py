"""ApiVersions (key 18), v0-4: what a broker on ZooKeeper serves, and features of node and cluster. KIP-35, KIP-584.

Behaviour: needs no right, not even authentication. A version that is not served is answered in version 0:
UNSUPPORTED_VERSION and the versions of ApiVersions that are. Finalized features are those that this node knows, with
their lowest and highest level; their epoch is the version of the znode. None of them, and epoch -1, while features are
disabled or nothing is known: clients keep what they know of a higher epoch.
Version notes: v1 adds the throttle time; v3 the client's software, which must look like a name (else INVALID_REQUEST),
and in tagged fields supported features, finalized features and their epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.connections.api_versions_request import is_valid
from falkirk.node.handlers.api_versions import versions_response
from falkirk.node.handlers.parts.handler_result import EncodedResponse
from falkirk.node.handlers.parts.route import Route
from falkirk.protocol.codec import encode
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ZooKeeperView, context: RequestContext, request: ApiVersionsRequest) -> WireMessage | EncodedResponse:
    """Return ranges and features."""
    version = context.api_version
    if not is_valid(request, version):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    finalized = {name: (levels.min_level, levels.max_level) for name, levels in view.finalized.items()}
    response = versions_response(version, view.api_ranges, view.supported_features, finalized, view.features_epoch)
    return EncodedResponse(encode(response, version))


ROUTE: Final[Route[ZooKeeperView, ApiVersionsRequest]] = Route(ZooKeeperView, ApiVersionsRequest, handle)
