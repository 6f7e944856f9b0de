"""ApiVersions (key 18), v0-5: what a listener serves, and features of node and cluster. KIP-35, KIP-511, KIP-584.

Behaviour: needs no right, not even authentication. Version 0 is served by every release. A version that is not served
is answered in version 0: UNSUPPORTED_VERSION and the versions of ApiVersions that are.
Of Produce all versions are told, those too that a release does not serve any more: such a request closes the
connection, as in Kafka.
Version notes: v1 adds the throttle time; v3 the client's software, which must look like a name (else INVALID_REQUEST),
and in tagged fields supported features, finalized features and their epoch. Below v4 a supported feature whose lowest
level is 0 is not told, because older clients cannot read it (KAFKA-17011). v5 lets a client say which node of which
cluster it meant (both or neither, else INVALID_REQUEST): a broker that is another one answers REBOOTSTRAP_REQUIRED.

Differs from Kafka: who asks for it in a tagged field of ours, and has DESCRIBE on CLUSTER, is told in another one how
far the node is with the metadata log (`falkirk.protocol.metadata_progress_tags`). All other answers are Kafka's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.metadata.controller.request_context import ANONYMOUS
from falkirk.node.handlers.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.handler import EncodedResponse, NodeView, Route
from falkirk.protocol.codec import encode
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.protocol.messages.api_versions_response import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from falkirk.protocol.metadata_progress_tags import asks_metadata_progress, encode_metadata_progress
from falkirk.versions.feature_order import finalized_order, supported_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.supported_range import SupportedRange

API_KEY: Final = 18
# What KIP-511 lets a client's software be called, and its version.
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_HIDES_LEVEL_0_BELOW: Final = 4


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | EncodedResponse:
    """Tell ranges and features."""
    assert isinstance(request, ApiVersionsRequest)
    error = _refusal(view, context.api_version, request)
    if error is not ErrorCode.NONE:
        return ApiVersionsResponse(error_code=error)
    if _tells_progress(view, context, request):
        return _with_progress(view, context.api_version)
    return EncodedResponse(_encoded(view, context.api_version))


def unsupported_version(served: Mapping[int, SupportedRange]) -> ApiVersionsResponse:
    """Give the answer, in version 0, to ApiVersions of a version that is not served."""
    own = served[API_KEY]
    key = ApiVersion(api_key=API_KEY, min_version=own.lowest, max_version=own.highest)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[key])


def is_valid(request: ApiVersionsRequest, version: int) -> bool:
    """Say whether what a request names looks like names: INVALID_REQUEST if not."""
    if version >= 5 and (request.cluster_id is None) != (request.node_id == -1):
        return False
    if version < 3:
        return True
    software = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in software)


def _refusal(view: NodeView, version: int, request: ApiVersionsRequest) -> ErrorCode:
    if not is_valid(request, version):
        return ErrorCode.INVALID_REQUEST
    # Controllers do not ask: clients meet them at addresses that do not come from metadata.
    meant = (request.cluster_id, request.node_id)
    if version >= 5 and view.is_broker and request.cluster_id is not None and meant != (view.cluster_id, view.node_id):
        return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class _Cached:
    """An answer, and what it was made of: as long as it is kept, nobody else has the identity of any of it."""

    body: bytes
    api_ranges: object
    features: object
    supported_features: object


def _encoded(view: NodeView, version: int) -> bytes:
    """Give the body; encoded once for each version as long as ranges and features stay."""
    epoch = _epoch(view)
    ranges, features = view.api_ranges, view.image.features
    key = (
        view.release.name,
        version,
        id(ranges),
        id(features),
        epoch if version >= _TELLS_FEATURES_FROM else None,
        view.kraft_version,
        id(view.supported_features),
    )
    cached = _CACHE.get(key)
    if cached is None:
        if len(_CACHE) >= _CACHED_MAX:
            _CACHE.clear()
        cached = _CACHE[key] = _Cached(
            encode(_response(view, version, epoch), version), ranges, features, view.supported_features
        )
    return cached.body


def _tells_progress(view: NodeView, context: RequestContext, request: ApiVersionsRequest) -> bool:
    if not asks_metadata_progress(request.unknown_tagged_fields):
        return False
    # This API alone is served before that.
    is_authenticated = not context.security_protocol.startswith("SASL") or context.principal != ANONYMOUS
    return is_authenticated and is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE)


def _with_progress(view: NodeView, version: int) -> ApiVersionsResponse:
    """Give the answer with our own field: for this request alone, for what is in it changes all the time."""
    assert view.metadata_progress is not None, "every node has a metadata log"
    response = _response(view, version, _epoch(view))
    response.unknown_tagged_fields = encode_metadata_progress(view.metadata_progress())
    return response


def _epoch(view: NodeView) -> int:
    return view.image.provenance.end_offset - 1 if view.features_epoch is None else view.features_epoch


def _response(view: NodeView, version: int, epoch: int) -> ApiVersionsResponse:
    # An epoch that is not known makes clients keep what they know.
    finalized = view.image.features.levels(kraft_version=view.kraft_version) if epoch >= 0 else {}
    return versions_response(
        version,
        view.api_ranges,
        view.supported_features,
        {name: (level, level) for name, level in finalized.items()},
        epoch if finalized else -1,
    )


def versions_response(
    version: int,
    api_ranges: Mapping[int, SupportedRange],
    supported: Mapping[str, SupportedRange],
    finalized: Mapping[str, tuple[int, int]],
    epoch: int,
) -> ApiVersionsResponse:
    """Give the answer; `finalized`: the lowest and the highest level of each feature, with their epoch or -1."""
    hides_level_0 = version < _HIDES_LEVEL_0_BELOW
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=_TOLD_LOWEST.get(key, offered.lowest), max_version=offered.highest)
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


_TELLS_FEATURES_FROM: Final = 3
# Produce is told from 0 on, whatever is served: librdkafka compresses nothing otherwise (KAFKA-18659).
_TOLD_LOWEST: Final[Mapping[int, int]] = {0: 0}
# A few listeners, versions and, while a roll goes on, epochs.
_CACHED_MAX: Final = 64
_CACHE: Final[dict[tuple[object, ...], _Cached]] = {}

ROUTE: Final = Route(api_key=API_KEY, handler=handle, needs_controller=False)
