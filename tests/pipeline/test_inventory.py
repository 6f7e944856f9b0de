import json

import pytest
from made_clusters import MadeCluster

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.fleet import UNKNOWN_CLUSTER, ClusterTags
from falkirk.pipeline.inventory import find_fleet, only_clusters


def log_dir(folder, *, cluster="AAAAAAAAAAAAAAAAAAAAAA", node=1, metadata=False, version=1):
    folder.mkdir(parents=True)
    (folder / "meta.properties").write_text(f"version={version}\ncluster.id={cluster}\nnode.id={node}\n")
    if metadata:
        (folder / "__cluster_metadata-0").mkdir()
    return folder


def inventory(folder, text):
    file = folder / "fleet.yaml"
    file.write_text(text)
    return str(file)


def refused(*inputs, **options):
    with pytest.raises(InventoryError) as caught:
        find_fleet([str(each) for each in inputs], **options)
    return str(caught.value)


def test_directories_are_sorted_into_clusters_and_nodes(tmp_path):
    log_dir(tmp_path / "a" / "n1" / "d0", metadata=True)
    log_dir(tmp_path / "a" / "n1" / "d1")
    log_dir(tmp_path / "a" / "n2" / "d0", node=2, metadata=True)
    log_dir(tmp_path / "b", cluster="BBBBBBBBBBBBBBBBBBBBBB")
    fleet = find_fleet([str(tmp_path)])
    assert [(each.name, each.cluster_id) for each in fleet.clusters] == [
        ("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("BBBBBBBBBBBBBBBBBBBBBB", "BBBBBBBBBBBBBBBBBBBBBB"),
    ]
    nodes = fleet.clusters[0].nodes
    assert [(node.node_id, len(node.log_dirs)) for node in nodes] == [(1, 2), (2, 1)]
    assert [node.metadata_dir.location.path for node in nodes] == [
        str(tmp_path / "a" / "n1" / "d0"),
        str(tmp_path / "a" / "n2" / "d0"),
    ]
    assert fleet.clusters[1].nodes[0].metadata_dir is None


def test_a_pattern_stands_for_all_that_it_matches(tmp_path):
    log_dir(tmp_path / "prod-1")
    log_dir(tmp_path / "prod-2", cluster="BBBBBBBBBBBBBBBBBBBBBB")
    log_dir(tmp_path / "test-1", cluster="CCCCCCCCCCCCCCCCCCCCCC")
    fleet = find_fleet([str(tmp_path / "prod-*")])
    assert [each.name[0] for each in fleet.clusters] == ["A", "B"]


def test_clones_under_two_names_are_noted(tmp_path):
    for name in ("n1", "n2", "n3"):
        log_dir(tmp_path / name, cluster="BBBBBBBBBBBBBBBBBBBBBB" if name == "n3" else "AAAAAAAAAAAAAAAAAAAAAA")
    text = "".join(f"  - {{name: c-{name}, log_dirs: [{name}]}}\n" for name in ("n1", "n2", "n3"))
    fleet = find_fleet([inventory(tmp_path, f"clusters:\n{text}")])
    assert {name: [row["detail"] for row in rows] for name, rows in fleet.problems.items()} == {
        name: [f"{other} has the same cluster.id {'A' * 22}: copies, or one cluster under several names"]
        for name, other in (("c-n1", "c-n2"), ("c-n2", "c-n1"))
    }


@pytest.mark.parametrize("cluster_id", ["../../../evil", "..", ".hidden", "a b", "x" * 201])
def test_a_cluster_id_that_is_no_file_name_is_a_problem_unless_an_inventory_names_the_cluster(tmp_path, cluster_id):
    log_dir(tmp_path / "evil", cluster=cluster_id)
    log_dir(tmp_path / "good")
    with pytest.raises(InventoryError, match="no Kafka log directory here"):
        find_fleet([str(tmp_path / "evil")])
    fleet = find_fleet([str(tmp_path)])
    assert [cluster.name for cluster in fleet.clusters] == ["A" * 22]
    [problem] = fleet.problems[UNKNOWN_CLUSTER]
    assert problem["detail"].endswith(f"cluster.id {cluster_id!r} is no name; name the cluster in an inventory")
    named = find_fleet([inventory(tmp_path, "clusters:\n  - {name: c, log_dirs: [evil]}\n")])
    assert [(cluster.name, cluster.cluster_id) for cluster in named.clusters] == [("c", cluster_id)]


def test_what_a_change_in_place_leaves_is_no_log_directory(tmp_path):
    log_dir(tmp_path / "d0")
    log_dir(tmp_path / "d0.falkirk-backup")
    assert len(find_fleet([str(tmp_path)]).clusters[0].nodes[0].log_dirs) == 1


def test_an_inventory_names_clusters_nodes_and_request_logs(tmp_path):
    log_dir(tmp_path / "n1", metadata=True)
    log_dir(tmp_path / "more" / "n2", node=2)
    (tmp_path / "n1.log").write_text("")
    (tmp_path / "n1.properties").write_text("node.id=1\ncontroller.quorum.voters=1@h:9093\n")
    file = inventory(
        tmp_path,
        """
clusters:
  - name: orders
    as_of: 12
    team: payments
    region: eu-west-1
    nodes: [{id: 1, log_dirs: [n1], request_logs: ["*.log"], server_properties: n1.properties}]
    log_dirs: ["more/*"]
  - name: logs-only
    request_logs: [n1.log]
""",
    )
    orders, logs_only = find_fleet([file]).clusters
    assert (orders.name, orders.as_of, [node.node_id for node in orders.nodes]) == ("orders", 12, [1, 2])
    assert orders.tags == ClusterTags(team="payments", region="eu-west-1")
    assert orders.nodes[0].server_properties.get("controller.quorum.voters") == "1@h:9093"
    assert [(log.location.path, log.node_id) for log in orders.request_logs] == [(str(tmp_path / "n1.log"), 1)]
    assert (logs_only.cluster_id, logs_only.nodes, len(logs_only.request_logs)) == (None, (), 1)


def test_request_logs_of_the_command_line_belong_to_the_one_cluster(tmp_path):
    log_dir(tmp_path / "a")
    (tmp_path / "requests.log").write_text("")
    fleet = find_fleet([str(tmp_path / "a")], request_logs=[str(tmp_path / "requests.log")], as_of=7)
    assert (len(fleet.clusters[0].request_logs), fleet.clusters[0].as_of) == (1, 7)
    log_dir(tmp_path / "b", cluster="BBBBBBBBBBBBBBBBBBBBBB")
    message = refused(tmp_path, request_logs=[str(tmp_path / "requests.log")])
    assert message.startswith("--request-log is for one cluster, and here are AAAAAAAAAAAAAAAAAAAAAA, BBBB")


def test_a_directory_that_does_not_say_whose_it_is_is_a_problem_and_no_end(tmp_path):
    log_dir(tmp_path / "a")
    (log_dir(tmp_path / "b") / "meta.properties").write_text("version=1\nnode.id=x\n")
    log_dir(tmp_path / "c", version=0)
    fleet = find_fleet([str(tmp_path)])
    assert len(fleet.clusters) == 1
    problems = {row["source"].split("/")[-2]: row["detail"] for row in fleet.problems[UNKNOWN_CLUSTER]}
    assert list(problems) == ["b", "c"]
    assert "node.id" in problems["b"]
    assert "not a KRaft node's directory" in problems["c"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("clusters:\n  - nam: orders\n", "unknown field `nam`"),
        ("clusters:\n  - name: orders\n    nodes: [{id: one}]\n", "Expected `int | null`"),
        ("clusters: [", "fleet.yaml: "),
        ("cluster: []\n", "unknown field `cluster`"),
        ("clusters:\n  - name: a/b\n", "'a/b' is no name for a cluster"),
        ("clusters:\n  - name: a\n", "cluster a: the inventory names neither log_dirs nor request_logs"),
        ("clusters:\n  - {name: a, log_dirs: [n1]}\n  - {name: a, log_dirs: [n1]}\n", "two clusters are called a"),
        ("clusters:\n  - {name: a, log_dirs: [n1, n2]}\n", "belongs to cluster BBBBBBBBBBBBBBBBBBBBBB"),
        ("clusters:\n  - {name: a, log_dirs: [nowhere]}\n", "nowhere: no such file or directory"),
        ("clusters:\n  - {name: a, log_dirs: ['x*']}\n", "x*: matches nothing"),
        ("clusters:\n  - {name: a, nodes: [{id: 3, log_dirs: [n1]}]}\n", "is of node 1; the inventory has node 3"),
        ("clusters:\n  - {name: a, request_logs: [n1]}\n", "a directory, and no request log"),
    ],
)
def test_an_inventory_that_cannot_be_right_is_refused_in_one_sentence(tmp_path, text, part):
    log_dir(tmp_path / "n1")
    log_dir(tmp_path / "n2", cluster="BBBBBBBBBBBBBBBBBBBBBB")
    message = refused(inventory(tmp_path, text))
    assert part in message
    assert "\n" not in message


