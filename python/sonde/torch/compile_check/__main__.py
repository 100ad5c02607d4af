"""``python -m sonde.torch.compile_check DIR``: what ``sonde probe compile_check`` starts.

Status 0 with a result, 3 where a value differs and ``--fail-if-differs`` is given, 1 with one line
where nothing could be checked.
"""

import argparse
import json
import os
import sys

from sonde.torch._import_torch import import_torch

_DIFFERS = 3
_SHOWN = 5


def _parse(words: "list[str]") -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sonde.torch.compile_check", allow_abbrev=False)
    parser.add_argument("folder")
    parser.add_argument("--out", required=True)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--fail-if-differs", action="store_true")
    return parser.parse_args(words)


def _run(options: argparse.Namespace) -> int:
    if not os.path.isdir(options.folder):
        raise ValueError(f"{options.folder} is no folder")
    out = os.path.abspath(options.out)
    # Kernels are compiled below our own folder: that of the user is only read.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(out, "cache")
    torch = import_torch()
    from sonde.torch.compile_check import _offline, _watch

    checking = _watch.start(out)
    outcome = _offline.check_all(torch, os.path.abspath(options.folder), checking.graphs)
    if outcome.graphs == 0:
        raise ValueError(
            f"{options.folder} holds no graph: give a cache folder of torch's compiler, or one of "
            "TORCH_COMPILE_DEBUG=1"
        )
    if outcome.checked == 0:
        reason, count = outcome.reasons.most_common(1)[0]
        raise ValueError(
            f"none of {outcome.graphs} graphs could be checked; {count} of them: {reason}"
        )
    checking.table.finish()
    if options.format == "json":
        print(json.dumps({"graphs": outcome.graphs, "checked": outcome.checked,
                          "reasons": outcome.reasons, **checking.table.counts()}))  # fmt: skip
    else:
        print(f"graphs      {outcome.graphs}, {outcome.checked} of them checked")
        for reason, count in outcome.reasons.most_common(_SHOWN):
            print(f"not checked {count}: {reason}")
        print("inputs      random, of the sizes and types that each graph was compiled for")
        print(f"kernels     {checking.table.sentence()}")
    differs = checking.table.counts()["differs"]
    if not options.fail_if_differs or not differs:
        return 0
    print(f"sonde: error: compile_check: {differs} values differ", file=sys.stderr)
    return _DIFFERS


def main(words: "list[str]") -> int:
    """The exit status."""
    try:
        return _run(_parse(words))
    except ValueError as problem:
        print(f"sonde: error: {problem}", file=sys.stderr)
        return 1
    except OSError as problem:
        print(f"sonde: error: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
