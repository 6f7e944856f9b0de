"""Offsets go with the partitions that they are of."""

from offsets_world import GROUP, OffsetsWorld


def test_offsets_of_partitions_that_are_gone_go_in_all_groups():
    world = OffsetsWorld()
    world.commit(partition=0)
    world.commit(partition=1)
    world.commit(partition=0, topic="u")
    world.commit_pending(7, partition=0, group="other")
    world.apply(world.shard.partitions_deleted([("t", 0), ("t", 2)]))
    world.end(7, commit=True)
    assert world.offsets() == {("t", 1): 5, ("u", 0): 5}
    assert world.offsets("other") == {}


def test_many_go_some_at_a_time_and_what_is_committed_anew_stays():
    world = OffsetsWorld()
    for partition in range(1_500):
        world.commit(partition=partition, topic="gone")
    outcome = world.shard.partitions_deleted([("gone", partition) for partition in range(1_500)])
    assert len(outcome.records) == 250
    world.apply(outcome)
    # The topic was made again.
    world.commit(9, partition=1_400, topic="gone")
    world.finish_slices()
    assert world.offsets() == {("gone", 1_400): 9}


def test_a_partition_that_nobody_read_costs_no_record():
    world = OffsetsWorld()
    world.commit()
    assert not world.shard.partitions_deleted([("other", 0)]).records
    assert world.offsets(GROUP) == {("t", 0): 5}
