"""What a user's files ask for and two dumps do not have is reported, and nothing else."""

import json

import pytest
from test_bad_input import call, words, write_rank

TREE = {
    "Module.net.Net.forward.0": None,
    "Module.net.mlp.Linear.forward.0": "Module.net.Net.forward.0",
}
FITS_NOT = " fits no name of the target dump"
LEADS_NOT = " gives names that the golden dump does not have"


@pytest.fixture(name="pair")
def make_pair(tmp_path):
    data = {name: call() for name in TREE}
    return [write_rank(tmp_path / side, data, TREE) for side in ("target", "golden")]


@pytest.mark.parametrize("command", ("compare", "graph"))
def test_lines_of_a_layer_mapping(command, pair, probe, tmp_path):
    (tmp_path / "lm.yaml").write_text(
        "TopLayer:\n  net: net\n  met: net\nNet:\n  mlp: ffn\nOther:\n  a: b\n"
    )
    printed = probe(*words(command, pair), "-lm", "lm.yaml", "-o", "out").stderr.splitlines()
    assert sorted(printed) == [
        f"sonde: lm.yaml: 'Net: mlp: ffn'{LEADS_NOT}",
        f"sonde: lm.yaml: 'Other: a: b'{FITS_NOT}",
        f"sonde: lm.yaml: 'TopLayer: met: net'{FITS_NOT}",
    ]


@pytest.mark.parametrize(
    ("option", "text", "printed"),
    (
        (
            "-cm",
            "net.mlp.Linear: net.ffn.Linear\nfc.Dense: x.y\nmlp: mlp\n",
            [f"'net.mlp.Linear: net.ffn.Linear'{LEADS_NOT}", f"'fc.Dense: x.y'{FITS_NOT}"],
        ),
        (
            "-dm",
            "a: b\nModule.net.mlp.Linear.forward.0.input.0: c\n"
            "Module.net.mlp.Linear.forward.0.output.0: N/A\n"
            "Module.net.Net.forward.0.output.0: Module.net.Net.forward.0.input.0\n",
            [f"'a: b'{FITS_NOT}", f"'Module.net.mlp.Linear.forward.0.input.0: c'{LEADS_NOT}"],
        ),
    ),
)
def test_lines_of_other_mappings(option, text, printed, pair, probe, tmp_path):
    (tmp_path / "m.yaml").write_text(text)
    if option == "-cm":  # the last line fits where none for the whole name did
        for folder in pair:
            data = {name: call() for name in (*TREE, "Module.net.mlp.ReLU.forward.0")}
            write_rank(folder, data)
    done = probe(*words("compare", pair), option, "m.yaml", "-o", "out")
    assert done.stderr.splitlines() == [f"sonde: m.yaml: {line}" for line in printed]


def test_many_lines_are_cut_short(pair, probe, tmp_path):
    (tmp_path / "m.yaml").write_text("".join(f"a{i}: b\n" for i in range(30)))
    printed = probe(*words("compare", pair), "-dm", "m.yaml", "-o", "out").stderr.splitlines()
    assert len(printed) == 9 and printed[-1] == "sonde: 22 more lines of mappings have no effect"


def test_a_line_that_one_rank_needs_has_an_effect(probe, tmp_path):
    """Stages of a pipeline have other layers."""
    for side in ("target", "golden"):
        for rank in range(2):
            data = {f"Module.layers.{rank}.Linear.forward.0": call()}
            write_rank(tmp_path / side / f"step0/rank{rank}", data)
    (tmp_path / "m.yaml").write_text("layers.0.Linear: layers.0.Linear\nlayers.1: layers.1\n")
    roots = (tmp_path / "target", tmp_path / "golden")
    assert probe(*words("compare", roots), "-cm", "m.yaml", "-o", "out").stderr == ""


def test_several_mappings_at_once(pair, probe, tmp_path):
    (tmp_path / "dm.yaml").write_text(
        "Module.net.Net.forward.0.output.0: Module.net.Net.forward.0.output.0\n"
    )
    done = probe(*words("compare", pair), "-lm", "-dm", "dm.yaml", "-o", "out")
    assert "note       -cm, -am and -dm have no effect with -lm" in done.stdout
    done = probe(*words("compare", pair), "-cm", "-dm", "dm.yaml", "-o", "out")
    assert "note       -cm and -am have no effect with -dm" in done.stdout
    done = probe(*words("compare", pair), "-cm", "-o", "out")
    assert "-cm without a file leads from cells to modules" in done.stdout


@pytest.fixture(name="with_input")
def make_with_input(pair, probe, tmp_path):
    """Runs `compare -i` with these keys beside those of both dumps."""

    def run(good=True, **keys):
        paths = {"npu_path": f"{pair[0]}/dump.json", "bench_path": f"{pair[1]}/dump.json"}
        (tmp_path / "in.json").write_text(json.dumps({**paths, **keys}))
        return probe("compare", "-i", "in.json", "-o", "out", good=good)

    return run


def test_keys_of_an_input_file(with_input):
    printed = with_input(stack_pth="x", common=1, is_print_compare_log=False).stderr.splitlines()
    assert sorted(printed, reverse=True) == [
        "sonde: in.json: 'stack_pth' is not known and has no effect; did you mean 'stack_path'?",
        "sonde: in.json: 'common' is not known and has no effect",
    ]
    done = with_input(good=False, npu_path="", npu_pth="x")
    assert "'npu_path' is missing; in.json: 'npu_pth' is not known" in done.stderr
    done = with_input(good=False, stack_path=3)
    assert "in.json: 'stack_path': must be a text" in done.stderr


def test_a_stack_file_that_is_named_must_fit(with_input, tmp_path):
    done = with_input(good=False, stack_path="stack.json")
    assert done.stderr == "sonde: error: stack_path: there is no file stack.json\n"
    (tmp_path / "stack.json").write_text("{}")
    assert "stack.json has none of the calls of" in with_input(stack_path="stack.json").stdout
    (tmp_path / "stack.json").write_text(json.dumps({"Module.net.Net.forward.0": ["line"]}))
    assert "none of the calls" not in with_input(stack_path="stack.json").stdout


@pytest.mark.parametrize(
    ("expression", "text"),
    (
        ("foo(max_diff)", "metric gap, 'foo(max_diff)': Scalar Function with name foo does not"),
        ("nosuch", "metric gap, 'nosuch': Referenced column"),
        (")(", "metric gap, ')(': syntax error at or near"),
    ),
)
def test_a_metric_that_cannot_be(pair, probe, expression, text):
    done = probe(
        *words("compare", pair), "-o", "out", "--sql-metric", f"gap={expression}", good=False
    )
    assert done.returncode == 1 and done.stderr.startswith(f"sonde: error: {text}")
    assert done.stderr.count("\n") == 1 and "Catalog Error" not in done.stderr
