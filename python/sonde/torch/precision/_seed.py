"""``seed_all()``: makes a program repeatable."""

import os
import random
from typing import Any

from sonde.torch.precision import _errors
from sonde.torch.precision._errors import ProbeError

_MAX_SEED = 4294967295


def seed_all(
    seed: int = 1234, mode: bool = False, rm_dropout: bool = False, is_enhanced: bool = False
) -> None:
    """Seeds Python, NumPy and torch. ``mode``: deterministic algorithms only; ``rm_dropout``:
    dropout drops nothing from now on; ``is_enhanced``: every random call yields the same values."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise _refuse("Seed must be integer.")
    if not 0 <= seed <= _MAX_SEED:
        raise _refuse(f"Seed must be between 0 and {_MAX_SEED}.")
    if not isinstance(mode, bool):
        raise _refuse("seed_all mode must be bool.")
    if not isinstance(rm_dropout, bool):
        raise _refuse("The rm_dropout parameter must be bool.")
    if not isinstance(is_enhanced, bool):
        raise _refuse("the is_enhanced must be bool.")
    import torch

    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    try:
        import numpy
    except ImportError:
        pass  # nothing of it to seed
    else:
        numpy.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(mode)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    _seed_npu(torch, seed)
    if rm_dropout:
        _remove_dropout(torch)
    if is_enhanced:
        _repeat_random_calls(torch)


def _refuse(text: str) -> ProbeError:
    _errors.error(text)
    return ProbeError(ProbeError.INVALID_PARAM, text)


def _seed_npu(torch: Any, seed: int) -> None:
    npu = getattr(torch, "npu", None)
    if npu is None or not npu.is_available():
        return
    npu.manual_seed_all(seed)
    os.environ.update(
        HCCL_DETERMINISTIC="True",
        LCCL_DETERMINISTIC="1",
        CLOSE_MATMUL_K_SHIFT="1",
        ATB_LLM_LCOC_ENABLE="0",
    )


def _remove_dropout(torch: Any) -> None:
    functional = torch.nn.functional

    # Those behind the functions, which a probe may have wrapped.
    def without(name: str, original: Any, in_place: Any) -> Any:
        def dropout(
            input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
        ) -> Any:  # noqa: A002: the framework's name
            return (in_place if inplace else original)(input, 0.0, training)

        dropout.__name__ = name
        return dropout

    plain = (torch._VF.dropout, torch._VF.dropout_)
    of_channels = (torch._VF.feature_dropout, torch._VF.feature_dropout_)
    functional.dropout = without("dropout", *plain)
    functional.dropout2d = without("dropout2d", *of_channels)
    functional.dropout3d = without("dropout3d", *of_channels)


_RANDOM_TORCH = """
    bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like
    randperm
""".split()
_RANDOM_TENSOR = """
    bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_
    uniform_
""".split()
_RANDOM_PYTHON = """
    betavariate choice choices expovariate gauss lognormvariate normalvariate paretovariate
    randint random randrange sample shuffle triangular uniform vonmisesvariate weibullvariate
""".split()


def _repeat_random_calls(torch: Any) -> None:
    python_state = random.getstate()
    torch_state = torch.get_rng_state()
    cuda_state = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None

    def restore() -> None:
        random.setstate(python_state)
        torch.set_rng_state(torch_state)
        if cuda_state is not None:
            torch.cuda.set_rng_state_all(cuda_state)

    def repeated(original: Any) -> Any:
        def function(*args: Any, **kwargs: Any) -> Any:
            restore()
            try:
                return original(*args, **kwargs)
            finally:
                restore()

        function.__name__ = getattr(original, "__name__", "random")
        return function

    for holder, names in (
        (torch, _RANDOM_TORCH),
        (torch.Tensor, _RANDOM_TENSOR),
        (random, _RANDOM_PYTHON),
    ):
        for name in names:
            if hasattr(holder, name):
                setattr(holder, name, repeated(getattr(holder, name)))