def test_inputs_that_hold_nothing_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("no log")
    assert refused(tmp_path / "empty").endswith(
        "empty: no Kafka log directory here, nor in a folder of it (none has a meta.properties)"
    )
    assert "file.txt: no Kafka log directory here" in refused(tmp_path / "file.txt")
    assert refused(tmp_path / "gone").endswith("gone: no such file or directory")
    assert refused(tmp_path / "no.yaml").endswith("no.yaml: No such file or directory")
    assert "ftp://host/x: " in refused("ftp://host/x")


def test_two_copies_of_one_node_are_refused(tmp_path):
    log_dir(tmp_path / "a", metadata=True)
    log_dir(tmp_path / "b", metadata=True)
    assert "node 1 has two metadata partitions" in refused(tmp_path)


def test_a_directory_with_a_link_that_leads_out_of_it_is_a_problem(tmp_path):
    linked = log_dir(tmp_path / "n1")
    (linked / "t-0").symlink_to(tmp_path)
    log_dir(tmp_path / "n2", node=2)
    fleet = find_fleet([str(tmp_path)])
    assert [node.node_id for node in fleet.clusters[0].nodes] == [2]
    [problem] = fleet.problems[UNKNOWN_CLUSTER]
    assert (problem["kind"], problem["source"]) == ("unreadable file", str(linked / "meta.properties"))
    assert problem["detail"] == f"{linked / 't-0'}: a symbolic link to {tmp_path}, outside of the log directory"


