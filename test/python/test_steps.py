"""Where the steps of programs are: each program notes what it does, and the hooks note where they
put begins and ends. What a person would draw stands beside it."""

import copy
import threading
from types import SimpleNamespace

import pytest
from sonde import _step_mark
from sonde._inject import _rounds, _steps

torch = pytest.importorskip("torch")


@pytest.fixture(name="drawn")
def make_drawn(monkeypatch):
    """drawn(program, **options): the steps, each a list of what happened inside; what happened
    outside of steps is apart."""
    undone = []
    hooked = torch.nn.modules.module
    before = copy.copy(hooked._global_forward_pre_hooks), copy.copy(hooked._global_forward_hooks)
    printed = []
    monkeypatch.setattr(_steps._report, "log", lambda text, error=False: printed.append(text))

    def drawn(program, **options):
        steps, outside, state = [], [], SimpleNamespace(open=None, rested=None)

        def begin():
            if state.open is None:
                state.open, state.rested = state.rested or [], None

        def rest():
            state.open, state.rested = None, state.open

        def end():
            steps.append(state.open if state.rested is None else state.rested)
            state.open = state.rested = None

        def pause():
            outside.extend(state.open or [])
            state.open = None

        def note(what):
            (outside if state.open is None else state.open).append(what)

        hooks = _steps.StepHooks(torch, begin, end, pause=pause, rest=rest, **options)
        hooks.install()
        undone.extend([*hooks._seams, hooks._gradients])
        program(note)
        if state.rested is not None:
            end()
        drawn = ["".join(step or "") for step in steps]
        rest_of_it = "".join(state.open or "")
        return SimpleNamespace(
            steps=drawn, printed=printed, outside="".join(outside), rest=rest_of_it
        )

    yield drawn
    _step_mark.listen(None)
    for seam in reversed(undone):
        seam.undo()
    for now, then in zip((hooked._global_forward_pre_hooks, hooked._global_forward_hooks), before):
        now.clear()
        now.update(then)


def model():
    """Of a class of its own: the hooks change the class of the root."""
    return type("Model", (torch.nn.Sequential,), {})(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))


def sgd(module):
    """Of a class of its own: torch wraps its step when it is made first."""
    parameters = [module] if isinstance(module, torch.nn.Parameter) else module.parameters()
    return type("Mine", (torch.optim.SGD,), {})(parameters, lr=0.01)


def loss_of(module):
    return module(torch.ones(2, 4)).square().sum()


def gan(note):
    """Two updates of the discriminator for one of the generator."""
    generator, discriminator = model(), model()
    optimizer_g, optimizer_d = sgd(generator), sgd(discriminator)
    for _ in range(4):
        for _ in range(2):
            loss_of(discriminator).backward()
            optimizer_d.step()
            note("d")
        loss_of(generator).backward()
        note("g")
        optimizer_g.step()


def test_two_optimizers_of_a_gan(drawn):
    found = drawn(gan)
    assert found.steps == ["ddg"] * 4
    assert len(found.printed) == 1 and "different rates" in found.printed[0]


def test_two_optimizers_that_step_alike(drawn):
    def program(note):
        net = model()
        both = [sgd(part) for part in net]
        for _ in range(3):
            loss_of(net).backward()
            for optimizer in both:
                note("o")
                optimizer.step()

    found = drawn(program)
    assert found.steps == ["oo"] * 3 and not found.printed


@pytest.mark.parametrize("unused", [0, 1])
def test_an_optimizer_a_parameter_in_backward_hooks(drawn, unused):
    """One of the parameters may have no gradient."""

    def program(note):
        net = type("Deep", (torch.nn.Sequential,), {})(*[torch.nn.Linear(4, 4) for _ in range(8)])
        idle = [torch.nn.Parameter(torch.ones(1)) for _ in range(unused)]
        of = {parameter: sgd(parameter) for parameter in [*net.parameters(), *idle]}

        def update(parameter):
            note("u")
            of[parameter].step()

        for parameter in net.parameters():
            parameter.register_post_accumulate_grad_hook(update)
        for _ in range(4):
            net(torch.ones(2, 4)).sum().backward()

    found = drawn(program)
    assert not found.printed
    if not unused:
        assert found.steps == ["u" * 16] * 4
    else:  # only when a parameter steps again it turns out who is idle
        assert found.steps == ["u" * 17, "u" * 15, "u" * 16, "u" * 16]


def test_an_optimizer_that_is_never_used(drawn):
    def program(note):
        net = model()
        spare, optimizer = sgd(net), sgd(net)
        for i in range(9):
            loss_of(net).backward()
            note(str(i))
            optimizer.step()
        assert spare

    found = drawn(program)
    assert found.steps == ["012345", "6", "7", "8"] and len(found.printed) == 1


def test_accumulated_gradients(drawn):
    def program(note):
        net = model()
        optimizer = sgd(net)
        for i in range(8):
            loss_of(net).backward()
            note("b")
            if i % 4 == 3:
                optimizer.step()

    assert drawn(program).steps == ["bbbb"] * 2


def test_a_scaler_that_skips(drawn):
    def program(note):
        net = model()
        optimizer = sgd(net)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
        for i in range(4):
            optimizer.zero_grad()
            loss = loss_of(net) * (float("inf") if i == 1 else 1)
            scaler.scale(loss).backward()
            note(str(i))
            scaler.step(optimizer)
            scaler.update()

    assert drawn(program).steps == ["0", "1", "2", "3"]


