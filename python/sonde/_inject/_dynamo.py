"""What the hooks in a program ask of torch's compiler, Dynamo; nothing where torch has none."""

from typing import Any, Callable

# The module in which Dynamo takes over the evaluation of frames.
EVAL_FRAME = "torch._dynamo.eval_frame"


def compiling_test(torch: Any) -> Callable[[], bool]:
    """``torch.compiler.is_compiling``, which Dynamo takes for a constant."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def frame_evaluation(torch: Any) -> Callable[[Any], Any]:
    """Sets the compiler of this thread and returns the last one; nothing where torch has none."""
    found = torch._C
    for name in ("_dynamo", "eval_frame", "set_eval_frame"):
        found = getattr(found, name, None)
    return found if found is not None else lambda compiler: None
