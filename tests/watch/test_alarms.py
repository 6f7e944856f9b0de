"""Alarms arrive at least once, in order, and with a key by which a repetition is known."""

import asyncio
import hashlib
import hmac
import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.watched_clusters import wait_for
from watch_events import ALL, bookmark, event

from falkirk.watch.alarms import Command, Deliverer, LogLine, Webhook
from falkirk.watch.journal import Journal


class Receiver:
    """An HTTP server that answers with the statuses of a list, then with 204."""

    def __init__(self, statuses):
        self.statuses = list(statuses)
        self.received = []

    @contextmanager
    def serving(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append((dict(self.headers), body))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/hook"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def deliver(journal, *channels, rounds=1, at_once=True):
    deliverer = Deliverer(journal, channels)

    async def run():
        for _ in range(rounds):
            if at_once:
                journal._database.execute("UPDATE deliveries SET next_ms = 0")
            await deliverer.deliver_due()

    asyncio.run(run())
    return deliverer


def store(journal, channel, *keys):
    journal.commit("prod", bookmark(1), [event(key) for key in keys], {channel.name: ALL}, 10)


def test_a_webhook_is_signed_and_names_the_event_and_fails_are_sent_again_until_they_arrive(tmp_path, capsys):
    receiver = Receiver([500, 302])
    with receiver.serving() as url, Journal(tmp_path / "j") as journal:
        channel = Webhook(url, b"secret", ALL)
        store(journal, channel, "a", "b")
        deliver(journal, channel, rounds=4)
        assert journal.waiting_count() == 0
    keys = [headers["Idempotency-Key"] for headers, _ in receiver.received]
    assert keys == ["a", "a", "a", "b"], "in order, and none before the one before it has arrived"
    headers, body = receiver.received[0]
    expected = hmac.new(b"secret", headers["X-Falkirk-Timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Falkirk-Signature"] == f"sha256={expected}"
    assert json.loads(body)["text"] == "text of a"
    assert "HTTP status 500" in capsys.readouterr().err


def test_a_failed_alarm_waits_longer_each_time_and_keeps_the_reason(tmp_path):
    with Journal(tmp_path / "j") as journal:
        channel = Webhook("http://127.0.0.1:1/hook", None, ALL)
        store(journal, channel, "a")
        waits = []
        for _ in range(4):
            deliver(journal, channel)
            [(wait_ms, reason)] = journal._database.execute("SELECT next_ms, reason FROM deliveries").fetchall()
            waits.append(wait_ms)
            assert "refused" in reason
        assert waits[3] - waits[2] > waits[1] - waits[0]
        deliver(journal, channel, at_once=False)
        [(attempts,)] = journal._database.execute("SELECT attempts FROM deliveries").fetchall()
        assert attempts == 4, "it is not due yet"


def test_an_answer_that_is_no_http_is_a_failure_like_any_other(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as server, Journal(tmp_path / "j") as journal:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"\x15\x03\x03\x00\x02\x02\x32\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        channel = Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/hook", None, ALL)
        store(journal, channel, "a")
        deliver(journal, channel)
        thread.join()
        assert journal.waiting_count() == 1
    assert "a is tried again" in capsys.readouterr().err


def test_a_command_gets_the_event_and_its_failure_is_tried_again(tmp_path):
    out = tmp_path / "out"
    script = f'cat >> {out}; echo " $FALKIRK_EVENT_KEY $FALKIRK_EVENT_KIND $FALKIRK_RELEASE" >> {out}; test -e {out}.ok'
    with Journal(tmp_path / "j") as journal:
        channel = Command(script, ALL)
        store(journal, channel, "a")
        deliver(journal, channel)
        assert journal.waiting_count() == 1
        (tmp_path / "out.ok").touch()
        deliver(journal, channel)
        assert journal.waiting_count() == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 2
    assert all(line.endswith(" a way_closed 3.9") and '"key":"a"' in line for line in lines)


def test_what_a_command_prints_is_no_output_of_the_watch(tmp_path, capfd):
    asyncio.run(Command("cat; echo said", ALL).deliver(event("a")))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("said\n")


def test_a_command_that_does_not_end_is_killed_with_all_that_it_has_started(tmp_path, monkeypatch):
    monkeypatch.setattr("falkirk.watch.alarms.TIMEOUT_S", 1.0)
    pids = tmp_path / "pids"
    with pytest.raises(OSError, match="no end after 1 s"):
        asyncio.run(Command(f"sleep 600 & echo $! $$ > {pids}; wait", ALL).deliver(event("a")))
    for pid in map(int, pids.read_text().split()):
        assert wait_for(lambda pid=pid: not Path(f"/proc/{pid}").exists() or "Z" in state_of(pid))


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_the_secret_path_of_a_webhook_is_not_said(tmp_path, capsys):
    with Journal(tmp_path / "j") as journal:
        channel = Webhook("http://127.0.0.1:1/services/SECRET", None, ALL)
        store(journal, channel, "a")
        deliver(journal, channel)
    said = capsys.readouterr().err
    assert said.startswith("webhook 127.0.0.1: ")
    assert "SECRET" not in said


def test_a_name_with_line_ends_stays_on_one_line_of_the_log(capsys):
    hostile = event("a", text="x\nERROR forged")
    asyncio.run(LogLine(ALL).deliver(hostile))
    [line] = capsys.readouterr().err.splitlines()
    assert "x ERROR forged" in line


def test_a_name_does_not_control_the_terminal_on_which_alarms_appear(capsys):
    asyncio.run(LogLine(ALL).deliver(event("a", text="topic \x1b[2J\x9b\u202e is gone")))
    assert "topic \\x1b[2J\\x9b\\u202e is gone" in capsys.readouterr().err


@pytest.mark.parametrize("slow", [0, 1])
def test_a_channel_that_fails_does_not_hold_up_the_others(tmp_path, slow):
    with Journal(tmp_path / "j") as journal:
        broken, working = Webhook("http://127.0.0.1:1/", None, ALL), LogLine(ALL)
        channels = [broken, working] if slow else [working, broken]
        journal.commit("prod", bookmark(1), [event("a"), event("b")], {each.name: ALL for each in channels}, 10)
        deliver(journal, *channels, rounds=2)
        assert journal.next_of([working.name]) == []
        assert [each.event.key for each in journal.next_of([broken.name])] == ["a"]
