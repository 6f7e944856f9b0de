import pytest

from falkirk.cli.console.kafka_tool import kafka_tool
from falkirk.cli.features.description_view import FeatureDescription
from falkirk.cli.features.kip_584_description_view import Kip584Description
from falkirk.client.feature_metadata import FeatureMetadata, SupportedVersionRange
from falkirk.client.node_versions import FinalizedVersionRange

FEATURES = FeatureMetadata(
    supported_features={"metadata.version": SupportedVersionRange(7, 30), "b": SupportedVersionRange(1, 2)},
    finalized_features={"metadata.version": FinalizedVersionRange(29, 29), "a": FinalizedVersionRange(2, 3)},
    finalized_features_epoch=0,
)


def test_what_is_supported_and_what_is_finalized_has_a_line_though_the_other_is_missing():
    assert [line.split()[1::2] for line in Kip584Description(FEATURES).text()] == [
        ["a", "-", "-", "2", "3", "0"],
        ["b", "1", "2", "-", "-", "0"],
        ["metadata.version", "7", "30", "29", "29", "0"],
    ]


def test_the_spaces_between_cells_are_the_kips_however_long_the_cells_are():
    *_, line = Kip584Description(FEATURES).text()
    assert line == (
        "Feature: metadata.version  SupportedMinVersion: 7  SupportedMaxVersion: 30  FinalizedMinVersionLevel: 29     "
        "FinalizedMaxVersionLevel: 29     Epoch: 0"
    )


def test_a_document_has_null_for_what_is_missing():
    document = Kip584Description(FEATURES).document()
    assert document["epoch"] == 0
    assert document["features"][:2] == [
        {"feature": "a", "supported_min": None, "supported_max": None, "finalized_min": 2, "finalized_max": 3},
        {"feature": "b", "supported_min": 1, "supported_max": 2, "finalized_min": None, "finalized_max": None},
    ]


@pytest.mark.parametrize(("level", "name"), [(1, "2.7-IV0"), (27, "3.9-IV0"), (99, None), (None, None)])
def test_the_protocol_is_named_where_the_feature_decides_on_it(level, name):
    finalized = {} if level is None else {"ibp-feature": FinalizedVersionRange(1, level)}
    features = FeatureMetadata(supported_features={}, finalized_features=finalized, finalized_features_epoch=1)
    assert Kip584Description(features).document()["inter_broker_protocol"] == name
    kafka = FeatureDescription(kafka_tool(None), features)
    assert kafka.document()["inter_broker_protocol"] == name


def test_where_nothing_is_known_of_finalized_levels_the_epoch_is_a_dash():
    unknown = FeatureMetadata(
        supported_features={"b": SupportedVersionRange(1, 2)}, finalized_features={}, finalized_features_epoch=None
    )
    [line] = Kip584Description(unknown).text()
    assert line.endswith("FinalizedMaxVersionLevel: -     Epoch: -")
