"""No file of the folders of results that msProbe left is forgotten: each is compared by a test.

Tables are compared by src/precision/compare_golden_test.cc, which names their folders.
"""

import os
from fnmatch import fnmatchcase
from pathlib import Path

from test_graph_reference import COMPARED

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
TABLES = ROOT / "src" / "precision" / "compare_golden_test.cc"
CROSS = "precision_26_2/mindspore/cross_mix_statistics_statistics_b1/reference_result"
# File, and who compares it; a reason where nobody does.
OTHERS = {
    "precision_26_2/torch/overflow_mix_statistics/reference_result/*": "test_overflow_check, graph",
    f"{CROSS}/graph_lm/*.vis.db.gz": "test_graph_reference: test_across_frameworks",
    f"{CROSS}/lm/data_mapping_*.yaml": "not: the table of the same run has these pairs",
}


def test_each_file_is_compared():
    tables = TABLES.read_text(encoding="utf-8")
    graphs = [pattern for pattern, _, _ in COMPARED.values()]
    found = [
        path
        for folder in DATA.glob("precision*/**/*reference_result")
        for path in folder.rglob("*")
        # Whoever reads a database leaves the others beside it.
        if path.is_file() and not path.name.endswith((".db-shm", ".db-wal"))
    ]
    left = []
    for path in found:
        name = str(path.relative_to(DATA))
        is_table = path.suffix == ".csv" and f'"{path.parent.relative_to(DATA)}"' in tables
        if not is_table and not any(fnmatchcase(name, one) for one in [*graphs, *OTHERS]):
            left.append(name)
    assert not left
    needless = [one for one in [*graphs, *OTHERS] if found and not list(DATA.glob(one))]
    assert not needless
