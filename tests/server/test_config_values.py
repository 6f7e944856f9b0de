import pytest

from falkirk.server.config_values import read_node_properties
from falkirk.storage.errors import CorruptFileError
from falkirk.versions.configs.definition import ConfigError

PACKAGE = "org.apache.kafka.common.config.provider"
PROVIDERS = f"""config.providers=env,file,dir
config.providers.env.class={PACKAGE}.EnvVarConfigProvider
config.providers.file.class={PACKAGE}.FileConfigProvider
config.providers.dir.class={PACKAGE}.DirectoryConfigProvider
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read properties in which @ is a folder with secrets."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "x.properties").write_text("user=söme\\u0020body 世\npassword: p=1\n", "utf-8")
    (folder / "token").write_text("line one\nline two\n")
    (folder / "sub").mkdir()
    (tmp_path / "outside").write_text("no")
    monkeypatch.setenv("NODE_ID", "7")

    def read(text, **overrides):
        file = tmp_path / "server.properties"
        file.write_text((PROVIDERS + text).replace("@", str(folder)))
        found = read_node_properties(file, {key.replace("_", "."): value for key, value in overrides.items()})
        return {key: value for key, value in found.items() if not key.startswith("config.providers")}

    return read


def test_values_come_from_the_environment_from_files_and_from_directories(read):
    assert read(
        "node.id=${env:NODE_ID}\nuser=${file:@/x.properties:user}\np=${file:@/x.properties:password}\nt=${dir:@:token}\n"
    ) == {"node.id": "7", "user": "söme body 世", "p": "p=1", "t": "line one\nline two"}


def test_overrides_have_variables_too(read):
    assert read("a=b\n", a="${env:NODE_ID}", log_dirs="/d") == {"a": "7", "log.dirs": "/d"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a=${env:NOT_SET}", r"a: \$\{env:NOT_SET\} has no value"),
        ("a=${file:@/x.properties:none}", "a: .*:none} has no value"),
        ("a=${file:@/none:k}", "a: .*/none: No such file or directory"),
        ("a=${dir:@:none}", "a: .* has no value"),
        ("a=${dir:@:sub}", "a: .* has no value"),
        ("a=${dir:@:../outside}", "a: .* has no value"),
        (
            "config.providers.file.param.allowed.paths=@/sub\na=${file:@/sub/../x.properties:user}",
            "a: allowed.paths of file does not contain .*/secrets/x.properties",
        ),
        ("config.providers.dir.param.allowed.paths=sub\na=${dir:@:token}", "allowed.paths of dir: Path sub is not abs"),
        ("config.providers.dir.param.allowed.paths=@/n\na=${dir:@:token}", "allowed.paths of dir: Path .* does not ex"),
    ],
)
def test_a_variable_without_a_value_is_named_with_its_key(read, line, message):
    with pytest.raises(ConfigError, match=message):
        read(line)


def test_allowed_paths_allow_what_is_below_them(read):
    assert read("config.providers.dir.param.allowed.paths=@\na=${dir:@:token}")["a"]


def test_a_file_that_is_no_properties_file_is_named(read, tmp_path):
    with pytest.raises(CorruptFileError, match=r"server\.properties: malformed"):
        read("a=\\u12")
    (tmp_path / "secrets" / "bad").write_text("k=\\u1")
    with pytest.raises(ConfigError, match=r"a: .*bad: malformed"):
        read("a=${file:@/bad:k}")
