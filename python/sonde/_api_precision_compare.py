"""``sonde probe api_precision_compare``: the details of acc_check on two devices.

The device under test is judged by how much further it lies from the wider type than the other
device does. Columns, limits and words are msProbe's; needs neither torch nor numpy. Started by the
command as ``python3 -m sonde._api_precision_compare``.
"""

import argparse
import csv
import json
import math
import os
import sys
import time
from typing import Optional

from sonde._new_file import create_new

PASS, ERROR, WARNING, SKIP, SPACE = "pass", "error", "warning", "SKIP", " "
NAME, DTYPE, SHAPE, MESSAGE = "API Name", "DEVICE Dtype", "Shape", "Message"
BALANCE, BINARY = "误差均衡性", "二进制一致错误率"
NOT_FINITE, RELATIVE, ABSOLUTE = "inf/nan错误率", "相对误差错误率", "绝对误差错误率"
ULP_MEAN, ULP_SHARE, THOUSANDTH = "ULP误差平均值", "ULP误差大于阈值占比", "双千指标"
# Column of the details, its ratio here, the verdict, the words of a verdict that is bad.
BENCHMARK = (
    ("小值域错误占比", "小值域错误比值", "小值域判定结果", "小值域错误比值"),
    ("均方根误差", "均方根误差比值", "均方根误差判定结果", "均方根误差比值"),
    ("相对误差最大值", "相对误差最大值比值", "相对误差最大值判定结果", "相对误差最大值比值"),
    ("相对误差平均值", "相对误差平均值比值", "相对误差平均值判定结果", "相对误差平均值比值"),
    (BALANCE, "误差均衡性比值", "误差均衡性判定结果", ""),
)
LIMITS = {
    # By how much the function matters: root mean square, largest and mean relative error.
    "L0": (2.0, 2.0, 10.0, 2.0, 2.0),
    "L1": (2.0, 1.5, 5.0, 1.5, 2.0),
    "L2": (2.0, 1.2, 2.0, 1.2, 2.0),
}
LEVEL_1 = frozenset(
    "embedding npu_fusion_attention_grad npu_fusion_attention scatter_ scatter_add_".split()
)
LEVEL_2 = frozenset(
    "addmm npu_cross_entropy_loss npu_cross_entropy_loss_backward GELU layer_norm matmul mm index "
    "one_hot sum npu_rms_norm npu_rms_norm_backward nonzero".split()
)
# An error of the other device below this counts as this.
LEAST = {"torch.float16": 2.0**-11, "torch.bfloat16": 2.0**-8}
LEAST_OTHER = 2.0**-14
DETAILS_HEAD = [
    *(NAME, *(cell for column in BENCHMARK for cell in column[1:3])),
    *(NOT_FINITE, "inf/nan判定结果", RELATIVE, "相对误差判定结果", ABSOLUTE, "绝对误差判定结果"),
    *(BINARY, "二进制一致错误率判定结果", ULP_MEAN, ULP_SHARE, "ULP误差大于阈值占比比值"),
    *("ULP误差判定结果", THOUSANDTH, "双千指标判定结果", "比对结果", "比对算法", MESSAGE),
]
RESULT_HEAD = [NAME, "Forward Test Success", "Backward Test Success", MESSAGE]
UNSUPPORTED = ("torch.float64", "torch.complex64", "torch.complex128")
UNSUPPORTED_TEXT = "This data type does not support benchmark compare."
TOPK_TEXT = (
    "在npu上，topk的入参sorted=False时不生效，会返回有序tensor，而cpu上会返回无序tensor。 "
    "如果topk精度不达标，请检查是否是该原因导致的。"
)
_FLOATS = ("torch.float16", "torch.bfloat16", "torch.float32")
_FLOAT8 = ("torch.float8_e4m3fn", "torch.float8_e5m2")
NEEDED = [NAME, DTYPE, *(column[0] for column in BENCHMARK), BINARY, NOT_FINITE, RELATIVE]
NEEDED += [ABSOLUTE, ULP_MEAN, ULP_SHARE, THOUSANDTH]


