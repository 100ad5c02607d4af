"""`sonde run --dump-config` on programs without an optimizer: the steps that a person sees."""

from test_whole_programs import RUN, steps_of

COMPILES = True

PARTS = """
class Part(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.proj = nn.Linear(4, width)
    def forward(self, x, more=0):
        return self.proj(x) + more
"""


def modules(names):
    return [name.removeprefix("Module.") for name in names if name.startswith("Module.")]


def test_an_encoder_and_then_tokens(run_program, tmp_path):
    """Its call belongs to the first token; each further token is a step, also of later texts."""
    run_program(
        RUN
        + PARTS
        + """
encoder, decoder = Part(), Part()
with torch.no_grad():
    for text in range(2):
        memory = encoder(torch.ones(1, 4))
        token = torch.zeros(1, 4)
        for _ in range(3):
            token = torch.softmax(decoder(token, memory), -1)
""",
        level="mix",
    )
    encoder, decoder = "proj.Linear.forward.0", "decoder.proj.Linear.forward.0"
    steps = [modules(names) for names in steps_of(tmp_path)]
    assert steps == [[encoder, decoder], [decoder], [decoder]] * 2


def test_a_part_of_a_model_and_then_the_model(run_program, tmp_path):
    """As generation of encoder-decoder models does."""
    run_program(
        RUN
        + PARTS
        + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Part(), Part()
    def forward(self, x, memory):
        return self.decoder(x, memory)
model = Model().eval()
with torch.inference_mode():
    for text in range(2):
        memory = model.encoder(torch.ones(1, 4))
        for _ in range(2):
            model(torch.zeros(1, 4), memory)
""",
        level="L0",
    )
    assert [len(modules(names)) for names in steps_of(tmp_path)] == [3, 2, 3, 2]


def test_a_model_and_its_criterion(run_program, tmp_path):
    for gradients in ("torch.no_grad()", "torch.enable_grad()"):
        run_program(
            RUN
            + f"""
import shutil
shutil.rmtree("dump", ignore_errors=True)
model, criterion = nn.Sequential(nn.Linear(4, 2), nn.ReLU()), nn.CrossEntropyLoss()
with {gradients}:
    for _ in range(3):
        criterion(model(torch.ones(2, 4)), torch.tensor([0, 1]))
"""
        )
        steps = steps_of(tmp_path)
        assert len(steps) == 3, gradients
        for names in steps:
            for function in ("linear", "relu", "cross_entropy"):
                assert names.count(f"Functional.{function}.0.forward") == 1, (gradients, names)


def test_one_model_is_called_again_and_again(run_program, tmp_path):
    run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4))
with torch.no_grad():
    for _ in range(4):
        model(torch.ones(2, 4))
"""
    )
    assert [len(names) for names in steps_of(tmp_path)] == [1] * 4


def test_a_call_that_raises_is_a_call(run_program, tmp_path):
    """Its exception reaches the program, and the step that it began ends."""
    done = run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
with torch.no_grad():
    for width in (4, 3, 4):
        try:
            model(torch.ones(2, width))
        except RuntimeError as problem:
            print("raised", "shapes" in str(problem))
""",
        level="L0",
    )
    assert done.stdout.split() == ["raised", "True"]
    whole = ["0.Linear.forward.0", "1.Linear.forward.0"]
    steps = [modules(names) for names in steps_of(tmp_path)]
    assert steps[0] == whole and steps[-1] == whole and len(steps) == 3


def test_inference_before_training_is_a_step_of_its_own(run_program, tmp_path):
    run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4))
with torch.no_grad():
    model(torch.ones(2, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
""",
        level="L0",
    )
    steps = steps_of(tmp_path)
    assert len(steps) == 3
    assert [any("parameters_grad" in name for name in names) for names in steps] == [
        False, True, True,
    ]  # fmt: skip


def test_tracing_works_and_is_no_step(run_program, tmp_path):
    done = run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
x = torch.ones(3, 4)
expected = model(x)
traced = torch.jit.trace(model, x, check_trace=False)
kinds = {node.kind() for node in traced.inlined_graph.nodes()}
print(torch.equal(traced(x), expected), any("Python" in kind or "Hook" in kind for kind in kinds))
model(x)
torch.jit.trace(model, x)  # whose check calls the model once more
""",
        level="mix",
    )
    assert done.stdout.split() == ["True", "False"]
    assert "Tracer" not in done.stderr and "Graph diff" not in done.stderr
    steps = [modules(names) for names in steps_of(tmp_path)]
    assert steps == [["0.Linear.forward.0", "1.ReLU.forward.0", "2.Linear.forward.0"]] * 3


MODES = """
from torch.overrides import TorchFunctionMode
class Seen(TorchFunctionMode):
    def __init__(self):
        self.names = []
    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))
model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2))
def use(step):
    for _ in range(2):
        with Seen() as outer, Seen() as inner:
            loss = model(torch.ones(3, 4)).relu_().sum()
            loss.backward()
            step()
        print(inner.names == outer.names, *inner.names)
"""


def test_modes_of_the_program_see_its_own_calls_alone(run_program):
    plain = run_program("import torch\nfrom torch import nn\n" + MODES + "use(lambda: None)\n")
    for level, task in (("mix", "statistics"), ("L0", "tensor"), ("L1", "nan_check"),
                        ("L1", "nan_watch")):  # fmt: skip
        watched = run_program(RUN + MODES + "use(lambda: None)\n", level=level, task=task)
        assert watched.stdout == plain.stdout, (level, task)
    own = """
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
def step():
    debugger.stop()
    debugger.step()
    debugger.start(model=model)
debugger.start(model=model)
use(step)
"""
    watched = run_program("import torch\nfrom torch import nn\n" + MODES + own, level="mix")
    assert watched.stdout == plain.stdout


def test_a_compiled_part_is_reported(run_program):
    done = run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2))
model[1] = torch.compile(model[1], backend="eager")
with torch.no_grad():
    for _ in range(2):
        model(torch.ones(2, 4))
""",
        level="mix",
    )
    assert done.stderr.count("1 is compiled (torch.compile): its inside is recorded in part") == 1
    assert "Dynamo does not know" not in done.stderr  # of functions of ours
