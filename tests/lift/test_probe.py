"""The probe asks for a decision that changes nothing, and counts the answers of an active controller alone."""

from __future__ import annotations

import asyncio
import time

import pytest
from fake_node import FakeNode, ranges

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.lift.probe import Probe
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesResponse

RANGES = ranges(api18="0-4", api57="0-2")


@pytest.mark.parametrize(("error_code", "counts"), [(ErrorCode.NONE, True), (ErrorCode.NOT_CONTROLLER, False)])
def test_an_answer_of_the_active_controller_alone_ends_the_silence(error_code, counts):
    async def story():
        def answer(request):
            if request.api_key == 18:
                return None
            received.append(request.message())
            return UpdateFeaturesResponse(error_code=error_code, error_message=None)

        received = []
        node = FakeNode(RANGES, answer)
        async with node, AsyncAdmin([node.endpoint], ClientConfig()) as admin, Probe(admin) as probe:
            begun_s = time.monotonic()
            # ApiVersions, and three of the probe, of which the first two are answered by then.
            await node.requests_came(4)
            assert {(*each.feature_updates, each.validate_only) for each in received} == {(True,)}
            return probe.silent_s < time.monotonic() - begun_s

    assert asyncio.run(story()) is counts
