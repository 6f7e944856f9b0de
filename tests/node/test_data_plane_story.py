"""A broker of ours is told the same story of data requests as a real one, and answers the same."""

import pytest
from data_plane_asker import NetworkAsker
from data_plane_story import Story, golden, unexpected

from falkirk.versions.release import Release


@pytest.mark.parametrize("name", ["3.9.1", "4.3.1"])
def test_our_broker_answers_as_a_real_one(name):
    release = Release.parse(name)
    asker = NetworkAsker(name)
    assert unexpected(release, ours=Story(release, asker).steps(), real=golden(release)) == []
    facts = [fact for host in asker.network.hosts.values() for fact in host.facts if fact.level == "error"]
    assert facts == []
