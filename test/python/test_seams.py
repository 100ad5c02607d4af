"""Changes of hosts: found however a module is imported, all names or none, and no error of ours
reaches the host."""

import asyncio
import importlib
import importlib.util
import os
import runpy
import subprocess
import sys
import types
import zipfile

import pytest
from conftest import ROOT
from sonde._seams import APPLIED, FAILED, MISSING, WAITING, Part, Refusal, Seam, _sources, states

HOST = """
class Engine:
    def run(self, value):
        if value < 0:
            raise ValueError(value)
        return value + 1

    async def ask(self, value):
        return value * 2

    @staticmethod
    def make():
        return Engine()

def free():
    return "free"
"""
MAIN = HOST + "\nif __name__ == '__main__':\n    print('result', Engine().run(1), free())\n"


@pytest.fixture(name="host")
def make_host(tmp_path, monkeypatch):
    """Writes host modules that are found from now on; forgets them afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def write(name, text=HOST):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        made.append(name)
        return name

    yield write
    for name in made:
        sys.modules.pop(name, None)


class Seen:
    """A part that takes down what it sees."""

    def __init__(self):
        self.reported = []

    def run(self, engine, value, **_):
        self.reported.append(("before", value))
        result = yield
        self.reported.append(("after", result))

    def free(self):
        self.reported.append("free")

    def seam(self, module, **options):
        parts = (Part("Engine.run", self.run), Part("free", self.free))
        return Seam(f"runs of {module}", module, parts, **options)


@pytest.fixture(name="seen")
def make_seen():
    return Seen()


def use(module):
    return module.Engine().run(1), module.free()


SEEN = [("before", 1), ("after", 2), "free"]


def test_before_and_after_an_import(host, seen):
    seam = seen.seam(host("host_plain"))
    seam.install()
    assert seam.state == WAITING
    assert use(importlib.import_module("host_plain")) == (2, "free")
    assert (seam.state, seen.reported) == (APPLIED, SEEN)
    late = Seen()
    late.seam("host_plain").install()
    late_too = Seam("another", "host_plain", (Part("free", late.free),))
    late_too.install()
    use(sys.modules["host_plain"])
    assert late.reported[-1] == "free"


def test_whose_spec_was_asked_for_before(host, seen):
    seen.seam(host("host_asked")).install()
    assert importlib.util.find_spec("host_asked").origin.endswith("host_asked.py")
    use(importlib.import_module("host_asked"))
    assert seen.reported == SEEN


def test_whose_first_import_failed(host, seen, tmp_path):
    seam = seen.seam(host("host_failing", "raise RuntimeError('theirs')"))
    seam.install()
    with pytest.raises(RuntimeError, match="theirs"):
        importlib.import_module("host_failing")
    assert seam.state == WAITING
    (tmp_path / "host_failing.py").write_text(HOST + "# longer\n")
    importlib.invalidate_caches()
    use(importlib.import_module("host_failing"))
    assert seen.reported == SEEN


def test_of_a_lazy_loader(host, seen):
    """Whether the seam comes before or after the lazy module is made."""
    for name, comes_first in (("host_lazy", True), ("host_lazier", False)):
        seen.reported.clear()
        seam = seen.seam(host(name))
        if comes_first:
            seam.install()
        spec = importlib.util.find_spec(name)
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        if not comes_first:
            seam.install()
        assert seam.state == WAITING, "nobody has loaded it"
        assert use(module) == (2, "free")
        assert seen.reported == SEEN, name


def test_that_is_reloaded(host, seen):
    seen.seam(host("host_reloaded")).install()
    module = importlib.import_module("host_reloaded")
    for _ in range(2):
        importlib.reload(module)
        seen.reported.clear()
        use(module)
        assert seen.reported == SEEN


def test_of_a_zip_with_another_module(seen, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "hosts.zip", "w") as archive:
        archive.writestr("host_zipped.py", HOST)
        archive.writestr("host_beside.py", "value = 1\n")
    monkeypatch.syspath_prepend(tmp_path / "hosts.zip")
    seam = seen.seam("host_zipped")
    seam.install()
    importlib.import_module("host_beside")  # the same loader object
    assert seam.state == WAITING
    module = importlib.import_module("host_zipped")
    use(module)
    assert seen.reported == SEEN
    assert (
        type(module.__loader__).__name__ == type(module.__spec__.loader).__name__ == "zipimporter"
    )


def test_of_a_finder_in_front_of_ours(host, seen, monkeypatch):
    name = host("host_elsewhere")
    seam = seen.seam(name)
    seam.install()

    class Theirs:
        @staticmethod
        def find_spec(wanted, path=None, target=None):
            finder = importlib.machinery.PathFinder
            return finder.find_spec(wanted, path, target) if wanted == name else None

    monkeypatch.setattr(sys, "meta_path", [Theirs, *sys.meta_path])
    module = importlib.import_module(name)
    assert states()[seam.title] == APPLIED
    use(module)
    assert seen.reported == SEEN


PROGRAM = """
import sys
sys.path[:0] = [{root!r}, {folder!r}]
from sonde._seams import Part, Seam
def run(engine, value):
    result = yield
    print("after", result)
