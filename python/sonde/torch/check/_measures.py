"""How far results lie from those of a wider type, as msProbe's checker measures and judges.

The numbers are its own to the last of the 14 digits that its tables show, which fixes the order of
operations and the types they are done in (numpy's).
"""

from typing import Any

PASS, WARNING, ERROR, SKIP, SPACE = "pass", "warning", "error", "SKIP", " "
COLUMNS = (
    "bench_type npu_type shape cosine_sim max_abs_err rel_err_hundredth rel_err_thousandth "
    "rel_err_ten_thousandth error_rate eb rmse small_value_err_ratio max_rel_error mean_rel_error "
    "inf_nan_error_ratio rel_err_ratio abs_err_ratio max_ulp_error mean_ulp_error "
    "ulp_error_proportion"
).split()
# Whole numbers that may be one apart.
_QUANTISING = frozenset(
    {"npu_rms_norm_dynamic_quant", "npu_dynamic_quant", "npu_quant_lightning_indexer"}
)
_WHOLE = ("bool", "uint8", "int8", "int16", "uint16", "uint32", "int32", "int64", "uint64")
_COMPARABLE = ({"float16", "float32", "float64"}, {"bool", "uint8"}, {"int8", "int32", "int64"})
_BFLOAT16_EPS = 2.0**-8
# Below this a value counts as small, and may be so far off.
_SMALL = {"torch.float16": (2.0**-10, 1e-16), "torch.bfloat16": (2.0**-10, 1e-16)}
_SMALL_FLOAT32 = (2.0**-20, 2.0**-30)
_HALVES = ("torch.float16", "torch.bfloat16")


class Row:
    """One row of the table of details."""

    def __init__(self, status: str, message: str, **values: Any) -> None:
        self.values = dict.fromkeys(COLUMNS, SPACE)
        self.values.update(values)
        self.status = status
        self.message = message

    def cells(self) -> list:
        """In the order of the columns."""
        return [*self.values.values(), self.status, self.message]


def compare(torch: Any, function: str, wide: Any, device: Any) -> "tuple[str, list[Row]]":
    """The verdict of a call's results and a row for each."""
    if isinstance(wide, (list, tuple)):
        if len(wide) > len(device):
            return ERROR, [Row(ERROR, "bench and npu output structure is different.")]
        rows = [_one(torch, function, a, b) for a, b in zip(wide, device)]
    else:
        rows = [_one(torch, function, wide, device)]
    verdict = PASS
    for row in rows:
        if row.status in (ERROR, WARNING):
            verdict = row.status
    return verdict, rows


def compare_dropout(wide: Any, device: Any) -> str:
    """Of what is random only how much is zero."""
    count = wide.numel()
    if count < 100:
        return PASS
    apart = abs((wide == 0).sum() - (device == 0).cpu().sum()) / count
    return PASS if apart < 0.1 else ERROR


def _one(torch: Any, function: str, wide: Any, device: Any) -> Row:
    if not isinstance(wide, type(device)):
        return Row(ERROR, "bench and npu output type is different.")
    if isinstance(wide, dict):
        if set(wide) != set(device):
            return Row(ERROR, "bench and npu output dict keys are different.")
        return _one(torch, function, list(wide.values()), list(device.values()))
    if isinstance(wide, torch.Tensor):
        return _tensors(torch, function, wide.detach(), device.detach())
    if isinstance(wide, (bool, int, float, str)):
        types = {"bench_type": str(type(wide)), "npu_type": str(type(device))}
        return Row(ERROR, "", **types) if wide != device else Row(PASS, "", error_rate=0, **types)
    if wide is None:
        return Row(SKIP, "Bench output is None, skip this test.")
    return Row(ERROR, f"Unexpected output type in compare_core: {type(wide)}")


def _tensors(torch: Any, function: str, wide: Any, device: Any) -> Row:
    import numpy as np

    known = {
        "bench_type": str(wide.dtype),
        "npu_type": str(device.dtype),
        "shape": tuple(device.shape),
    }
    if device.dtype == torch.bfloat16:
        wide, device = wide.to(torch.float32), device.to(torch.float32)
    a, b = wide.cpu().numpy(), device.cpu().numpy()
    if wide.shape != device.shape:
        text = f"The shape of bench{wide.shape!s} and npu{device.shape!s} not equal."
        return Row(ERROR, text, **known)
    if not any(str(a.dtype) in kinds and str(b.dtype) in kinds for kinds in _COMPARABLE):
        text = f"Bench out dtype is {a.dtype} but npu output dtype is {b.dtype}, cannot compare."
        return Row(ERROR, text, **known)
    if a.size == 0:
        return Row(SKIP, "There is not bench calculation result.", **known)
    if str(a.dtype) in _WHOLE:
        return _whole_numbers(np, function, a, b, known)
    return _floats(np, a, b, known)


def _whole_numbers(np: Any, function: str, a: Any, b: Any, known: "dict[str, Any]") -> Row:
    if function in _QUANTISING:
        largest = np.abs(b - a).max()
        is_near = largest <= 1
        verdict = (
            "less than or equal to 1, consider as pass"
            if is_near
            else ("greater than 1, consider as error")
        )
        text = f"Quantization type: Max abs error is {largest:.2f}, {verdict}.\n"
        return Row(PASS if is_near else ERROR, text, **known, max_abs_err=largest)
    rate = float((a != b).sum() / a.size)
    text = f"Current {a.dtype} data, only perform binary comparison."
    return Row(PASS if rate == 0 else ERROR, text, **known, error_rate=rate)


