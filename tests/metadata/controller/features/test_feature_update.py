"""How each release answers requests of each version."""

from dataclasses import replace

import pytest
from feature_updates import TOGETHER, UPGRADE, a_controller, decide

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode


def test_a_release_of_4_tells_each_feature_up_to_version_1_and_none_from_2_on():
    for version, results in ((0, [("group.version", 0, "NONE")]), (1, [("group.version", 0, "NONE")]), (2, [])):
        response = decide(a_controller(), ("group.version", 1, UPGRADE), version=version).result().response
        assert [(each.feature, each.error_code, each.error_message) for each in response.results] == results
        assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)


def test_a_release_of_3_tells_each_feature_with_its_own_message():
    controller = a_controller(release="3.9", metadata_version="3.7-IV4")
    updates = [("metadata.version", 21, UPGRADE), ("foo.version", 1, UPGRADE)]
    response = decide(controller, *updates).result().response
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
    assert [(each.feature, each.error_message) for each in response.results] == [
        (
            "foo.version",
            "Invalid update version 1 for feature foo.version. Local controller 3000 does not support this feature.",
        ),
        ("metadata.version", None),
    ]


def test_the_error_of_a_whole_is_that_of_the_feature_which_kafkas_map_has_first():
    updates = [("transaction.version", 9, UPGRADE), ("kraft.version", 9, UPGRADE), ("group.version", 9, UPGRADE)]
    decision = decide(a_controller(), *updates)
    assert next(iter(decision.errors)) == "group.version"
    message = decision.result().response.error_message
    assert message.startswith(f"{TOGETHER}Invalid update version 9 for feature group.version.")


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_a_decision_may_be_refused_afterwards(release):
    controller = a_controller(release=release, metadata_version="3.7-IV4")
    decision = decide(controller, ("metadata.version", 21, UPGRADE))
    assert decision.records
    error = ApiError(ErrorCode.FEATURE_UPDATE_FAILED, "no disk")
    refused = decision.refused(error)
    assert refused.is_refused
    result = refused.result()
    assert result.records == ()
    codes = [result.response.error_code, *(each.error_code for each in result.response.results)]
    assert ErrorCode.FEATURE_UPDATE_FAILED in codes


A_LOSS = ReportedLoss(
    kind="k", key="", key_fields={}, record="", offset=None, source=None, before={}, after=None, detail=""
)


def test_a_ledger_has_an_end():
    losses = [replace(A_LOSS, key=str(number)) for number in range(5000)]
    blocker = Blocker(kind=BlockerKind.UNSUPPORTED, fields={}, text="")
    decision = replace(decide(a_controller()), cut_off=tuple(losses), blockers=(blocker,) * 5000)
    details = decision.details
    assert len(details.losses) == 1001
    assert details.losses[-1]["detail"] == "and 4000 more"
    assert len(details.blockers) == 1000


class MadeLoss:
    """Counts how often it is reported."""

    def __init__(self, key):
        self.times = 0
        self._key = key

    def reported(self):
        self.times += 1
        return replace(A_LOSS, key=self._key)


@pytest.mark.parametrize("count", [0, 3, 1000, 2500])
def test_losses_may_be_reported_over_many_steps_before_the_decision_is_answered(count):
    losses = tuple(MadeLoss(str(number)) for number in range(count))
    decision = replace(decide(a_controller()), losses=losses)
    slices = decision.report_losses()
    done = 0
    while True:
        try:
            next(slices)
        except StopIteration as end:
            reported = end.value
            break
        done += 1
    assert done == min(count, 1000) // 100
    # It is decided anew: the losses are the same, unless something has changed.
    again = replace(decision, losses=(*losses,)).with_undo_bundle("/x", reported)
    assert again.details.losses == decision.details.losses
    assert [loss.times for loss in losses[:1000]] == [2] * min(count, 1000)
    changed = replace(again, losses=(*losses, MadeLoss("new")))
    assert changed.details.losses == replace(changed, reported=None).details.losses
