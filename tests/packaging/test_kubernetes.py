"""Kubernetes examples: what their files say of each other agrees, and what they give falkirk it takes. Not tried."""

import pytest
import yaml
from played_pages import ROOT

from falkirk.lift.lift_file import read_lift_file
from falkirk.node.config.server_properties import read_server_properties
from falkirk.storage.properties_file import parse_properties
from falkirk.versions.release import Release

FOLDER = ROOT / "packaging" / "kubernetes"


def objects(name):
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text())}


@pytest.mark.parametrize("name", ["serve.yaml", "lift.yaml"])
def test_pods_are_restricted_and_their_volumes_and_labels_are_there(name):
    found = objects(name)
    stateful_set = found["StatefulSet"]["spec"]
    pod = stateful_set["template"]
    labels = pod["metadata"]["labels"]
    selectors = (stateful_set["selector"]["matchLabels"], found["Service"]["spec"]["selector"])
    assert [*selectors, found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]] == [labels] * 3
    assert stateful_set["serviceName"] == found["Service"]["metadata"]["name"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    [container] = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    volumes = {each["name"] for each in pod["spec"]["volumes"]}
    volumes |= {each["metadata"]["name"] for each in stateful_set["volumeClaimTemplates"]}
    assert {each["name"] for each in container["volumeMounts"]} == volumes


def test_falkirk_takes_the_nodes_properties():
    text = objects("serve.yaml")["ConfigMap"]["data"]["server.properties"]
    given = text.replace("NODE_ID", "2").replace("HOST", "falkirk-1.falkirk").encode()
    properties = parse_properties(given, file="server.properties").as_dict()
    read = read_server_properties(properties, Release.parse("4.3"), hostname="falkirk-1")
    assert (read.config.node_id, read.warnings) == (2, ())


def test_falkirk_takes_the_lifts_file(tmp_path):
    file = tmp_path / "lift.yaml"
    file.write_text(objects("lift.yaml")["ConfigMap"]["data"]["lift.yaml"])
    assert read_lift_file(file).target == "3.9"


def test_examples_that_were_not_tried_say_so():
    assert all("Untried." in path.read_text() for path in FOLDER.glob("*.yaml"))
