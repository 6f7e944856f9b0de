import random

from falkirk.node.events import BytesReceived, ConnectionAccepted, ConnectionLost, ConnectionOpened
from falkirk.protocol.endpoint import Endpoint
from falkirk.simulation.machine.clock import Clock
from falkirk.simulation.machine.network import Network, NetworkConditions

SERVER = Endpoint("server", 9093)


class Hosts:
    """Two hosts, one of which listens; all that they are told, with the time."""

    def __init__(self, seed: int = 0, **conditions) -> None:
        self.clock = Clock()
        self.told = {"client": [], "server": []}
        self.network = Network(
            self.clock, random.Random(seed), lambda host, event: self.told[host].append(event), NetworkConditions()
        )
        for name, value in conditions.items():
            setattr(self.network.conditions, name, value)
        self.network.listen("server", "CONTROLLER", SERVER)

    def connected(self) -> int:
        """Connect; return the id of the connection at the server."""
        self.network.connect("client", 1, SERVER)
        self.run(100)
        assert self.told["client"] == [ConnectionOpened(1)]
        (accepted,) = self.told["server"]
        assert (accepted.listener, accepted.client_host) == ("CONTROLLER", "10.0.0.1")
        self.told["client"].clear()
        self.told["server"].clear()
        return accepted.connection_id

    def run(self, for_ms: int) -> None:
        until = self.clock.now_ms + for_ms
        while self.clock.step(until):
            pass

    def received(self, host: str) -> bytes:
        return b"".join(event.data for event in self.told[host] if isinstance(event, BytesReceived))


def test_bytes_arrive_in_order_both_ways_in_whatever_pieces():
    hosts = Hosts(cuts_writes=0.5, delay_ms_max=30)
    accepted = hosts.connected()
    sent = [bytes([number]) * (number + 1) for number in range(50)]
    for data in sent:
        hosts.network.send("client", 1, data)
        hosts.network.send("server", accepted, data)
    hosts.run(5000)
    assert hosts.received("server") == hosts.received("client") == b"".join(sent)
    assert len(hosts.told["server"]) > len(sent)


def test_nobody_listens_where_nobody_is():
    hosts = Hosts()
    hosts.network.host_down("server")
    hosts.network.connect("client", 1, SERVER)
    hosts.run(100)
    assert hosts.told["client"] == [ConnectionLost(1, "connection to server:9093 refused")]


def test_a_closed_connection_delivers_what_was_sent_before():
    hosts = Hosts()
    accepted = hosts.connected()
    hosts.network.send("client", 1, b"last words")
    hosts.network.close("client", 1)
    hosts.run(100)
    assert hosts.told["server"] == [BytesReceived(accepted, b"last words"), ConnectionLost(accepted, "closed by peer")]


def test_both_ends_hear_of_a_broken_connection_and_nothing_comes_any_more():
    hosts = Hosts()
    accepted = hosts.connected()
    hosts.network.conditions.breaks = 1.0
    hosts.network.send("client", 1, b"lost")
    hosts.run(100)
    hosts.network.send("server", accepted, b"to nobody")
    hosts.run(100)
    assert [type(event) for event in hosts.told["client"] + hosts.told["server"]] == [ConnectionLost, ConnectionLost]


def test_a_crashed_host_hears_nothing_and_its_peers_do():
    def told(seed: int) -> list:
        hosts = Hosts(seed)
        accepted = hosts.connected()
        hosts.network.send("server", accepted, b"last words")
        hosts.network.host_down("server")
        hosts.network.send("client", 1, b"to nobody")
        hosts.run(100)
        assert hosts.told["server"] == []
        return hosts.told["client"]

    outcomes = [told(seed) for seed in range(20)]
    assert [ConnectionLost(1, "connection reset by peer")] in outcomes
    assert [BytesReceived(1, b"last words"), ConnectionLost(1, "closed by peer")] in outcomes
    assert all(len(each) == 1 or each[0] == BytesReceived(1, b"last words") for each in outcomes)


def test_a_host_that_starts_again_hears_nothing_of_the_connections_that_it_had():
    hosts = Hosts()
    hosts.network.connect("client", 1, SERVER)
    hosts.network.host_down("client")
    hosts.run(100)
    assert hosts.told == {"client": [], "server": []}
    hosts.connected()
    hosts.network.conditions.breaks = 1.0
    hosts.network.send("client", 1, b"lost")
    hosts.network.host_down("client")
    hosts.run(100)
    assert hosts.told["client"] == []


def test_bytes_wait_while_the_way_is_cut_and_come_when_it_heals():
    hosts = Hosts()
    accepted = hosts.connected()
    hosts.network.cut_off("client", "server")
    hosts.network.send("client", 1, b"patience")
    hosts.network.send("server", accepted, b"the other way is open")
    hosts.run(1000)
    assert hosts.received("server") == b""
    assert hosts.received("client") == b"the other way is open"
    hosts.network.heal()
    hosts.run(1000)
    assert hosts.received("server") == b"patience"


def test_a_connection_that_is_cut_for_long_breaks():
    hosts = Hosts()
    hosts.connected()
    hosts.network.cut_off("client", "server")
    hosts.network.send("client", 1, b"too late")
    hosts.run(10_000)
    assert [event.reason for event in hosts.told["client"]] == ["connection timed out"]


def test_a_repeated_request_comes_again_on_a_connection_of_its_own_and_its_answer_goes_nowhere():
    hosts = Hosts(repeats=1.0)
    accepted = hosts.connected()
    hosts.network.send("client", 1, b"request")
    hosts.run(3000)
    again = next(event for event in hosts.told["server"] if isinstance(event, ConnectionAccepted))
    assert BytesReceived(accepted, b"request") in hosts.told["server"]
    assert BytesReceived(again.connection_id, b"request") in hosts.told["server"]
    hosts.network.send("server", again.connection_id, b"answer")
    hosts.run(3000)
    assert hosts.told["client"] == []


def test_the_same_seed_gives_the_same_run():
    def run(seed: int) -> dict:
        hosts = Hosts(seed, breaks=0.05, repeats=0.2, cuts_writes=0.3, delay_ms_max=50)
        hosts.network.connect("client", 1, SERVER)
        for number in range(100):
            hosts.run(10)
            hosts.network.send("client", 1, bytes([number]) * 9)
        hosts.run(3000)
        return hosts.told

    assert run(1) == run(1)
    assert run(1) != run(2)
