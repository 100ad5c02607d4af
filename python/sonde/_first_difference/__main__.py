"""``python -m sonde._first_difference``: what ``sonde probe first_difference`` starts.

Status 0 with a result, 3 where it differs and ``--fail-if-differs`` is given, 1 with one line where
there is no result.
"""

import argparse
import json
import os
import sys

from sonde._first_difference import _kernels, _verdict
from sonde._first_difference._runs import EAGER, INDUCTOR, Failed, Run, Runner

_DIFFERS = 3


def _parse(words: "list[str]") -> "tuple[argparse.Namespace, list[str]]":
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="sonde._first_difference", allow_abbrev=False)
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--backends", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--fail-if-differs", action="store_true")
    return parser.parse_args(words[:at]), words[at + 1 :]


def _backends(text: str) -> "list[str]":
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or not all(names) or len(set(names)) != len(names):
        raise Failed(
            f"--backends takes two different names or more, as eager,inductor, not '{text}'"
        )
    if EAGER in names[1:]:
        raise Failed("--backends: eager is a reference, it comes first")
    return names


def _prepare(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise Failed(f"{folder} holds files already; name a new folder with -o")
    except OSError as problem:
        raise Failed(f"{folder} cannot be made: {problem.strerror}") from None


def _reference(runner: Runner, backend: str) -> Run:
    """Runs it twice: what differs between two runs of the same is no work of a compiler."""
    first = runner.dump(backend, backend)
    if backend != EAGER:
        _check_compiled(first)
    again = runner.dump(f"{backend}_again", backend)
    compared = runner.compare(again, first)
    if compared["differs"]:
        raise Failed(
            f"two runs of the same program ({backend}) differ, so no compiler is to blame: "
            f"{compared['first']}; seed what is random (sonde.torch.seed_all)"
        )
    return first


def _targets(runner: Runner, names: "list[str]") -> "list[_verdict.Verdict]":
    golden = _reference(runner, names[0])
    found = []
    for name in names[1:]:
        target = runner.dump(name, name)
        _check_compiled(target)
        compared = runner.compare(target, golden)
        compiled = _kernels.Compiled()
        if name == INDUCTOR:
            compiled = _kernels.read(runner.check_kernels(f"{name}_kernels").folder)
        found.append(_verdict.conclude(golden.name, target.name, compared, compiled))
    return found


def _check_compiled(run: Run) -> None:
    if _kernels.graphs(run.folder) == 0:
        raise Failed(
            f"nothing was compiled in the run '{run.name}': the program does not call "
            "torch.compile, names a back end of its own, or each graph failed"
        )


def main(words: "list[str]") -> int:
    """The exit status."""
    options, command = _parse(words)
    try:
        names = _backends(options.backends)
        _prepare(options.out)
        found = _targets(Runner(options.sonde, command, options.out), names)
    except Failed as problem:
        print(f"sonde: error: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.format == "json":
        print(json.dumps([each.json() for each in found]))
    else:
        print("\n".join(_verdict.text_of(each) for each in found))
    differs = [each for each in found if each.differs]
    if not options.fail_if_differs or not differs:
        return 0
    print(f"sonde: error: first_difference: {differs[0].first}", file=sys.stderr)
    return _DIFFERS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