def read(path: str, option: str) -> "list[dict[str, str]]":
    """Rows of a table of details."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            # Strict: a quoted cell that does not end is no whole table.
            table = [row for row in csv.reader(file, strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise ValueError(f"{option} {path} cannot be read: {problem}") from problem
    columns = table[0] if table else []
    cut = next((row for row in table if len(row) != len(columns)), None)
    if cut is not None:
        raise ValueError(
            f"{option} {path} is cut or damaged: the row of {cut[0]!r} has {len(cut)} of "
            f"{len(columns)} cells"
        )
    rows = [dict(zip(columns, row)) for row in table[1:]]
    missing = [column for column in NEEDED if column not in columns or not rows]
    if missing:
        raise ValueError(
            f"{option} {path} lacks the columns {', '.join(missing)}; give an "
            "accuracy_checking_details_<time>.csv with rows"
        )
    return rows


def split_name(name: str) -> "Optional[tuple[str, str, str]]":
    """("matmul", "Torch.matmul.0", "forward") of "Torch.matmul.0.forward.output.0"."""
    parts = name.split(".")
    if len(parts) not in (6, 7):
        return None
    return ".".join(parts[1:-4]), ".".join(parts[:-3]), parts[-3]


def number(text: str) -> float:
    """A cell that must be one; blanks of a ratio count as 0."""
    if not text.strip():
        return 0.0
    try:
        return float(text)
    except ValueError:
        raise ValueError("ERROR: Input data cannot be converted to float") from None


def ratio(ours: float, theirs: float, column: str, dtype: str) -> "tuple[float, bool, str]":
    """How often ours holds theirs, whether both are finite or alike, words."""
    if math.isfinite(ours) and math.isfinite(theirs):
        return abs(ours) / max(abs(theirs), LEAST.get(dtype, LEAST_OTHER)), True, ""
    is_infinite = math.isinf(ours) or math.isinf(theirs)
    alike = ours == theirs if is_infinite else math.isnan(ours) and math.isnan(theirs)
    words = "同为同号inf或nan" if alike else "inf或nan不一致"
    return math.nan, alike, f"{column}{words}\n"


class Detail(dict):
    """One row of the details."""

    def __init__(self, name: str) -> None:
        super().__init__(dict.fromkeys(DETAILS_HEAD, SPACE))
        self[NAME] = name

    def skipped(self, message: str) -> str:
        self["比对结果"], self[MESSAGE] = SKIP, message
        return SKIP

    def judged(self, verdict: str, algorithm: str, message: str) -> str:
        self["比对结果"], self["比对算法"], self[MESSAGE] = verdict, algorithm, message
        return verdict


def benchmark(row: Detail, function: str, ours: dict, theirs: dict) -> str:
    """Floats: five errors against the other device's."""
    level = "L2" if function in LEVEL_2 else "L1" if function in LEVEL_1 else "L0"
    words, bad, verdicts = "", "", []
    for (column, ratio_column, verdict_column, name), limit in zip(BENCHMARK, LIMITS[level]):
        times, alike, message = ratio(
            number(ours[column]), number(theirs[column]), column, ours[DTYPE]
        )
        verdict = ERROR if not alike or times > limit else PASS
        row[ratio_column], row[verdict_column] = times, verdict
        words += message
        if name:
            verdicts.append(verdict)
            bad += f"ERROR: {name}超过阈值\n" if verdict == ERROR else ""
    return row.judged(ERROR if ERROR in verdicts else PASS, "标杆比对法", words + bad)


def binary(row: Detail, ours: dict) -> str:
    """Whole numbers and truth values must agree."""
    if not ours[BINARY].strip():
        raise ValueError("ERROR: Input data is an empty string")
    verdict = PASS if number(ours[BINARY]) == 0 else ERROR
    row[BINARY], row["二进制一致错误率判定结果"] = ours[BINARY], verdict
    words = "ERROR: 二进制一致错误率超过阈值\n" if verdict == ERROR else ""
    return row.judged(verdict, "二进制一致法", words)


def absolute(row: Detail, ours: dict) -> str:
    """Results of one-byte floats: nothing beyond the limits."""
    words, verdicts = "", []
    for column, verdict_column, name in (
        (NOT_FINITE, "inf/nan判定结果", "inf/nan错误率"),
        (RELATIVE, "相对误差判定结果", "相对误差错误率"),
        (ABSOLUTE, "绝对误差判定结果", "绝对误差错误率"),
    ):
        if not ours[column].strip():
            raise ValueError("ERROR: Input data is an empty string")
        row[column] = number(ours[column])
        row[verdict_column] = PASS if row[column] == 0 else ERROR
        verdicts.append(row[verdict_column])
        words += f"ERROR: {name}超过阈值" if row[verdict_column] == ERROR else ""
    return row.judged(ERROR if ERROR in verdicts else PASS, "绝对阈值法", words)


def ulp(row: Detail, ours: dict) -> str:
    """One-byte floats: few results more than a place apart."""
    row[ULP_SHARE] = number(ours[ULP_SHARE])
    verdict = PASS if row[ULP_SHARE] < 0.001 else ERROR
    row["ULP误差判定结果"] = verdict
    words = "ERROR: ULP误差不满足标准\n" if verdict == ERROR else ""
    return row.judged(verdict, "ULP误差比对法", words)


def judge(row: Detail, function: str, ours: dict, theirs: dict) -> str:
    """The verdict of one result."""
    dtype = ours[DTYPE]
    if not dtype.strip() or dtype in UNSUPPORTED or ours[SHAPE] == "(0,)":
        return row.skipped(ours[MESSAGE])
    if dtype in _FLOAT8:
        return ulp(row, ours)
    if ours[RELATIVE].strip():
        return absolute(row, ours)
    if dtype in _FLOATS:
        return benchmark(row, function, ours, theirs)
    return binary(row, ours)


