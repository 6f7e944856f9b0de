"""Who may update features, and how the handler waits for the answer."""

import pytest
from feature_updates import a_controller
from node_views import context_of, view_of

from falkirk.node.handlers.parts.handler_result import AnswerLater
from falkirk.node.handlers.update_features import ROUTE
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey

ALTER, DESCRIBE = 7, 8
REQUEST = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1)])


class Started:
    """Stands for the updates under way."""

    def __init__(self):
        self.asked = []

    def start(self, request, api_version, answer):
        self.asked.append((request, api_version))
        answer("later")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_who_may_not_alter_the_cluster_is_refused(version):
    updates = Started()
    view = view_of(a_controller(), operations=[DESCRIBE], feature_updates=updates)
    answer = ROUTE.handler(view, context_of(REQUEST, version), REQUEST)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert updates.asked == []


def test_who_may_alter_the_cluster_is_answered_when_all_is_known():
    updates = Started()
    view = view_of(a_controller(), operations=[ALTER], feature_updates=updates)
    result = ROUTE.handler(view, context_of(REQUEST, 1), REQUEST)
    assert isinstance(result, AnswerLater)
    answers = []
    result.start(answers.append)
    assert answers == ["later"]
    assert updates.asked == [(REQUEST, 1)]


def test_only_the_active_controller_answers():
    assert ROUTE.needs_controller
