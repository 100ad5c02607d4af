"""``acc_check``: every call of a dump by itself."""

import argparse
import json
import os
import sys
import time
from typing import Any, Optional

from sonde._new_file import create_new, going_on
from sonde.torch.check import _entries, _measures, _numbers
from sonde.torch.check._calls import Outcome, Runner
from sonde.torch.check._measures import SKIP, SPACE, Row
from sonde.torch.check._tables import Tables
from sonde.torch.precision import _known_keys, _names

_SEED = 1234
_LEFT_OUT = ("Distributed", "MindSpeed")
_UNSUPPORTED = frozenset(
    "to empty empty_like empty_strided new_empty new_empty_strided empty_with_format".split()
)
_REPORT_EVERY_S = 10
_SHOWN = 300  # letters of torch's message on a call


class Lists:
    """White and black list of the configuration's block ``acc_check``."""

    def __init__(self, path: str) -> None:
        block: Any = {}
        if path:
            try:
                with open(path, encoding="utf-8") as file:
                    content = json.load(file)
            except (OSError, ValueError, RecursionError) as problem:
                raise ValueError(f"-config {path}: {problem}") from problem
            if not isinstance(content, dict):
                raise ValueError(f"-config {path}: the configuration must be an object")
            _known_keys.name_unknown_of_checks(content)
            block = content.get("acc_check") or {}
            if not isinstance(block, dict):
                raise ValueError(f"-config {path}: acc_check must be an object")
        self.white = _list(block, "white_list")
        self.black = frozenset(_list(block, "black_list")) | _UNSUPPORTED
        self.error_folder = block.get("error_data_path") or "./"
        if not isinstance(self.error_folder, str):
            raise ValueError(f"error_data_path must be a text, not {self.error_folder!r}")
        if not os.path.isdir(self.error_folder):
            raise ValueError(f"error_data_path: {self.error_folder} does not exist")

    def leave_out(self, function: str) -> bool:
        return function in self.black or bool(self.white and function not in self.white)


def _list(block: Any, key: str) -> "list[str]":
    names = block.get(key) or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{key} must be a list of names of functions")
    known = {name for names in _names.supported().values() for name in names}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"Invalid api in {key}: {unknown}; names are bare: matmul, softmax")
    return names


def check(
    torch: Any, device: Any, dump: _entries.Dump, lists: Lists, options: argparse.Namespace
) -> "dict[str, str]":
    """Writes the tables; gives their paths and the verdicts in words."""
    if not dump.forward:
        raise ValueError(
            f"{dump.path} has no calls of functions: give a dump of the levels L1 or mix"
        )
    tables = Tables(options.out, options.go_on_from)
    calls = _entries.without_repeats(dump.forward) if options.filter else dump.forward
    calls = {call: record for call, record in calls.items() if call not in tables.done}
    saver = _Saver(torch, lists.error_folder, tables.stamp) if options.save_error_data else None
    torch.manual_seed(_SEED)
    runner = Runner(torch, dump, device)
    begun = reported = time.monotonic()
    with open(tables.numbers, "a", encoding="utf-8", opener=going_on) as numbers:
        for count, call in enumerate(calls, start=1):
            for line in _Check(torch, runner, lists, tables, saver).one(call):
                numbers.write(line + "\n")
            if time.monotonic() - reported > _REPORT_EVERY_S:
                reported = time.monotonic()
                sys.stderr.write(
                    f"sonde: {count} of {len(calls)} calls, {reported - begun:.0f} s\n"
                )
    tables.close()
    return {
        **{"result": tables.result, "details": tables.details, "numbers": tables.numbers},
        "judgement": os.path.join(
            os.path.dirname(tables.result), f"sonde_acc_check_{tables.stamp}.csv"
        ),
        "device": str(device),
        "verdicts": _summary(tables.verdicts),
    }


