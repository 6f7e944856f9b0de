"""ApiVersions (key 18), v0-5: the APIs of a listener, and features of node and cluster. KIP-35, KIP-511, KIP-584.

Behaviour: needs no authorization, not even authentication. Every release serves version 0. A version that is not served
is answered in version 0: UNSUPPORTED_VERSION and the range of ApiVersions.
Of Produce all versions from 0 on are advertised, even those that a release no longer serves: such a request closes the
connection, as in Kafka.
Version notes: v1 adds the throttle time; v3 the client's software, whose name and version must be well-formed (else
INVALID_REQUEST), and in tagged fields supported features, finalized features and their epoch. Below v4 supported
features whose lowest level is 0 are left out, because older clients cannot read them (KAFKA-17011). v5 lets a client
name the cluster and node that it expects (both or neither, else INVALID_REQUEST): another broker answers
REBOOTSTRAP_REQUIRED.

Differs from Kafka: a client that asks in a tagged field of ours, and has DESCRIBE on CLUSTER, gets in another one the
node's progress in the metadata log (`falkirk.protocol.metadata_progress_tags`). All other responses are Kafka's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.requests.request_context import ANONYMOUS
from falkirk.node.connections.api_versions_request import is_valid
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.handler_result import EncodedResponse
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView, NodeView
from falkirk.protocol.codec import encode
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.protocol.messages.api_versions_response import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from falkirk.protocol.metadata_progress_tags import asks_metadata_progress, encode_metadata_progress
from falkirk.versions.feature_order import finalized_order, supported_order
from falkirk.versions.metadata_version import LEVEL_WITHOUT_RECORD, METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange

API_KEY: Final = 18
_HIDES_LEVEL_0_BELOW: Final = 4
_FEATURES_SINCE: Final = 3
# Produce is advertised from 0 on whatever is served: librdkafka compresses nothing otherwise (KAFKA-18659).
ADVERTISED_LOWEST: Final[Mapping[int, int]] = {0: 0}
# A few listeners and versions and, during a roll, epochs.
_CACHED_MAX: Final = 64
_CACHE: Final[dict[tuple[object, ...], _Cached]] = {}


def handle(view: NodeView, context: RequestContext, request: ApiVersionsRequest) -> WireMessage | EncodedResponse:
    """Return ranges and features."""
    error = _refusal(view, context.api_version, request)
    if error is not ErrorCode.NONE:
        return ApiVersionsResponse(error_code=error)
    if _wants_progress(view, context, request):
        return _with_progress(view, context.api_version)
    return EncodedResponse(_encoded(view, context.api_version))


def unsupported_version(served: Mapping[int, SupportedRange]) -> ApiVersionsResponse:
    """Return the response, in version 0, to a version of ApiVersions that is not served."""
    own = served[API_KEY]
    key = ApiVersion(api_key=API_KEY, min_version=own.lowest, max_version=own.highest)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[key])


def _refusal(view: NodeView, version: int, request: ApiVersionsRequest) -> ErrorCode:
    if not is_valid(request, version):
        return ErrorCode.INVALID_REQUEST
    # Controllers skip the check: clients reach them at addresses that do not come from metadata.
    meant = (request.cluster_id, request.node_id)
    if (
        version >= 5
        and isinstance(view, BrokerView)
        and request.cluster_id is not None
        and meant != (view.cluster_id, view.node_id)
    ):
        return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class _Cached:
    """A response body. References to its sources keep any other object from having their identity."""

    body: bytes
    api_ranges: "object"
    features: "object"
    supported_features: "object"


def _encoded(view: NodeView, version: int) -> bytes:
    """Return the body; encoded once for each version until ranges or features change."""
    epoch = view.features_epoch
    ranges, features = view.api_ranges, view.image.features
    key = (
        view.release.name,
        version,
        id(ranges),
        id(features),
        epoch if version >= _FEATURES_SINCE else None,
        view.kraft_version,
        id(view.supported_features),
    )
    cached = _CACHE.get(key)
    if cached is None:
        if len(_CACHE) >= _CACHED_MAX:
            _CACHE.clear()
        cached = _CACHE[key] = _Cached(
            encode(_response(view, version), version), ranges, features, view.supported_features
        )
    return cached.body


def _wants_progress(view: NodeView, context: RequestContext, request: ApiVersionsRequest) -> bool:
    if not asks_metadata_progress(request.unknown_tagged_fields):
        return False
    # ApiVersions alone is served before authentication.
    is_authenticated = not context.security_protocol.startswith("SASL") or context.principal != ANONYMOUS
    return is_authenticated and is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE)


def _with_progress(view: NodeView, version: int) -> ApiVersionsResponse:
    """Return the response with our own field. It is for this request only: progress changes all the time."""
    response = _response(view, version)
    response.unknown_tagged_fields = encode_metadata_progress(view.metadata_progress())
    return response


def _response(view: NodeView, version: int) -> ApiVersionsResponse:
    epoch = view.features_epoch
    # With an unknown epoch clients keep the features that they have.
    finalized = _finalized(view) if epoch >= 0 else {}
    return versions_response(
        version,
        view.api_ranges,
        view.supported_features,
        {name: (level, level) for name, level in finalized.items()},
        epoch if finalized else -1,
    )


def _finalized(view: NodeView) -> dict[str, int]:
    """Return the finalized levels; a log without one of metadata.version is at 3.0-IV1 where the release knows it."""
    levels = dict(view.image.features.levels(kraft_version=view.kraft_version))
    supported = view.supported_features.get(METADATA_VERSION)
    if METADATA_VERSION not in levels and supported is not None and LEVEL_WITHOUT_RECORD.level in supported:
        levels[METADATA_VERSION] = LEVEL_WITHOUT_RECORD.level
    return levels


def versions_response(
    version: int,
    api_ranges: Mapping[int, SupportedRange],
    supported: Mapping[str, SupportedRange],
    finalized: Mapping[str, tuple[int, int]],
    epoch: int,
) -> ApiVersionsResponse:
    """Return the response; `finalized` has the lowest and highest level of each feature, `epoch` is theirs or -1."""
    hides_level_0 = version < _HIDES_LEVEL_0_BELOW
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=ADVERTISED_LOWEST.get(key, offered.lowest), max_version=offered.highest)
            for key, offered in sorted(api_ranges.items())
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=supported[name].lowest, max_version=supported[name].highest)
            for name in supported_order(supported)
            if not (hides_level_0 and supported[name].lowest == 0)
        ],
        finalized_features_epoch=epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=finalized[name][0], max_version_level=finalized[name][1])
            for name in finalized_order(finalized)
        ],
    )


ROUTE: Final[Route[NodeView, ApiVersionsRequest]] = Route(NodeView, ApiVersionsRequest, handle)
