"""Dumps of Megatron-like models on many ranks, merged by the reference: run by a Python with it.

    make_parallel.py FOLDER    # FOLDER/<case>/{target,golden}/step0/rank<N>, <case>/{build,compare}

The cases are those of parallel_model.py.
"""

import argparse
import sys
from pathlib import Path

from make_pairs import apart

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "precision"))

from parallel_model import CASES, layout_words, write_side  # noqa: E402


def reference_graph(words):
    from msprobe.visualization.graph_service import _graph_service_command, _graph_service_parser

    parser = argparse.ArgumentParser()
    _graph_service_parser(parser)
    _graph_service_command(parser.parse_args(words))


def main():
    root = Path(sys.argv[1])
    import msprobe.visualization.graph_service  # noqa: F401

    for case, (target_layout, golden_layout) in CASES.items():
        folder = root / case
        write_side(folder / "target", target_layout)
        write_side(folder / "golden", golden_layout)
        target, golden = str(folder / "target" / "step0"), str(folder / "golden" / "step0")
        for out, words in (
            (folder / "build", ["-tp", target, *layout_words(target_layout)]),
            (
                folder / "compare",
                ["-tp", target, "-gp", golden, *layout_words(target_layout, golden_layout)],
            ),
        ):
            apart(lambda w=words, o=out: reference_graph([*w, "-o", str(o)]), out)


if __name__ == "__main__":
    main()