def _floats(np: Any, a: Any, b: Any, known: "dict[str, Any]") -> Row:
    """``a``: the wider values, ``b``: the device's."""
    kind = known["npu_type"]
    with np.errstate(all="ignore"):
        eps = _BFLOAT16_EPS if kind == "torch.bfloat16" else np.finfo(a.dtype).eps
        relative_to = np.abs(a) + eps
        apart = np.abs(b - a)
        relative = np.abs(apart / relative_to)
        row = Row(PASS, "", **known)
        if kind == "torch.float64":
            row.message = f"The data type {kind} is not supported for new precision standard."
        else:
            row.values.update(_benchmark(np, a, b, apart, relative_to, kind))
        cosine, is_near, text = _cosine(np, a, b)
        row.values["cosine_sim"] = cosine
        row.message += text + "\n"
        if not is_near:
            row.status = ERROR
            row.message += (
                "Cosine similarity is less than 0.99, consider as error, "
                "skip other check and set to SPACE.\n"
            )
            return row
        return _judged(np, row, apart, relative, kind)


def _benchmark(
    np: Any, a: Any, b: Any, apart: Any, relative_to: Any, kind: str
) -> "dict[str, Any]":
    limit, may_differ = _SMALL.get(kind, _SMALL_FLOAT32)
    narrow = a.astype(b.dtype)
    finite = np.logical_and(np.isfinite(b), np.isfinite(narrow))
    not_finite = np.logical_not(finite)
    small = np.logical_and(np.less_equal(np.abs(a), limit), finite)
    left_out = np.logical_or(not_finite, small)
    count = np.sum(left_out)
    square = np.mean(np.square(np.where(left_out, 0, apart)))
    square = square * (apart.size / (apart.size - count + 0.0001) + 0.0001)
    relative = np.where(left_out, -1, apart / relative_to)
    judged = relative[relative >= 0]
    larger, smaller = np.sum(np.greater(b - narrow, 0)), np.sum(np.less(b - narrow, 0))
    small_count = np.sum(small)
    small_errors = np.sum(np.logical_and(small, np.greater(apart, may_differ)))
    return {
        "small_value_err_ratio": 0 if small_count == 0 else small_errors / small_count,
        "max_rel_error": np.max(relative) if np.max(relative) >= 0 else 0,
        "mean_rel_error": np.mean(judged) if judged.size > 0 else 0,
        "rmse": np.sqrt(square),
        "eb": abs(larger - smaller) / a.size,
    }


def _cosine(np: Any, a: Any, b: Any) -> "tuple[Any, bool, str]":
    a, b = a.reshape(-1), b.reshape(-1)
    if len(b) == 1:
        text = (
            "All the data in device dump data is scalar. Please refer to other compare algorithms."
        )
        return SPACE, True, text
    eps = np.finfo(float).eps
    largest_a, largest_b = np.max(np.abs(a)), np.max(np.abs(b))
    if largest_b <= eps and largest_a <= eps:
        return SPACE, True, "All the data in device and bench outputs are zero."
    if largest_b <= eps:
        return SPACE, False, "All the data is zero in device dump data."
    if largest_a <= eps:
        return SPACE, False, "All the data is zero in bench dump data."
    a, b = a.astype(float) / largest_a, b.astype(float) / largest_b
    cosine = np.dot(b, a) / (np.linalg.norm(b) * np.linalg.norm(a))
    if np.isnan(cosine):
        return np.nan, True, "Dump data has NaN when comparing with Cosine Similarity."
    cosine = np.clip(cosine, -1, 1)
    return cosine, bool(cosine > 0.99), ""


def _judged(np: Any, row: Row, apart: Any, relative: Any, kind: str) -> Row:
    """Goes through the limits; what is decided leaves the further ones blank."""

    def share(limit: float) -> "tuple[Any, bool]":
        part = np.divide(np.sum(relative < limit), np.size(relative))
        return part, bool(part > 1 - limit)

    def judged(status: str, text: str) -> Row:
        row.status = status
        row.message += text
        return row

    rest = ", skip other check and set to SPACE.\n"
    row.values["max_abs_err"] = apart.max()
    if apart.max() < 0.001:
        return judged(PASS, "Max abs error is less than 0.001, consider as pass" + rest)
    is_half = kind in _HALVES
    if is_half:
        row.values["rel_err_hundredth"], is_near = share(0.01)
        if not is_near:
            return judged(ERROR, "Relative error is greater than 0.01, consider as error" + rest)
    row.values["rel_err_thousandth"], is_near = share(0.001)
    if is_half and is_near:
        return judged(PASS, "Relative error is less than 0.001, consider as pass" + rest)
    if is_half:
        return judged(WARNING, "Relative error is greater than 0.001, consider as warning" + rest)
    row.values["rel_err_ten_thousandth"], is_nearer = share(0.0001)
    if not is_near:
        return judged(ERROR, "Relative error is greater than 0.001, consider as error" + rest)
    if not is_nearer:
        return judged(WARNING, "Relative error is greater than 0.0001, consider as warning" + rest)
    return judged(PASS, "Relative error is less than 0.0001, consider as pass.\n")
