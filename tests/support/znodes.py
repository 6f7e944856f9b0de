"""Znodes: what Kafka 3.9.1 wrote, other valid ones, and invalid ones."""

import copy
import json
from pathlib import Path

from hypothesis import strategies as st
from raised import raised

from falkirk.metadata.zookeeper.broker_znode import BrokerEndpoint, BrokerZnode
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.versions.supported_range import SupportedRange

KAFKA = json.loads((Path(__file__).parents[1] / "data/zookeeper/kafka_3_9_1.json").read_text("utf-8"))

LEVELS = st.lists(st.integers(1, 32767), min_size=2, max_size=2).map(sorted)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
FINALIZED = st.dictionaries(NAMES, LEVELS.map(lambda levels: FinalizedRange(*levels)), max_size=4)
SUPPORTED = st.dictionaries(NAMES, LEVELS.map(lambda levels: SupportedRange(*levels)), max_size=4)
STATES = st.builds(FeatureState, st.booleans(), FINALIZED)
ENDPOINTS = st.builds(
    BrokerEndpoint,
    st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True),
    st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
    st.sampled_from(["", "localhost", "::1", "10.0.0.1", "kafka-0.example"]),
    st.integers(0, 65535),
)
BROKERS = st.builds(
    BrokerZnode,
    st.lists(ENDPOINTS, min_size=1, max_size=3, unique_by=lambda point: point.listener).map(tuple),
    st.none() | st.text(st.characters(codec="utf-8"), max_size=5),
    st.integers(0, 1 << 62),
    st.none() | SUPPORTED,
)

_STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([32767, 32768, 65535, 65536, 2**31, -(2**31) - 1, 2**63, 10**400, 0.5, 1.0, 1e308]),
    st.sampled_from(["", "1", "-1", "\ud800", "A://h:1", "://:", "9" * 19, "٣", [], {}, [[]], {"": {}}, {"a": {}}]),
    st.text(max_size=3),
)


@st.composite
def damaged(draw, text: str):
    """A valid znode with one value replaced or left out, or the text itself damaged."""
    if draw(st.integers(0, 3)) == 0:
        data = text.encode()
        start = draw(st.integers(0, len(data)))
        return data[:start] + draw(st.binary(max_size=3)) + data[draw(st.integers(start, len(data))) :]
    document = copy.deepcopy(json.loads(text))
    places = list(_places(document))
    if not places:
        return json.dumps(draw(_STRANGE)).encode()
    container, key = draw(st.sampled_from(places))
    if draw(st.integers(0, 4)) == 0:
        del container[key]
    else:
        container[key] = draw(_STRANGE)
    return json.dumps(document).encode()


def hostile(*texts: str):
    """Any bytes, and damaged znodes of these kinds."""
    return st.one_of(st.binary(max_size=20), *(damaged(text) for text in texts))


def read_or_refused(read, path):
    """Return the parsed znode; None if it is refused, which must be one line that begins with the path."""
    found = []
    error = raised(ZnodeError, lambda: found.append(read()))
    if error is None:
        return found[0]
    assert str(error).startswith(f"znode {path}: ")
    assert len(str(error).splitlines()) == 1
    return None


def _places(document):
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in members:
        yield document, key
        if isinstance(value, (dict, list)):
            yield from _places(value)