def free():
    print("free")
Seam("runs", "host_main", (Part("Engine.run", run), Part("free", free))).install()
"""


def test_that_runs_as_main(host, tmp_path):
    """``python -m host_main``, in a process of its own."""
    host("host_main", MAIN)
    (tmp_path / "sitecustomize.py").write_text(
        PROGRAM.format(root=str(ROOT / "python"), folder=str(tmp_path))
    )
    done = subprocess.run([sys.executable, "-m", "host_main"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True)  # fmt: skip
    assert done.stdout.splitlines() == ["after 2", "free", "result 2 free"], done.stderr
    assert done.stderr == ""


def test_lines_of_a_module_that_runs_as_main_stay(host):
    text = MAIN.replace("    print(", "    raise KeyError('line')\n    print(")
    name = host("host_lines", text)
    Seam("lines", name, (Part("free", lambda: None),)).install()
    with pytest.raises(KeyError) as caught:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    line = text.splitlines().index("    raise KeyError('line')")
    assert caught.traceback[-1].lineno == line


def test_all_names_or_none(host, seen, capsys):
    module = importlib.import_module(host("host_partly", HOST.replace("def free", "def freed")))
    before = vars(module)["Engine"].run
    seam = seen.seam("host_partly")
    seam.install()
    assert (seam.state, module.Engine.run) == (MISSING, before)
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "host_partly has no free" in error
    assert states()[seam.title] == "missing: host_partly has no free"


def test_a_failure_undoes_the_group(host, seen, capsys):
    module = importlib.import_module(host("host_undone"))
    before = dict(vars(module.Engine))

    def fail(_):
        raise LookupError("ours")

    parts = (
        Part("Engine.run", seen.run),
        Part("Engine.make", seen.free),
        Part("free", replace=fail),
    )
    seam = Seam("half", "host_undone", parts)
    seam.install()
    assert seam.state == FAILED and dict(vars(module.Engine)) == before
    assert capsys.readouterr().err.count("\n") == 1


def test_undo_leaves_nothing_behind(host, seen):
    module = importlib.import_module(
        host("host_restored", HOST + "class More(Engine):\n    pass\n")
    )
    before, more = dict(vars(module.Engine)), dict(vars(module.More))
    parts = (Part("Engine.make", seen.free), Part("More.run", seen.run), Part("free", seen.free))
    seam = Seam("restored", "host_restored", parts)
    seam.install()
    assert module.More().run(1) == 2 and "run" in vars(module.More)
    seam.undo()
    assert dict(vars(module.Engine)) == before and dict(vars(module.More)) == more


def raising(kind):
    def before(*_, **__):
        raise LookupError("ours")
        yield

    def after(*_, **__):
        yield
        raise LookupError("ours")

    def twice(*_, **__):
        yield
        yield

    return {"before": before, "after": after}.get(kind, twice)


@pytest.mark.parametrize("kind", ["before", "after"])
def test_our_errors_cost_one_line(host, kind, capsys):
    module = importlib.import_module(host(f"host_{kind}"))
    seam = Seam(f"wrong {kind}", module.__name__, (Part("Engine.run", raising(kind)),))
    seam.install()
    assert [module.Engine().run(value) for value in (1, 2, 3)] == [2, 3, 4]
    with pytest.raises(ValueError, match="-1"):
        module.Engine().run(-1)
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"wrong {kind} (LookupError: ours)" in error
    assert (seam.state, seam.is_on) == (FAILED, False)


def test_an_error_of_the_host_is_its_own(host):
    module = importlib.import_module(host("host_raising"))
    ended = []

    def run(*_):
        try:
            yield
        finally:
            ended.append(sys.exc_info()[0])

    seam = Seam("errors", "host_raising", (Part("Engine.run", run),))
    seam.install()
    with pytest.raises(ValueError) as caught:
        module.Engine().run(-1)
    assert ended == [GeneratorExit] and seam.is_on
    assert caught.value.__context__ is None
    assert caught.traceback[-1].name == "run"


def test_coroutines(host, capsys):
    module = importlib.import_module(host("host_awaited"))
    reported = []

    async def ask(_, value):
        reported.append(value)
        reported.append((yield))
        if value == 5:
            raise LookupError("ours")

    seam = Seam("questions", "host_awaited", (Part("Engine.ask", ask),))
    seam.install()
    assert [asyncio.run(module.Engine().ask(value)) for value in (4, 5, 6)] == [8, 10, 12]
    assert reported == [4, 8, 5, 10] and not seam.is_on
    assert capsys.readouterr().err.count("\n") == 1
    # What is no coroutine any more is not taken for one.
    changed = Seam("runs, awaited", "host_awaited", (Part("Engine.run", ask),))
    changed.install()
    assert changed.state == MISSING and module.Engine().run(1) == 2


def test_a_refusal_reaches_the_host(host):
    module = importlib.import_module(host("host_refused"))

    def refuse(*_):
        raise Refusal(OSError("what was asked for is impossible"))

    seam = Seam("refusals", "host_refused", (Part("Engine.run", refuse),))
    seam.install()
    with pytest.raises(OSError, match="impossible"):
        module.Engine().run(1)
    assert seam.is_on


def test_one_of_several_places(host, seen, capsys):
    host("host_old_place", "from host_new_place import *\n")
    host("host_new_place")
    seam = seen.seam(("host_nowhere", "host_old_place", "host_new_place"))
    seam.install()
    use(importlib.import_module("host_old_place"))
    assert (seam.state, seen.reported) == (APPLIED, SEEN), "once, though both have the names"
    assert capsys.readouterr().err == ""


def test_releases():
    seam = Seam("some", "host_none", (), since=(0, 12), until=(0, 13))
    assert [seam.fits(v) for v in ((0, 11, 2), (0, 12, 0), (0, 12, 9), (0, 13, 0))] == [
        False, True, True, False,
    ]  # fmt: skip


def test_names_in_sources(host, tmp_path):
    host("host_source", HOST + "from types import SimpleNamespace as Taken\n")
    there = Seam(
        "there", "host_source", [Part(p) for p in ("Engine.ask", "Engine.make", "Taken.x")]
    )
    gone = Seam("gone", ("host_no", "host_source"), [Part("Engine.rin"), Part("fre"),
                                                     Part("x", optional=True)])  # fmt: skip
    assert _sources.missing(there, str(tmp_path)) == []
    assert _sources.missing(gone, str(tmp_path)) == ["host_source.Engine.rin", "host_source.fre"]
    assert _sources.missing(Seam("no", "host_no", ()), str(tmp_path)) is None


def test_a_guarded_function_rests_once_it_failed(capsys):
    calls = []

    def listen(value):
        calls.append(value)
        raise LookupError("ours")

    seam = Seam("listening", "host_none", ())
    listen = seam.guarded(listen)
    assert [listen(1), listen(2)] == [None, None] and calls == [1]
    assert capsys.readouterr().err.count("\n") == 1


def test_where_errors_come_from(monkeypatch, capsys):
    monkeypatch.setenv("SONDE_DEBUG", "1")
    Seam("debugged", "host_none", ()).guarded(lambda: types.SimpleNamespace().nothing)()
    assert "Traceback" in capsys.readouterr().err