class Calls:
    """The table of calls: a verdict for each direction."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self._call = ""
        self._function = ""
        self._dtype = ""
        self._verdicts: dict[str, list[str]] = {"forward": [], "backward": []}
        self._skipped = ""

    def add(self, call: str, function: str, direction: str, ours: dict, verdict: str) -> None:
        if self._call and call != self._call:
            self.end()
        self._call, self._function, self._dtype = call, function, ours[DTYPE]
        if ours[DTYPE] in UNSUPPORTED or direction not in self._verdicts:
            return
        self._verdicts[direction].append(verdict)
        if direction == "forward":
            self._skipped = ours[MESSAGE] if verdict == SKIP else ""

    def end(self) -> None:
        """The call is whole."""
        if not self._call:
            return
        if self._dtype in UNSUPPORTED:
            self.rows.append([self._call, SKIP, SKIP, UNSUPPORTED_TEXT])
        else:
            forward, backward = (self._of(self._verdicts[k]) for k in ("forward", "backward"))
            message = TOPK_TEXT if self._function == "topk" and forward == ERROR else ""
            message += self._skipped if forward == SKIP else ""
            self.rows.append([self._call, forward, backward, message])
            self._skipped = ""
        self._verdicts = {"forward": [], "backward": []}
        self._call = ""

    @staticmethod
    def _of(verdicts: "list[str]") -> str:
        if not verdicts:
            return SPACE
        if all(verdict == SKIP for verdict in verdicts):
            return SKIP
        return next((word for word in (ERROR, WARNING) if word in verdicts), PASS)


def compare(ours: "list[dict]", theirs: "list[dict]") -> "tuple[list, list, tuple[int, int]]":
    """Rows of calls, of details, and how many results the other device lacks, and this one."""
    by_name: dict[str, list[dict]] = {}
    for row in theirs:
        by_name.setdefault(row[NAME], []).append(row)
    calls, details, missing = Calls(), [], 0
    for row in ours:
        name = row[NAME]
        parts = split_name(name)
        detail = Detail(name)
        if parts is None:
            text = f"The API name {name} is invalid."
            detail.skipped(text)
            details.append(detail)
            calls.rows.append([name, SKIP, SKIP, text])
            continue
        others = by_name.get(name, [])
        if not others:
            missing += 1
            continue
        if len(others) > 1:
            raise ValueError(f"This API : {name} has multiple records in the GPU data.")
        try:
            verdict = judge(detail, parts[0], row, others[0])
        except ValueError as problem:
            detail.skipped(str(problem))
            details.append(detail)
            calls.rows.append([name, SKIP, SKIP, str(problem)])
            continue
        details.append(detail)
        calls.add(parts[1], parts[0], parts[2], row, verdict)
    calls.end()
    lacking = len(by_name.keys() - {row[NAME] for row in ours})
    return calls.rows, details, (missing, lacking)


def _write(path: str, rows: "list[list]") -> str:
    with open(path, "w", encoding="utf-8-sig", newline="", opener=create_new) as file:
        csv.writer(file).writerows(rows)
    return path


def _text(value: object) -> object:
    return f"{value:.14f}" if isinstance(value, float) else value


def main(words: "Optional[list[str]]" = None) -> int:
    """Exit status."""
    parser = argparse.ArgumentParser(prog="sonde._api_precision_compare")
    for name in ("npu", "gpu", "out"):
        parser.add_argument(name)
    parser.add_argument("--report", required=True)
    options = parser.parse_args(words)
    try:
        rows, details, missing = compare(read(options.npu, "-npu"), read(options.gpu, "-gpu"))
        if not rows:
            raise ValueError(
                f"-npu {options.npu} and -gpu {options.gpu} have no result in common: are they "
                "of one dump?"
            )
        os.makedirs(options.out, exist_ok=True)
        stem = os.path.join(
            options.out, "api_precision_compare_{}_" + time.strftime("%Y%m%d%H%M%S")
        )
        table = [[_text(row[column]) for column in DETAILS_HEAD] for row in details]
        report = {
            "result": _write(stem.format("result") + ".csv", [RESULT_HEAD, *rows]),
            "details": _write(stem.format("details") + ".csv", [DETAILS_HEAD, *table]),
            "verdicts": _summary(rows, missing),
        }
        with open(options.report, "w", encoding="utf-8", opener=create_new) as file:
            json.dump(report, file)
    except (ValueError, OSError) as problem:
        text = str(problem)
        if isinstance(problem, OSError) and problem.filename is not None:
            text = f"cannot use {problem.filename}: {problem.strerror}"
        sys.stderr.write(f"sonde: error: {text}\n")
        return 1
    return 0


def _summary(rows: "list[list]", missing: "tuple[int, int]") -> str:
    count = {word: 0 for word in (PASS, WARNING, ERROR, SKIP)}
    for row in rows:
        worst = next((word for word in (ERROR, WARNING, PASS) if word in row[1:3]), SKIP)
        count[worst] += 1
    counted = ", ".join(f"{number} {word}" for word, number in count.items() if number)
    lacking = "".join(
        f"; {results} results are not in the table of -{table}, and are not compared"
        for results, table in zip(missing, ("gpu", "npu"))
        if results
    )
    return f"{len(rows)}: {counted or 'none'}{lacking}"


if __name__ == "__main__":
    sys.exit(main())