def _summary(verdicts: "list[tuple[str, str]]") -> str:
    """``forward 12 pass, 1 error; backward 9 pass`` of what was checked now."""
    parts = []
    for place, direction in enumerate(_entries.DIRECTIONS):
        counts: dict[str, int] = {}
        for pair in verdicts:
            if pair[place] != SPACE:
                counts[pair[place]] = counts.get(pair[place], 0) + 1
        counted = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
        parts.append(f"{direction} {counted or 'none'}")
    return "; ".join(parts)


class _Check:
    def __init__(
        self, torch: Any, runner: Runner, lists: Lists, tables: Tables, saver: "Optional[_Saver]"
    ) -> None:
        self.torch, self.runner, self.lists, self.tables = torch, runner, lists, tables
        self.saver = saver

    def one(self, call: str) -> "list[str]":
        """Checks a call; gives the lines of its numbers."""
        kind, function = _entries.kind_and_function(call)
        if kind in _LEFT_OUT or not function:
            return self._skip(call, f"API {call} not support for acc_check. SKIP.")
        if self.lists.leave_out(function):
            return self._skip(call, f"API {function} in black list or not in white list. SKIP.")
        try:
            if not isinstance(self.runner.dump.forward[call], dict):
                raise ValueError("its entry in the dump is no record of a call")
            outcome = self.runner.run(call)
            self._record(call, function, outcome)
            return _numbers.lines(self.torch, call, outcome, self.runner.is_random(function))
        except Exception as problem:  # whatever torch or a broken record raises
            return self._skip(call, str(problem) or type(problem).__name__)

    def _skip(self, call: str, message: str) -> "list[str]":
        self.tables.add(call, (SKIP, SKIP), [Row(SKIP, message)], [])
        return [_numbers.not_run(call, message.partition("\n")[0][:_SHOWN])]

    def _record(self, call: str, function: str, outcome: Outcome) -> None:
        torch, wide, device = self.torch, outcome.wide, outcome.device
        is_dropout = "dropout" in call
        back: tuple[str, list[Row]] = (SPACE, [])
        forward: tuple[str, list[Row]]
        if is_dropout:
            forward = (_measures.compare_dropout(wide.output, device.output), [])
        else:
            forward = _measures.compare(torch, function, wide.output, device.output)
        if wide.gradients and device.gradients and is_dropout:
            back = (_measures.compare_dropout(wide.gradients[0], device.gradients[0]), [])
        elif wide.gradients and device.gradients:
            back = _measures.compare(torch, function, wide.gradients, device.gradients)
        if outcome.message:
            back = (SKIP, [Row(SKIP, outcome.message)])
        self.tables.add(call, (forward[0], back[0]), forward[1], back[1])
        is_good = forward[0] == _measures.PASS and back[0] in (_measures.PASS, SPACE)
        if self.saver is not None and not is_good:
            self.saver.save(call, outcome)


class _Saver:
    """Tensors of calls that did not pass, for a look at them: -save_error_data."""

    def __init__(self, torch: Any, folder: str, stamp: str) -> None:
        self.torch = torch
        self.folder = os.path.join(folder, f"ut_error_data{stamp}")
        os.makedirs(self.folder, exist_ok=True)

    def save(self, call: str, outcome: Outcome) -> None:
        self._write(f"{call}.forward.input", outcome.arguments)
        self._write(f"{call}.forward.output.bench", outcome.wide.output)
        self._write(f"{call}.forward.output.device", outcome.device.output)
        self._write(f"{call}.backward.input", outcome.gradient)
        self._write(f"{call}.backward.output.bench", outcome.wide.gradients)
        self._write(f"{call}.backward.output.device", outcome.device.gradients)

    def _write(self, name: str, value: Any) -> None:
        for number, item in enumerate(_leaves(value)):
            if isinstance(item, self.torch.Tensor):
                tensor = item.detach().cpu().contiguous().clone()
                path = os.path.join(self.folder, f"{name}.{number}.pt")
                with open(path, "wb", opener=create_new) as file:
                    self.torch.save(tensor, file)


def _leaves(value: Any) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]
