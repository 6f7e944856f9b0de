import msgspec
import pytest
from tests.support.watched_clusters import BEGIN_MS, HOUR_MS, made_event, made_findings, made_way, with_way

from falkirk.watch.core.findings import WayState
from falkirk.watch.page.lane import LABEL, WIDTH, make_picture


def lane(picture, label):
    return next(each for each in picture.lanes if each.label == label)


def states(picture, label):
    return [span.state for span in lane(picture, label).spans]


def test_a_way_that_was_closed_before_the_watch_began_has_its_point_of_no_return():
    picture = make_picture(made_findings(), [])
    assert states(picture, "to 4.1") == ["unseen", "closed"]
    [mark] = lane(picture, "to 4.1").marks
    assert mark.x == lane(picture, "to 4.1").spans[1].x
    assert "cordoned log directories" in mark.title


def test_a_way_that_closed_opened_and_closed_again_has_three_parts():
    events = [
        made_event("prod", "way_closed", "4.1", BEGIN_MS + HOUR_MS),
        made_event("prod", "way_opened", "4.1", BEGIN_MS + 2 * HOUR_MS),
        made_event("prod", "way_closed", "4.1", BEGIN_MS + 3 * HOUR_MS),
    ]
    assert states(make_picture(made_findings(), events), "to 4.1") == ["unseen", "closed", "open", "closed"]


def test_levels_stand_side_by_side_with_the_one_before_the_first_move():
    moved = made_event("prod", "level_changed", None, BEGIN_MS + HOUR_MS, **{"from": "4.2-IV1", "to": "4.3-IV0"})
    assert [span.text for span in lane(make_picture(made_findings(), [moved]), "level").spans] == ["4.2-IV1", "4.3-IV0"]


def test_spans_fill_the_picture_without_gaps():
    events = [
        made_event("prod", "way_closed", "4.1", BEGIN_MS + HOUR_MS),
        made_event("prod", "way_opened", "4.1", BEGIN_MS + 2 * HOUR_MS),
    ]
    for each in make_picture(made_findings(losses=0), events).lanes:
        assert each.spans[0].x == LABEL
        ends = [round(span.x + span.width, 1) for span in each.spans]
        assert [span.x for span in each.spans[1:]] == ends[:-1]
        assert ends[-1] == WIDTH


def test_what_is_not_known_is_drawn_so():
    unknown = with_way(made_findings(losses=0), made_way("4.1", WayState.UNKNOWN))
    assert states(make_picture(unknown, []), "to 4.1") == ["unknown"]


def test_the_time_ends_with_the_findings_or_with_what_came_after_them():
    found = msgspec.structs.replace(made_findings(), at_ms=BEGIN_MS)
    later = made_event("prod", "way_opened", "4.1", BEGIN_MS + HOUR_MS)
    assert make_picture(found, [later]).end_ms == BEGIN_MS + HOUR_MS


def test_a_way_ends_where_the_level_is_lowered_to_it_and_begins_unseen_when_it_rises():
    events = [
        made_event("prod", "way_closed", "4.1", BEGIN_MS + HOUR_MS),
        made_event("prod", "level_changed", None, BEGIN_MS + 2 * HOUR_MS, **{"from": "4.3-IV0", "to": "3.9-IV0"}),
        made_event("prod", "level_changed", None, BEGIN_MS + 3 * HOUR_MS, **{"from": "3.9-IV0", "to": "4.3-IV0"}),
    ]
    picture = make_picture(made_findings(losses=0), events)
    assert states(picture, "to 4.1") == ["unseen", "closed", "not_below", "unseen"]
    assert states(picture, "to 3.8") == ["open"], "it was below all the time"
    assert [span.text for span in lane(picture, "level").spans] == ["4.3-IV0", "3.9-IV0", "4.3-IV0"]


@pytest.mark.parametrize(
    ("was_known", "expected"), [(True, ["unseen", "open", "closed"]), (False, ["unseen", "closed"])]
)
def test_a_way_that_the_watch_saw_open_is_green_until_it_closes(was_known, expected):
    closed = made_event("prod", "way_closed", "4.1", BEGIN_MS + 2 * HOUR_MS, was_known=was_known)
    assert states(make_picture(made_findings(), [closed], BEGIN_MS), "to 4.1") == expected
    assert states(make_picture(made_findings(), [closed]), "to 4.1") == ["unseen", "closed"]
