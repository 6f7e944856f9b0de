import pytest

from falkirk.node.handlers.parts.view import BrokerView
from falkirk.node.handlers.routes import ROUTES
from falkirk.versions.api_support import Listener
from falkirk.versions.release import all_releases
from falkirk.versions.unbuilt import served_ranges

PROFILES = [release for release in all_releases() if release.tables.kraft is not None]


@pytest.mark.parametrize("release", PROFILES, ids=str)
@pytest.mark.parametrize("unstable", [False, True])
def test_all_that_a_controller_offers_has_a_handler(release, unstable):
    assert served_ranges(release, Listener.CONTROLLER, unstable=unstable).keys() <= ROUTES.keys()


@pytest.mark.parametrize("release", PROFILES, ids=str)
@pytest.mark.parametrize("unstable", [False, True])
def test_all_that_a_broker_offers_has_a_handler_or_is_passed_on(release, unstable):
    served = served_ranges(release, Listener.BROKER, unstable=unstable)
    assert {key for key in served if not release.apis[key].forwardable} <= ROUTES.keys()


@pytest.mark.parametrize("release", PROFILES, ids=str)
@pytest.mark.parametrize("unstable", [False, True])
def test_no_route_needs_a_view_that_its_listener_has_not(release, unstable):
    on_controllers = served_ranges(release, Listener.CONTROLLER, unstable=unstable)
    assert [key for key in on_controllers if ROUTES[key].needs is BrokerView] == []
    on_brokers = served_ranges(release, Listener.BROKER, unstable=unstable).keys() & ROUTES.keys()
    assert [key for key in on_brokers if ROUTES[key].needs_controller and not release.apis[key].forwardable] == []


def test_routes_stand_under_their_own_keys():
    assert all(route.api_key == key for key, route in ROUTES.items())
