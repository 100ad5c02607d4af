"""Bad input ends in one clear line that names the file, or is skipped and counted."""

import json
import os

import pytest

TENSOR = {
    **{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0, "Min": 0.0},
    **{"Mean": 0.5, "Norm": 1.0, "requires_grad": False},
}


def call(**fields):
    return {"input_args": [{**TENSOR, **fields}], "input_kwargs": {}, "output": [dict(TENSOR)]}


def write_rank(folder, data=None, tree=None, **header):
    folder.mkdir(parents=True, exist_ok=True)
    data = {"Torch.mm.0.forward": call()} if data is None else data
    dump = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (folder / "dump.json").write_text(json.dumps({**dump, **header, "data": data}))
    tree = dict.fromkeys(data) if tree is None else tree
    (folder / "construct.json").write_text(json.dumps(tree))
    (folder / "stack.json").write_text("{}")
    return folder


@pytest.fixture(name="pair")
def make_pair(tmp_path):
    return write_rank(tmp_path / "target"), write_rank(tmp_path / "golden")


@pytest.fixture(name="fails")
def make_check(probe):
    """Runs a command that must fail with one line on stderr holding all `parts`."""

    def check(words, *parts):
        done = probe(*words, "-o", "out", good=False)
        assert done.returncode != 0, done.stdout
        assert done.stderr.count("\n") == 1, done.stderr
        for part in parts:
            assert part in done.stderr, done.stderr

    return check


def words(command, pair):
    return [command, "-tp", pair[0], "-gp", pair[1]]


BOTH = pytest.mark.parametrize("command", ("compare", "graph"))


@BOTH
def test_mixed_modes(command, pair, fails):
    write_rank(pair[1], task="tensor")
    fails(words(command, pair), "task", "statistics", "tensor")


@BOTH
def test_checksums_on_one_side_only(command, pair, fails):
    write_rank(pair[1], {"Torch.mm.0.forward": call(md5="0badcafe")})
    fails(words(command, pair), "checksum")


@BOTH
@pytest.mark.parametrize("name", ("dump.json", "construct.json", "stack.json"))
def test_truncated_json(command, name, pair, fails):
    path = pair[0] / name
    path.write_text('{"data": {"Torch.mm.0.forward": {"input_args": [{"type": "torch.T')
    fails(words(command, pair), str(path), "byte")


@BOTH
def test_cut_off_by_a_kill(command, tmp_path, probe):
    data = {f"Torch.mm.{i}.forward": call() for i in range(3)}
    pair = [write_rank(tmp_path / side, data) for side in ("target", "golden")]
    for name, missing in (("dump.json", 100), ("construct.json", 10)):
        content = (pair[0] / name).read_bytes()
        (pair[0] / name).write_bytes(content[:-missing])
    done = probe(*words(command, pair), "-o", "out")
    printed = (done.stdout + done.stderr).splitlines()
    for name in ("dump.json", "construct.json"):
        reported = [
            line for line in printed if f"{pair[0] / name} ends in the middle of an entry" in line
        ]
        assert len(reported) == 1 and reported[0].endswith("the 2 entries before are used")


@BOTH
@pytest.mark.parametrize("text", ("", "[]", "null", "\x00\x01", '"text"', "{"))
def test_no_dump_at_all(command, text, pair, fails):
    (pair[0] / "dump.json").write_text(text)
    fails(words(command, pair), str(pair[0] / "dump.json"))


@BOTH
def test_bare_nan_and_infinity_are_read(command, pair, probe):
    for side in pair:
        text = (side / "dump.json").read_text()
        text = text.replace('"Max": 1.0', '"Max": NaN').replace('"Min": 0.0', '"Min": -Infinity')
        (side / "dump.json").write_text(text)
    probe(*words(command, pair), "-o", "out")


def test_a_graph_needs_the_module_tree(pair, fails):
    (pair[0] / "construct.json").unlink()
    fails(["graph", "-tp", pair[0]], str(pair[0]), "level L0 or mix")
    (pair[0] / "construct.json").write_text("{}")
    fails(["graph", "-tp", pair[0]], str(pair[0]), "level L0 or mix")


