"""msProbe's two tables of a check: a row for each call, and one for each result and gradient.

Rows are written as calls end, so a check that is cut short goes on from what is there.
"""

import csv
import os
import re
import time
from typing import Any

from sonde._new_file import going_on
from sonde.torch.check._measures import SKIP, Row

RESULT_HEAD = ["API name", "Forward Test Success", "Backward Test Success", "Message"]
DETAILS_HEAD = [
    *("API Name", "Bench Dtype", "DEVICE Dtype", "Shape", "余弦相似度", "最大绝对误差"),
    *("双百指标", "双千指标", "双万指标", "二进制一致错误率", "误差均衡性", "均方根误差"),
    *("小值域错误占比", "相对误差最大值", "相对误差平均值", "inf/nan错误率", "相对误差错误率"),
    *("绝对误差错误率", "ULP误差最大值", "ULP误差平均值", "ULP误差大于阈值占比"),
    *("Status", "Message"),
]
_RESULT_NAME = re.compile(r"^accuracy_checking_result_(\d{14})\.csv$")
_DIGITS = 14


class Tables:
    """Both files, and the one of numbers beside them; ``go_on_from``: the result file to extend."""

    def __init__(self, folder: str, go_on_from: str = "") -> None:
        self.done: set[str] = set()
        self.verdicts: list[tuple[str, str]] = []
        if go_on_from:
            match = _RESULT_NAME.match(os.path.basename(go_on_from))
            if match is None:
                raise ValueError(
                    f"-csv_path {go_on_from}: give the accuracy_checking_result_<time>.csv that "
                    "was begun, under its name"
                )
            folder, stamp = os.path.dirname(go_on_from) or ".", match[1]
        else:
            stamp = time.strftime("%Y%m%d%H%M%S")
        self.stamp = stamp
        self.result = os.path.join(folder, f"accuracy_checking_result_{stamp}.csv")
        self.details = os.path.join(folder, f"accuracy_checking_details_{stamp}.csv")
        self.numbers = os.path.join(folder, f"accuracy_checking_numbers_{stamp}.jsonl")
        if go_on_from:
            self.done = _first_column(self.result)
        os.makedirs(folder, exist_ok=True)
        self._result = _Appending(self.result, RESULT_HEAD)
        self._details = _Appending(self.details, DETAILS_HEAD)

    def add(
        self, call: str, verdicts: "tuple[str, str]", forward: "list[Row]", backward: "list[Row]"
    ) -> None:
        """One call, whole."""
        self.verdicts.append(verdicts)
        line = [call, *verdicts]
        if verdicts[0] == SKIP:
            line.append(forward[0].message)
        elif verdicts[1] == SKIP:
            line.append(backward[0].message)
        details = []
        for direction, rows in (("forward", forward), ("backward", backward)):
            for number, row in enumerate(rows):
                name = f"{call}.{direction}.output.{number}"
                details.append([name, *map(as_text, row.cells())])
        self._details.add(details)
        self._result.add([line])

    def close(self) -> None:
        self._result.close()
        self._details.close()


class _Appending:
    def __init__(self, path: str, head: "list[str]") -> None:
        is_new = not os.path.exists(path)
        encoding = "utf-8-sig" if is_new else "utf-8"
        self._file = open(path, "a", encoding=encoding, newline="", opener=going_on)
        self._writer = csv.writer(self._file)
        if is_new:
            self.add([head])

    def add(self, rows: "list[list]") -> None:
        self._writer.writerows(rows)
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def as_text(value: Any) -> Any:
    """Double precision with the digits of the table; other types as they print."""
    return f"{value:.{_DIGITS}f}" if isinstance(value, float) else value


def _first_column(path: str) -> "set[str]":
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return {row[0] for row in csv.reader(file) if row} - {RESULT_HEAD[0]}
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise ValueError(f"-csv_path {path} cannot be read: {problem}") from problem
