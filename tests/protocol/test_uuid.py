from random import Random

from falkirk.protocol.uuid import parse_uuid, random_uuid, uuid_text


def test_random_uuids_are_of_version_4_and_no_text_of_theirs_begins_with_a_dash():
    chance = Random(7)

    made = [random_uuid(chance) for _ in range(500)]

    assert len(set(made)) == 500
    assert {uuid[6] >> 4 for uuid in made} == {4}
    assert {uuid[8] >> 6 for uuid in made} == {2}
    assert not any(uuid_text(uuid).startswith("-") for uuid in made)
    assert [parse_uuid(uuid_text(uuid)) for uuid in made] == made