def test_a_small_file_that_is_large_is_a_problem(tmp_path):
    large = log_dir(tmp_path / "n1") / "meta.properties"
    large.write_bytes(b"#" * ((1 << 20) + 1))
    log_dir(tmp_path / "n2", node=2)
    [problem] = find_fleet([str(tmp_path)]).problems[UNKNOWN_CLUSTER]
    assert problem["detail"].startswith(f"{large}: longer than 1048576 bytes")


def test_clusters_are_chosen_by_names_and_patterns(tmp_path):
    for name in ("orders-eu", "orders-us", "billing"):
        MadeCluster(root=tmp_path / name).make()
    entries = [{"name": name, "log_dirs": [f"{name}/*"]} for name in ("orders-eu", "orders-us", "billing")]
    (tmp_path / "fleet.yaml").write_text(json.dumps({"clusters": entries}))
    fleet = find_fleet([str(tmp_path / "fleet.yaml")])

    def names(*patterns):
        return [cluster.name for cluster in only_clusters(fleet, patterns).clusters]

    assert names() == ["orders-eu", "orders-us", "billing"]
    assert names("orders-*") == ["orders-eu", "orders-us"]
    assert names("billing", "orders-eu") == ["orders-eu", "billing"]
    assert only_clusters(fleet, ["billing"]).problems.keys() == {"billing"}
    with pytest.raises(InventoryError, match=r"--clusters: no cluster of the inputs is called gone\*"):
        names("billing", "gone*")


def test_the_journal_of_a_watch_is_one_file_of_this_machine(tmp_path):
    (tmp_path / "watch.sqlite").touch()
    text = "clusters: [{name: prod, watch_journal: WHERE}]"
    [cluster] = find_fleet([inventory(tmp_path, text.replace("WHERE", "watch.sqlite"))]).clusters
    assert cluster.watch_journal.path == str(tmp_path / "watch.sqlite")
    assert cluster.cluster_id is None
    for where, reason in (("gone", "no such file"), (".", "is not one file of this machine")):
        assert reason in refused(inventory(tmp_path, text.replace("WHERE", where)))
