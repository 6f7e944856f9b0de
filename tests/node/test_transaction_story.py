"""A broker of ours is told the same story of transactional producers as a real one, and answers the same."""

import pytest
from data_plane_asker import TwoBrokersAsker
from transaction_story import NODE_SETTINGS, RECORDED, TransactionStory, golden, unexpected

from falkirk.versions.release import Release


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level"), RECORDED)
def test_our_coordinator_answers_as_a_real_one(name, level):
    asker = TwoBrokersAsker(name, **NODE_SETTINGS)
    ours = TransactionStory(Release.parse(name), asker).play(level)
    assert unexpected(name, ours=ours, real=golden(name, level)) == []
    facts = [fact for host in asker.network.hosts.values() for fact in host.facts if fact.level == "error"]
    # At the end of the story brokers have no rights, either.
    assert {fact.event for fact in facts} <= {"raft-fetch-refused"}
