"""What a shard does with all of its groups; requests of members are told with their protocols."""

from group_records import Log, member
from offsets_world import OffsetsWorld

from falkirk.coordinator.runtime.client import ClientContext
from falkirk.protocol.error_codes import ErrorCode


def world_of_all_types():
    log = Log()
    log.classic("classic", "m")
    log.classic("empty")
    log.commit("simple")
    log.value(3, "consumer", epoch=1)
    log.value(5, member("consumer"))
    log.value(6, "consumer", assignment_epoch=1)
    log.value(8, member("consumer"), member_epoch=1)
    log.value(11, "share", epoch=1)
    return OffsetsWorld().reloaded(log.entries)


def listed(world, states=(), types=()):
    return {
        group.group_id: (group.group_type, group.group_state, group.protocol_type)
        for group in world.shard.list_groups(states, types)
    }


def test_all_groups_are_listed_with_type_and_state():
    assert listed(world_of_all_types()) == {
        "classic": ("classic", "Stable", "consumer"),
        "empty": ("classic", "Empty", "consumer"),
        "simple": ("classic", "Empty", ""),
        "consumer": ("consumer", "Stable", "consumer"),
        "share": ("share", "Empty", "share"),
    }


def test_filters_do_not_look_at_case():
    world = world_of_all_types()
    assert set(listed(world, states=("sTABLE",))) == {"classic", "consumer"}
    assert set(listed(world, types=("Consumer", "SHARE"))) == {"consumer", "share"}
    assert set(listed(world, ("empty ",), ("classic",))) == {"empty", "simple"}
    assert listed(world, states=("Nowhere",)) == listed(world, types=("nothing",)) == {}


def test_a_group_is_described_by_who_knows_its_type():
    world = world_of_all_types()
    client = ClientContext(api_version=6)

    def classic(group_id):
        return world.shard.describe_groups(client, [group_id], 1).replies[0].response.groups[0]

    def consumer(group_id):
        return world.shard.describe_consumer_groups([group_id], 1).replies[0].response.groups[0]

    assert [member.member_id for member in classic("classic").members] == ["m"]
    assert [member.member_id for member in consumer("consumer").members] == ["m"]
    for group_id in ("consumer", "share"):
        assert classic(group_id).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert consumer("classic").error_message == "Group classic is not a consumer group."
    assert consumer("share").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert not consumer("share").members
    absent = [
        world.shard.describe_groups(client, ["nobody"], 1),
        world.shard.describe_consumer_groups(["nobody"], 1),
    ]
    assert [list(outcome.replies[0].response.groups) for outcome in absent] == [[], []]


def test_sessions_begin_when_a_shard_is_loaded():
    world = world_of_all_types()
    world.pass_time(400_000)
    states = {group_id: state for group_id, (_, state, _) in listed(world).items()}
    assert states["consumer"] == "Empty"
    assert states["classic"] == "Empty"


def test_the_tombstone_of_what_a_group_was_once_has_the_last_word():
    log = Log()
    log.value(3, "g", epoch=1)
    log.tombstone(2, {"group": "g"})
    assert OffsetsWorld().reloaded(log.entries).context.groups == {}
