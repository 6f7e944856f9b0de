from tests.support.watched_clusters import made_findings, made_way, with_way

from falkirk.watch.core.findings import WayState
from falkirk.watch.page.board import BoardQuery, make_board

CLUSTERS = [made_findings("bee", losses=3), made_findings("ant", losses=0), made_findings("cat", is_fresh=False)]


def names(query):
    return [found.cluster for found, _ in make_board(CLUSTERS, query).rows]


def test_each_way_is_a_word_and_a_symbol():
    [(_, cells)] = make_board([made_findings(losses=3)], BoardQuery()).rows
    assert [(each.symbol, each.label) for each in cells[3:]] == [
        ("✗", "would lose 3"),
        ("✗", "would lose 3"),
        ("✓", "can go"),
        ("-", "not below"),
    ]


def test_a_blocked_way_says_what_is_in_the_way():
    found = with_way(made_findings(), made_way("4.2", WayState.BLOCKED))
    [(_, cells)] = make_board([found], BoardQuery()).rows
    assert cells[5].label == "blocked"
    assert "1 of 3 replicas" in cells[5].title


def test_clusters_are_found_by_words_of_their_name_and_by_the_state_of_a_way():
    assert names(BoardQuery()) == ["ant", "bee", "cat"]
    assert names(BoardQuery(q="BEE")) == ["bee"]
    assert names(BoardQuery(state="closed")) == ["bee"]
    assert names(BoardQuery(state="open", release="4.1")) == ["ant"]
    assert names(BoardQuery(state="unknown")) == ["cat"]


def test_clusters_with_most_closed_ways_stand_first_where_that_is_asked_for():
    assert names(BoardQuery(sort="closed")) == ["bee", "ant", "cat"]


def test_counts_are_of_all_clusters_whatever_is_shown():
    board = make_board(CLUSTERS, BoardQuery(q="nothing"))
    assert board.rows == ()
    assert board.cluster_count == 3
    assert board.counts["4.1"] == {"open": 1, "closed": 1, "blocked": 0, "unknown": 1, "not_below": 0}
