"""What a refused lowering would lose, where real controllers only refuse."""

import asyncio
from pathlib import Path

import pytest

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.feature_update import FeatureUpdate, UpdateFeaturesResult
from falkirk.operations.feature_changes import UpdateOutcome
from falkirk.operations.refused_lowering import with_ledger
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.upgrade_type import UpgradeType

NOBODY = Endpoint("127.0.0.1", 1)


@pytest.mark.parametrize("level", [0, 1, 14])
def test_levels_that_falkirk_does_not_lower_to_stay_refused_as_they_were(level: int, tmp_path: Path) -> None:
    result = UpdateFeaturesResult(endpoint=NOBODY, values={"metadata.version": None}, details=None)
    update = FeatureUpdate(level, UpgradeType.SAFE_DOWNGRADE)
    outcome = UpdateOutcome(updates={"metadata.version": update}, result=result)
    # Nobody is connected to.
    assert asyncio.run(with_ledger(AsyncAdmin([NOBODY], ClientConfig()), outcome, tmp_path)) is outcome
