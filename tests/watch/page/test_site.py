"""The page over HTTP, without a browser."""

import asyncio
import csv
import http.client
import io
import json
import re
from urllib.parse import quote, urlsplit

import pytest
from tests.support.watched_clusters import (
    BEGIN_MS,
    HOSTILE,
    HOUR_MS,
    MadeWatch,
    made_event,
    made_findings,
    made_loss,
    made_way,
    served_page,
    with_way,
)

from falkirk.lift.journal import Entry
from falkirk.lift.journal import Journal as LiftJournal
from falkirk.protocol.endpoint import Endpoint
from falkirk.watch.core.findings import WayState
from falkirk.watch.errors import WatchError
from falkirk.watch.journal import Bookmark, Journal
from falkirk.watch.page.server import serving_page

TOKEN = "a token of more than sixteen"  # noqa: S105 - it opens nothing


class Reader:
    """Asks a page; each request on a connection of its own."""

    def __init__(self, address):
        self.netloc = urlsplit(address).netloc

    def ask(self, path, method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection(self.netloc, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer, answer.read().decode()
        finally:
            connection.close()


@pytest.fixture
def reader():
    watch = MadeWatch(made_findings(), made_findings(HOSTILE, group=HOSTILE))
    with served_page(lambda: watch) as (address, _):
        yield Reader(address)


def test_every_answer_forbids_scripts_and_frames_of_others(reader):
    for path in ("/", "/cluster?name=prod", "/nothing", "/static/page.js", "/board.csv"):
        answer, _ = reader.ask(path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Frame-Options"] == "DENY"


def test_hostile_names_are_text(reader):
    for path in ("/", f"/cluster?name={quote(HOSTILE)}", f"/cluster?name={quote('<b>')}"):
        _, body = reader.ask(path)
        assert "<script>alert" not in body
        assert "<b>" not in body
        # A form gives the name back as it is.
        shown = re.sub('value="[^"]*"', "", body)
        assert "\u202e" not in shown
        assert "\x1b" not in shown


def test_a_page_names_nothing_outside_of_itself(reader):
    for path in ("/", "/cluster?name=prod"):
        _, body = reader.ask(path)
        addresses = [part.split('"')[0] for part in body.replace('src="', 'href="').split('href="')[1:]]
        assert addresses
        assert all(address.startswith(("/", "#")) for address in addresses)
        assert "style=" not in body
        assert "onclick" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_is_changed_from_the_page(reader, method):
    for path in ("/", "/cluster?name=prod", "/sign-in"):
        assert reader.ask(path, method)[0].status == 405


def test_a_cluster_that_is_not_followed_is_not_found(reader):
    answer, body = reader.ask("/cluster?name=gone")
    assert answer.status == 404
    assert "no cluster &#39;gone&#39; is followed" in body


def test_another_name_of_this_machine_is_not_answered(reader):
    assert reader.ask("/", headers={"Host": "evil.example"})[0].status == 421
    assert reader.ask("/", headers={"Host": "localhost:1234"})[0].status == 200


def test_each_table_is_there_as_json_and_as_csv(reader):
    for table, count in [("ways", 7), ("losses", 2), ("groups", 1), ("transactions", 1), ("nodes", 1), ("features", 1)]:
        answer, body = reader.ask(f"/cluster.json?name=prod&table={table}")
        assert answer.headers["Content-Type"] == "application/json"
        rows = json.loads(body)
        assert len(rows) == count
        answer, body = reader.ask(f"/cluster.csv?name=prod&table={table}")
        assert answer.headers["Content-Type"].startswith("text/csv")
        assert [list(row) for row in csv.DictReader(io.StringIO(body))] == [list(row) for row in rows]


def test_the_board_has_one_row_for_each_way_of_each_cluster(reader):
    rows = json.loads(reader.ask("/board.json")[1])
    assert len(rows) == 14
    assert {"cluster": "prod", "release": "4.1", "state": "closed", "losses": 2}.items() <= rows[11].items()


def test_a_spreadsheet_takes_no_name_for_a_formula():
    watch = MadeWatch(made_findings(group="=1+1"))
    with served_page(lambda: watch) as (address, _):
        assert "'=1+1" in Reader(address).ask("/cluster.csv?name=prod&table=groups")[1]


def test_losses_are_filtered_by_what_the_address_says():
    found = made_findings(losses=2)
    with served_page(lambda: MadeWatch(found)) as (address, _):
        reader = Reader(address)
        body = reader.ask("/cluster?name=prod&q=broker+1")[1]
        assert "1 of 2." in body
        assert "2 of 2." in reader.ask("/cluster?name=prod&kind=cordoned_log_dirs&release=4.1")[1]
        assert "0 of 2." in reader.ask("/cluster?name=prod&release=4.2")[1]


def test_events_and_moments_come_from_the_journal(tmp_path):
    def watch():
        journal = Journal(tmp_path / "watch.sqlite")
        event = made_event("prod", "way_closed", "4.1", BEGIN_MS)
        journal.commit("prod", Bookmark(cluster_id="x", end_offset=1, known={}), [event], {}, BEGIN_MS)
        journal.add_moment(made_findings(losses=1, at_ms=BEGIN_MS))
        return MadeWatch(made_findings(losses=2), journal=journal)

    with served_page(watch) as (address, _):
        reader = Reader(address)
        assert "prod: way_closed 4.1" in reader.ask("/cluster?name=prod")[1]
        assert json.loads(reader.ask("/cluster.json?name=prod&table=events")[1])[0]["release"] == "4.1"
        assert made_loss(1).detail in reader.ask("/compare?name=prod")[1]
        assert reader.ask(f"/compare?name=prod&from={BEGIN_MS - HOUR_MS}")[0].status == 404
        rows = json.loads(reader.ask("/compare.json?name=prod")[1])
        assert {"what": "loss cordoned_log_dirs", "before": None, "after": made_loss(1).detail} in rows
        assert list(csv.DictReader(io.StringIO(reader.ask("/compare.csv?name=prod")[1])))[-1]["before"] == ""
        assert "Nothing changed." in reader.ask(f"/compare?name=prod&from={BEGIN_MS}&to={BEGIN_MS}")[1]


def test_a_blocker_and_a_loss_have_commands_to_copy_and_a_level_that_could_be_finalized_is_named():
    found = with_way(made_findings(), made_way("4.2", WayState.BLOCKED))
    with served_page(lambda: MadeWatch(found)) as (address, _):
        reader = Reader(address)
        body = reader.ask("/cluster?name=prod")[1]
        assert 'data-copy="kafka-topics.sh --bootstrap-server kafka-1:9092 --describe' in body
        assert 'data-copy="kafka-configs.sh' in body
        assert "could be 4.4-IV1" in reader.ask("/")[1]


def test_the_steps_of_a_lift_are_shown(tmp_path):
    LiftJournal(tmp_path).append(Entry(at_ms=BEGIN_MS, event="begun", step="join"))
    with served_page(lambda: MadeWatch(made_findings()), lifts={"prod": tmp_path}) as (address, _):
        body = Reader(address).ask("/cluster?name=prod")[1]
        assert "Lift: under way" in body
        assert "<strong>join</strong> begun" in body


def test_a_page_with_a_token_is_for_those_who_have_it():
    with served_page(lambda: MadeWatch(made_findings()), token=TOKEN) as (address, _):
        reader = Reader(address)
        assert reader.ask("/")[0].status == 401
        assert reader.ask("/updates")[0].status == 401
        assert reader.ask("/", headers={"Accept": "text/html"})[0].headers["Location"] == "/sign-in"
        assert reader.ask("/", headers={"Authorization": f"Bearer {TOKEN}x"})[0].status == 401
        assert reader.ask("/", headers={"Authorization": f"Bearer {TOKEN}"})[0].status == 200
        wrong, _ = reader.ask("/sign-in", "POST", body="token=wrong")
        assert wrong.headers["Location"] == "/sign-in?wrong=1"
        signed_in, _ = reader.ask("/sign-in", "POST", body=f"token={quote(TOKEN)}")
        cookie = signed_in.headers["Set-Cookie"]
        assert TOKEN not in cookie
        assert "HttpOnly" in cookie
        assert reader.ask("/", headers={"Cookie": cookie.split(";")[0]})[0].status == 200


async def _serve(endpoint, token):
    async with serving_page(MadeWatch(), endpoint, token=token):
        pass


@pytest.mark.parametrize(
    ("host", "token", "text"),
    [
        ("0.0.0.0", None, "can be reached from other machines"),  # noqa: S104 - it must be refused
        ("127.0.0.1", "short", "it needs 16 or more"),
    ],
)
def test_a_page_that_others_could_read_is_refused(host, token, text):
    with pytest.raises(WatchError, match=text):
        asyncio.run(_serve(Endpoint(host, 0), token))
