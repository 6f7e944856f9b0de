"""Facts about a lowering."""

from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.metadata.levels.writer import LossReport
from falkirk.node.metadata_log.level_changes import LOGGED_LOSSES_MAX, LevelChanges

LOSS = ReportedLoss(
    kind="k", key="", key_fields={}, record="", offset=None, source=None, before={}, after=None, detail=""
)


class MadeLoss:
    def reported(self):
        return LOSS


def test_many_losses_are_logged_over_many_steps_and_the_rest_is_counted():
    facts = []
    slices = LevelChanges(facts.append).lowered(LossReport(losses=[MadeLoss()] * (LOGGED_LOSSES_MAX + 5)))
    assert [len(facts) for _ in slices] == list(range(100, LOGGED_LOSSES_MAX + 1, 100))
    assert [fact.event for fact in facts] == ["metadata-lost"] * LOGGED_LOSSES_MAX + ["more-is-lost"]
    assert facts[-1].fields == {"count": 5}
