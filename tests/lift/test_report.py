"""The page that a lift leaves."""

import re

import msgspec

from falkirk.lift.journal import Entry, Journal, Originals
from falkirk.lift.report import write_report

BEFORE = Originals(cluster_id="c", leader_id=1, voters=(), levels={"metadata.version": 30}, target="3.9-IV0")
LOSS = {"kind": "group_config", "detail": "<script>alert(1)</script>"}


def page(tmp_path, *entries: Entry) -> str:
    journal = Journal(tmp_path)
    journal.append(Entry(at_ms=1, event="originals", fields=msgspec.to_builtins(BEFORE)))
    for entry in entries:
        journal.append(entry)
    return write_report(tmp_path).read_text()


def done(step: str, at_ms: int, duration_s: float, silent_s: float | None) -> Entry:
    return Entry(
        at_ms=at_ms, event="done", step=step, fields={"duration_s": duration_s, "longest_interruption_s": silent_s}
    )


def test_it_has_the_steps_their_interruptions_and_what_was_lost(tmp_path):
    text = page(
        tmp_path,
        done("join", 2000, 1.0, 0.3),
        Entry(at_ms=2500, event="level-lowered", fields={"losses": [LOSS]}),
        done("lower", 3000, 0.5, 2.25),
        Entry(at_ms=4000, event="finished"),
    )
    assert "The level is low, the voters are those of before" in text
    assert "<tr><td>lower</td><td>0.5 s</td><td>2.25 s</td></tr>" in text
    # Two steps, the level and the leader.
    assert text.count("<rect") == 4
    assert "group_config" in text


def test_the_time_line_has_the_level_the_leader_and_the_interruptions(tmp_path):
    interruption = {"at_ms": 2600, "duration_s": 0.5}
    state = {"leader_id": 9, "level": "3.9-IV0", "interruptions": [interruption]}
    text = page(
        tmp_path,
        done("join", 2000, 1.0, 0.3),
        Entry(at_ms=3200, event="done", step="lower", fields={"duration_s": 1.0, **state}),
    )
    shown = re.findall(r'<text class="value"[^>]*>([^<]*)<', text)
    assert shown == ["4.3-IV0", "3.9-IV0", "1", "9"]
    assert text.count('<rect class="lost"') == 1
    assert "1970-01-01 00:00:03.200+00:00" in text


def test_names_from_outside_are_escaped(tmp_path):
    text = page(tmp_path, Entry(at_ms=2500, event="level-lowered", fields={"losses": [LOSS]}))
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_a_lift_without_steps_has_a_page_too(tmp_path):
    text = page(tmp_path, Entry(at_ms=2, event="aborted"))
    assert "No step was done." in text
    assert "Nothing." in text
    assert "given up" in text
