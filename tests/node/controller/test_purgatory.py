from falkirk.node.controller.purgatory import Purgatory


def test_answers_leave_in_their_order_once_what_they_rest_on_is_committed():
    purgatory: Purgatory[str] = Purgatory()
    for end_offset, answer in [(5, "a"), (5, "b"), (7, "c"), (9, "d")]:
        purgatory.add(end_offset, answer)

    assert purgatory.complete_up_to(4) == []
    assert purgatory.complete_up_to(7) == ["a", "b", "c"]
    assert purgatory.complete_up_to(7) == []
    assert len(purgatory) == 1


def test_what_waits_for_a_time_only_comes_out_when_that_is_over_if_it_is_not_committed_before():
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add(5, "a", deadline_ms=300)
    purgatory.add(5, "b")
    purgatory.add(7, "c", deadline_ms=200)
    purgatory.add(8, "d", deadline_ms=200)
    assert purgatory.next_deadline_ms == 200
    assert purgatory.expire(199) == []
    assert purgatory.expire(200) == ["c", "d"]
    assert len(purgatory) == 2

    assert purgatory.complete_up_to(8) == ["a", "b"]
    assert purgatory.next_deadline_ms is None
    assert purgatory.expire(1000) == []


def test_all_that_waits_comes_out_when_the_leadership_is_lost():
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add(5, "a")
    purgatory.add(6, "b", deadline_ms=1)

    assert purgatory.drain() == ["a", "b"]
    assert len(purgatory) == 0
    assert purgatory.expire(1) == []
