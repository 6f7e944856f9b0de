"""Kubernetes examples: the API's schemas take them, and falkirk what they give it. They have not run on a cluster."""

import kubernetes_validate
import pytest
import yaml
from played_pages import ROOT

from falkirk.lift.lift_file import read_lift_file
from falkirk.node.config.server_properties import read_server_properties
from falkirk.storage.properties_file import parse_properties
from falkirk.versions.release import Release
from falkirk.watch.watch_file import read_watch_file

FOLDER = ROOT / "packaging" / "kubernetes"
FILES = ("lift.yaml", "serve.yaml", "watch.yaml")
# Of the API, the oldest that is still run and the newest.
VERSIONS = ("1.30", "1.37")


def objects(name):
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / name).read_text())}


def test_there_are_examples_for_a_lift_for_nodes_and_for_a_watch():
    assert tuple(sorted(path.name for path in FOLDER.glob("*.yaml"))) == FILES


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FILES)
def test_the_schemas_of_the_api_take_them_and_know_every_field(name, version):
    for each in yaml.safe_load_all((FOLDER / name).read_text()):
        kubernetes_validate.validate(each, version, strict=True)


def test_a_field_that_the_api_does_not_have_is_refused():
    wrong = objects("serve.yaml")["StatefulSet"]
    wrong["spec"]["replica"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.parametrize("name", FILES)
def test_pods_are_restricted_and_their_volumes_and_labels_are_there(name):
    found = objects(name)
    stateful_set = found["StatefulSet"]["spec"]
    pod = stateful_set["template"]
    labels = pod["metadata"]["labels"]
    selectors = [stateful_set["selector"]["matchLabels"], found["Service"]["spec"]["selector"]]
    if "PodDisruptionBudget" in found:
        selectors.append(found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"])
    assert all(selector == labels for selector in selectors)
    assert stateful_set["serviceName"] == found["Service"]["metadata"]["name"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"]
    [container] = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    config_maps = [each["configMap"]["name"] for each in pod["spec"]["volumes"] if "configMap" in each]
    assert config_maps == [found["ConfigMap"]["metadata"]["name"]]
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


def test_falkirk_takes_the_watchs_file(tmp_path):
    file = tmp_path / "watch.yaml"
    file.write_text(objects("watch.yaml")["ConfigMap"]["data"]["watch.yaml"])
    assert [each.name for each in read_watch_file(file).clusters] == ["prod"]


def test_the_page_of_the_examples_names_each_and_says_that_they_have_not_run():
    text = (FOLDER / "README.md").read_text()
    assert "have not run on a cluster" in text
    assert all(f"`{name}`" in text for name in FILES)
