from falkirk.node.purgatory import Purgatory


def test_answers_leave_in_their_order_once_what_they_rest_on_is_committed():
    purgatory: Purgatory[str] = Purgatory()
    for end_offset, answer in [(5, "a"), (5, "b"), (7, "c"), (9, "d")]:
        purgatory.add(end_offset, answer)

    assert purgatory.complete_up_to(4) == []
    assert purgatory.complete_up_to(7) == ["a", "b", "c"]
    assert purgatory.complete_up_to(7) == []
    assert len(purgatory) == 1


def test_all_that_waits_comes_out_when_the_leadership_is_lost():
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add(5, "a")
    purgatory.add(6, "b")

    assert purgatory.drain() == ["a", "b"]
    assert len(purgatory) == 0
