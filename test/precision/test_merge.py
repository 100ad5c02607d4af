"""`sonde probe merge`: tables of ranks side by side."""

import re
import zipfile

import pytest
from test_bad_input import call, words, write_rank


def cells(path, sheet):
    """Rows of texts of one sheet, by its name."""
    with zipfile.ZipFile(path) as book:
        names = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
        number = names.index(sheet) + 1
        xml = book.read(f"xl/worksheets/sheet{number}.xml").decode()
    rows = re.findall(r"<row.*?</row>", xml, re.S)
    return [re.findall(r"<(?:t|v)(?: [^>]*)?>([^<]*)</(?:t|v)>", row) for row in rows]


@pytest.fixture(name="results")
def compare_ranks(tmp_path, probe):
    """Results of three ranks: csv of 0 and 1, a workbook of 2."""
    out = tmp_path / "results"
    for rank in range(3):
        for side, maximum in (("target", 1.0 + rank), ("golden", 1.0)):
            data = {
                "Torch.mm.0.forward": call(Max=maximum),
                "Torch.add.0.forward": {
                    "input_args": [None],
                    "input_kwargs": {"group": {"type": "str", "value": "tp"}},
                    "output": [],
                },
            }
            write_rank(tmp_path / f"{side}{rank}/step0/rank{rank}", data)
        pair = [tmp_path / f"{side}{rank}/step0" for side in ("target", "golden")]
        probe(*words("compare", pair), "-o", out, *(["--xlsx"] if rank == 2 else []))
    return out


def test_ranks_side_by_side(results, probe, tmp_path):
    (tmp_path / "calls.yaml").write_text("api: [Torch.mm.0.forward]\ncompare_index: [Max diff]\n")
    done = probe("merge", "-i", results, "-o", "merged", "-config", "calls.yaml")
    assert "2 parameters of 3 ranks" in done.stdout
    (path,) = (tmp_path / "merged").glob("multi_ranks_compare_merge_*.xlsx")
    assert cells(path, "Max diff") == [
        ["NPU Name", "rank0", "rank1", "rank2"],
        ["Torch.mm.0.forward.input.0", "0", "1", "2"],
        ["Torch.mm.0.forward.output.0", "0", "0", "0"],
    ]


def test_all_metrics_and_values_without_one(results, probe, tmp_path):
    (tmp_path / "calls.yaml").write_text("api: [Torch.add.0.forward]\ncompare_index: []\n")
    probe("merge", "-i", results, "-o", "merged", "-config", "calls.yaml")
    (path,) = (tmp_path / "merged").glob("*.xlsx")
    assert cells(path, "Requires_grad Consistent")[1][1:] == ["True"] * 3
    assert cells(path, "NormRelativeErr")[2][0] == "Torch.add.0.forward.input.group"


@pytest.mark.parametrize(
    ("config", "part"),
    (
        ("api: []", "names no call"),
        ("[]", "calls.yaml"),
        ("api: {a: b}", "list of texts"),
        ("api: [a]\ncompare_index: [Cosine]", "Cosine"),
    ),
)
def test_wrong_configurations(config, part, results, probe, tmp_path):
    (tmp_path / "calls.yaml").write_text(config)
    done = probe("merge", "-i", results, "-o", "merged", "-config", "calls.yaml", good=False)
    assert done.returncode != 0
    assert part in done.stderr


def test_settings_without_effect_are_reported(results, probe, tmp_path):
    text = "api: [Torch.mm.0.forward, Torch.mn.0.forward]\ncompare_idx: [Max diff]\n"
    (tmp_path / "calls.yaml").write_text(text)
    printed = probe("merge", "-i", results, "-o", "merged", "-config", "calls.yaml").stderr
    assert (
        "'compare_idx' is not known and has no effect; known are api and compare_index" in printed
    )
    assert "api 'Torch.mn.0.forward' is in none of the files" in printed
    assert "'Torch.mm.0.forward'" not in printed
    (tmp_path / "calls.yaml").write_text("apis: [Torch.mm.0.forward]\n")
    printed = probe("merge", "-i", results, "-o", "m", "-config", "calls.yaml", good=False).stderr
    assert "'api' names no call; " in printed and "'apis' is not known" in printed


def test_too_few_or_broken_files(results, probe, tmp_path):
    (tmp_path / "calls.yaml").write_text("api: [Torch.mm]\n")
    (tmp_path / "one").mkdir()
    done = probe("merge", "-i", "one", "-o", "merged", "-config", "calls.yaml", good=False)
    assert "holds 0 results" in done.stderr
    (workbook,) = results.glob("*.xlsx")
    workbook.write_bytes(workbook.read_bytes()[:2000])
    done = probe("merge", "-i", results, "-o", "merged", "-config", "calls.yaml", good=False)
    assert done.returncode != 0
    assert workbook.name in done.stderr