@BOTH
def test_deep_nesting(command, pair, fails):
    deep = "[" * 10_000 + "]" * 10_000
    path = pair[0] / "dump.json"
    path.write_text(
        path.read_text().replace('"input_kwargs": {}', f'"input_kwargs": {{"a": {deep}}}')
    )
    fails(words(command, pair), str(path), "deep")


def test_a_module_tree_of_too_many_levels(pair, fails):
    names = [f"Module.m{i}.M.forward.0" for i in range(10_000)]
    tree = dict(zip(names, [None, *names]))
    write_rank(pair[0], tree=tree)
    fails(["graph", "-tp", pair[0]], str(pair[0]), "construct.json", "deeper than 1000")
    fails(words("graph", pair), str(pair[0]), "construct.json", "deeper than 1000")


@pytest.mark.parametrize("flag", ("-cm", "-am", "-dm", "-lm"))
@pytest.mark.parametrize(
    "text", ("a: [b", "- 1\n- 2", "\ttab: x", "a: &x [*x]", "[" * 10_000, "a: {b: {c: {d: e}}}")
)
def test_wrong_mapping_files(flag, text, pair, tmp_path, probe):
    """Refused by name, or, where nothing in it means anything, without effect; never a crash."""
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(text)
    write_rank(pair[0], framework="mindspore")
    done = probe(*words("compare", pair), flag, mapping, "-o", "out", good=False)
    assert done.returncode >= 0
    if done.returncode != 0:
        assert done.stderr.count("\n") == 1
        assert "mapping.yaml" in done.stderr


@pytest.mark.parametrize("flag", ("-cm", "-am", "-dm", "-lm", "--config"))
def test_missing_mapping_file(flag, pair, fails):
    write_rank(pair[0], framework="mindspore")
    fails([*words("compare", pair), flag, "nowhere.yaml"], "nowhere.yaml")


@BOTH
def test_paths_that_do_not_fit(command, pair, fails, tmp_path):
    fails(words(command, (tmp_path / "nowhere", pair[1])), "nowhere")
    fails(words(command, (pair[0] / "dump.json", pair[1])))
    (tmp_path / "empty").mkdir()
    fails(words(command, (tmp_path / "empty", pair[1])), "empty")


@BOTH
def test_an_unwritable_folder(command, pair, probe, tmp_path):
    (tmp_path / "file").write_text("")
    done = probe(*words(command, pair), "-o", tmp_path / "file/out", good=False)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "file" in done.stderr


@BOTH
@pytest.mark.parametrize("name", ("../../secret.pt", "/etc/hostname", "a/../../secret.pt"))
def test_tensor_files_outside_the_dump_are_not_read(command, name, tmp_path, probe):
    pair = []
    for side in ("target", "golden"):
        folder = tmp_path / side
        write_rank(folder, {"Torch.mm.0.forward": call(data_name=name)}, task="tensor")
        (folder / "dump_tensor_data").mkdir()
        pair.append(folder)
    (tmp_path / "secret.pt").write_text("secret")
    done = probe(*words(command, pair), "-o", "out")
    assert "is no plain file name" in done.stdout + done.stderr


def test_tensor_files_that_are_none(tmp_path, probe):
    pair = []
    for side in ("target", "golden"):
        folder = tmp_path / side
        data = {f"Torch.mm.{i}.forward": call(data_name=f"Torch.mm.{i}.pt") for i in range(3)}
        write_rank(folder, data, task="tensor")
        (folder / "dump_tensor_data").mkdir()
        (folder / "dump_tensor_data/Torch.mm.1.pt").write_bytes(b"PK\x03\x04 no zip")
        os.mkfifo(folder / "dump_tensor_data/Torch.mm.2.pt")
        pair.append(folder)
    done = probe(*words("compare", pair), "-o", "out")
    assert "Torch.mm" in done.stdout + done.stderr