def test_evaluation_between_epochs(drawn):
    """Also before the first epoch; nothing of it lies in a step, and numbers go on."""

    def program(note):
        net = model()
        optimizer = sgd(net)

        def evaluate():
            net.eval()
            with torch.no_grad():
                note("e")
                net(torch.ones(1, 4))
            net.train()

        evaluate()
        for _ in range(2):
            for _ in range(2):
                loss_of(net).backward()
                note("t")
                optimizer.step()
            evaluate()

    found = drawn(program)
    assert found.steps == ["t"] * 4 and found.outside == "eee"


def test_training_of_a_module_in_evaluation_mode(drawn):
    """As fine-tuning of loaded models, which nobody switches: steps are there."""

    def program(note):
        net = model().eval()
        optimizer = sgd(net)
        for _ in range(3):
            loss_of(net).backward()
            note("t")
            optimizer.step()
            net.eval()

    assert drawn(program).steps == ["t"] * 3


def test_training_without_torch_optim(drawn):
    def program(note):
        net = model()
        for _ in range(4):
            loss = loss_of(net)
            note("f")
            loss.backward()
            note("b")
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
            note("u")

    found = drawn(program)
    assert found.steps == ["fbu"] * 3 and found.rest == "fbu" and not found.printed


def test_inference_that_keeps_its_gradients(drawn):
    """Nobody asked for no_grad: only the first call waits for a backward that never comes."""

    def program(note):
        net = model()
        net[0].register_forward_hook(lambda *_: note("c"))
        for _ in range(4):
            net(torch.ones(1, 4))
            note("-")

    found = drawn(program)
    assert found.steps == ["c-", "c", "c", "c"] and found.outside == "---"


def test_the_program_marks_its_steps(drawn):
    def program(note):
        net = model()
        both = [sgd(net), sgd(net)]
        for i in range(3):
            for optimizer in both:
                loss_of(net).backward()
                note(str(i))
                optimizer.step()
                optimizer.step()
            _step_mark.step()

    found = drawn(program)
    assert found.steps[-2:] == ["11", "22"]


def test_scopes_are_the_steps(drawn):
    def program(note):
        net = model()
        optimizer = sgd(net)
        for i in range(3):
            with torch.profiler.record_function("iteration"):
                for _ in range(2):
                    loss_of(net).backward()
                    optimizer.step()
                note(str(i))
            note("-")

    found = drawn(program, mark="iteration")
    assert found.steps == ["0", "1", "2"] and found.outside == "---"


def test_a_first_call_that_raises(drawn):
    def program(note):
        net = model()
        with torch.no_grad():
            with pytest.raises(RuntimeError):
                net(torch.ones(1, 3))
            for _ in range(2):
                net(torch.ones(1, 4))

    assert len(drawn(program).steps) == 3


def test_calls_on_several_threads_are_parallel_steps():
    """Each call begins and ends one, on its own thread."""
    reported, lock = [], threading.Lock()

    def report(what):
        def call():
            with lock:
                reported.append((what, threading.get_ident()))

        return call

    hooks = _steps.StepHooks(torch, report("begin"), report("end"), begin_beside=report("beside"))
    net = model().eval()
    hooks._hooks_classes = False  # nothing of it stays
    inside = threading.Barrier(3)

    def serve():
        hooks.calls._call(net, inside.wait, (60,), {})

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kinds = [what for what, _ in reported]
    assert sorted(kinds) == ["begin", "beside", "beside", "end", "end", "end"]
    for thread in {ident for _, ident in reported}:
        own = [what for what, ident in reported if ident == thread]
        assert own in (["begin", "end"], ["beside", "end"])


class Optimizer:
    """As far as rounds care."""


def rounds(pattern, names="abcdefghijkl"):
    """What each step of a pattern of optimizers meant: '.' goes on, 'E' ends, 'B' had ended."""
    optimizers = {name: Optimizer() for name in names}
    found = _rounds.Rounds()
    for name in sorted(set(pattern)):
        found.made(optimizers[name])
    signs = {_rounds.GOES_ON: ".", _rounds.ENDS: "E", _rounds.ENDED_BEFORE: "B"}
    return "".join(signs[found.stepped(optimizers[name])] for name in pattern), found.is_doubtful


@pytest.mark.parametrize(
    "pattern, meaning, doubtful",
    [
        ("aaa", "EEE", False),
        ("abab", ".E.E", False),
        ("aabaab", "..E..E", True),
        ("aaaaabaaaaab", ".....E.....E", True),
        ("abcabc", "..E..E", False),
        # Phases: first one alone, then the other.
        ("ab" + "a" * 8 + "b" * 7, ".E" + ".....E" + "EE" + ".....E" + "E", True),
    ],
)
def test_rounds(pattern, meaning, doubtful):
    assert rounds(pattern) == (meaning, doubtful)


def test_an_optimizer_that_is_gone_is_not_waited_for():
    found, kept = _rounds.Rounds(), Optimizer()
    lost = Optimizer()
    found.made(kept)
    found.made(lost)
    del lost
    assert found.stepped(kept) == _rounds.ENDS
