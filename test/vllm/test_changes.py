"""What is changed in a server, with modules shaped like vLLM's; needs no vLLM.

Every part of every change fails once, before and after the server's own function: the server
computes the same, one line reports it, and everything else is recorded.
"""

import asyncio
import dataclasses
import gc
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import shaped
from sonde._seams import FAILED, _part
from sonde.torch.precision import _graph_complete
from sonde.vllm import _dump, _front_end, _marks, _server
from sonde.vllm._collections import Collections


def all_seams(begin=lambda number: None, end=lambda: None):
    seams = [*_server.seams(begin, end), *_dump.seams()]
    return [seam for seam in seams if seam.fits((0, 32, 0))]


def serve_changed(generation="0.11.1", seams=None, **options):
    with shaped.vllm(generation) as host:
        seams = seams if seams is not None else all_seams(**options)
        for seam in seams:
            seam.install()
        return shaped.serve(host), seams


def plain(generation="0.11.1"):
    with shaped.vllm(generation) as host:
        return shaped.serve(host)


def ranges(recorder):
    """Begins of ranges and moments, in order."""
    kinds = ("range_push", "sonde_range_start", "sonde_mark")
    return [reported[1] for reported in recorder.reported if reported[0] in kinds]


def test_a_request_is_recorded_and_served_the_same(recorder):
    steps = []
    result, seams = serve_changed(begin=steps.append, end=lambda: steps.append("end"))
    assert result == plain()
    lacks = [seam.title for seam in seams if seam.state != "applied"]
    assert lacks == ["profiler of a worker without a GPU"][: len(lacks)]
    assert steps == [0, "end", 1, "end", 2, "end"]
    reported = ranges(recorder)
    assert (
        reported.count("engine step")
        == reported.count("execute model")
        == reported.count("output")
        == 3
    )
    assert [name for name in reported if name in ("warm-up", "graph capture", "dummy batch")] == [
        "warm-up", "graph capture", "dummy batch",
    ]  # fmt: skip
    for once in ("request arrived", "request finished", "request ended"):
        assert reported.count(once) == 1, once
    # As it comes, and at the session's first batch, which it was there before.
    assert reported.count("request queued") == 2


@pytest.mark.parametrize("generation", ["0.9", "0.10", "0.11.1"])
def test_running_requests_of_every_release(recorder, generation):
    """Before 0.11.1 the batch does not record who has an output; in 0.9 a request has no
    arrival."""
    result, seams = serve_changed(generation)
    assert result == plain(generation)
    assert all(seam.is_on for seam in seams)
    flows = [reported[1] for reported in recorder.reported if reported[0] == "sonde_flow_in"]
    assert flows.count("sonde.prefill 3") == 1 and flows.count("sonde.decode 1") == 2
    counted = [
        (reported[1], reported[-1])
        for reported in recorder.reported
        if reported[0] == "sonde_counter"
    ]
    assert [value for name, value in counted if name == "decode requests"] == [0, 1, 1]


def test_nothing_is_reported_outside_a_recording(monkeypatch):
    monkeypatch.setattr(_marks, "recorder", lambda: None)
    result, seams = serve_changed()
    assert result == plain() and all(seam.is_on for seam in seams)


def test_an_output_that_is_not_as_expected(monkeypatch, capsys):
    """Though nothing is recorded: it is looked at to count steps."""
    monkeypatch.setattr(_marks, "recorder", lambda: None)
    with shaped.vllm() as host:
        host.Scheduler.schedule = lambda self: None
        for seam in all_seams():
            seam.install()
        assert host.Scheduler().schedule() is None
    assert capsys.readouterr().err.count("\n") == 1


def failing(part, kind):
    """The part, whose code raises before the host's function or after it."""
    around = part.around
    if kind == "before":

        def before(*_, **__):
            raise LookupError("injected")
            yield

        async def before_awaited(*_, **__):
            raise LookupError("injected")
            yield

        is_async = inspect.isasyncgenfunction(around)
        return dataclasses.replace(part, around=before_awaited if is_async else before)

    def after(*args, **kwargs):
        if inspect.isgeneratorfunction(around):
            yield from around(*args, **kwargs)
        else:
            around(*args, **kwargs)
            yield
        raise LookupError("injected")

    async def after_awaited(*args, **kwargs):
        running = around(*args, **kwargs)
        await running.__anext__()
        result = yield
        try:
            await running.asend(result)
        except StopAsyncIteration:
            pass
        raise LookupError("injected")

    return dataclasses.replace(
        part, around=after_awaited if inspect.isasyncgenfunction(around) else after
    )


CASES = [
    (seam.title, part.path, kind)
    for seam in all_seams() for part in seam.parts for kind in ("before", "after")
]  # fmt: skip
OF_OTHERS = {
    "EngineCoreProc._invoke_utility_method",
    "GPUModelRunner.pool",
    "OutputProcessor.propagate_error",
    "Scheduler._preempt_request",
    "LLMEngine.__del__",
}


@pytest.mark.parametrize(("title", "path", "kind"), CASES)
def test_a_part_that_fails_costs_one_line(recorder, title, path, kind, capsys, monkeypatch):
    expected, _ = serve_changed()
    assert expected == plain()
    everything = ranges(recorder)
    recorder.reported.clear()
    capsys.readouterr()
    seams = all_seams()
    (broken,) = [seam for seam in seams if seam.title == title]
    broken.parts = tuple(
        failing(part, kind) if part.path == path else part for part in broken.parts
    )
    result, _ = serve_changed(seams=seams)
    assert result == expected
    lines = capsys.readouterr().err.splitlines()
    if path in OF_OTHERS:
        return  # never called here: that it does no harm is all
    assert len(lines) == 1 and title in lines[0] and "injected" in lines[0]
    assert broken.state == FAILED
    assert [seam.title for seam in seams if not seam.is_on] == [title]
    # Of the rest nothing is lost: what is missing is of this change alone.
    own = {"engine steps": {"schedule", "engine step", "update", "request queued"},
           "requests in the engine": {"request queued", "request finished"},
           "requests and their outputs": {"request arrived", "request known", "output",
                                          "request ended"},
           "steps of the ranks": {"execute model", "sample tokens"},
           "runs on made-up input": {"warm-up", "graph capture", "dummy batch"},
           "batches for company": {"warm-up", "dummy batch"},
           "waiting of the ranks": {"idle"}}.get(title, set())  # fmt: skip
    rest = [name for name in everything if name not in own]
    assert [name for name in ranges(recorder) if name not in own] == rest


def test_the_one_mark():
    """Whatever is changed carries it, and names its change."""
    with shaped.vllm() as host:
        for seam in all_seams():
            seam.install()
        assert getattr(host.Scheduler.schedule, _part.MARK) == "engine steps"
        assert _part.is_changed(host.GPUModelRunner.execute_model, "dumps of engine steps")
        assert not _part.is_changed(shaped.GPUModelRunner.execute_model)


PLUG_IN = """
import sys
before = list(sys.meta_path)
from sonde import vllm
vllm.register()
print(sys.meta_path == before, "sonde._seams" in sys.modules, "torch" in sys.modules)
"""


@pytest.mark.parametrize(
    ("words", "watches"),
    [([], False), (["serve", "m"], False), (["serve", "--config", "no.yaml"], False),
     (["serve", "--additional-config", '{"dump_config": {}}'], True)],
)  # fmt: skip
def test_the_plug_in_without_its_switch_changes_nothing(words, watches):
    names = ("SONDE", "SONDE_ATTACH", "SONDE_DUMP_CONFIG", "SONDE_SERVER_DUMPS")
    environment = {name: text for name, text in os.environ.items() if name not in names}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "python")
    done = subprocess.run([sys.executable, "-c", PLUG_IN, *words], capture_output=True, text=True,
                          env=environment, check=True)  # fmt: skip
    assert done.stdout.split() == [str(not watches), str(watches), "False"]


def test_a_dump_of_a_compiled_model_says_what_is_missing(tmp_path, capsys, monkeypatch):
    watched = []

    def watch(config):
        watched.append(config.graph)
        return SimpleNamespace()

    monkeypatch.setattr(_graph_complete, "watch", watch)
    settings = {"task": "statistics", "level": "L0", "dump_path": str(tmp_path)}
    for more, is_eager, graph in (({}, True, None), ({}, False, "boundaries"),
                                  ({"graph": "complete"}, False, "complete"),
                                  ({"level": "L1"}, False, None)):  # fmt: skip
        watched.clear()
        additional = {"dump_config": {**settings, **more}}
        config = SimpleNamespace(
            additional_config=additional, model_config=SimpleNamespace(enforce_eager=is_eager),
            compilation_config=SimpleNamespace(mode=3),
            parallel_config=SimpleNamespace(world_size=1),
        )  # fmt: skip
        with shaped.vllm() as host:
            for seam in _dump.seams():
                seam.install()
            host.GPUModelRunner(config, "cpu")
        reported = capsys.readouterr().err
        assert reported.count("start the server with --enforce-eager") == ("level" in more)
        assert reported.count('"graph": "complete" in the configuration') == (graph == "boundaries")
        assert watched == ([] if "level" in more else [graph])


def test_graphs_with_statistics_are_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_DISABLE_COMPILE_CACHE", "")  # put back in the end
    del os.environ["VLLM_DISABLE_COMPILE_CACHE"]
    for more, value in (({}, None), ({"graph": "complete"}, "1")):
        content = {"level": "L0", "dump_path": str(tmp_path), **more}
        _dump._check_use(_dump.read_config({"dump_config": content}))
        assert os.environ.get("VLLM_DISABLE_COMPILE_CACHE") == value


def http(status, reported, method="POST"):
    """One call through our middleware; the server answers with this status."""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def send(message):
        reported.append(message["type"])

    scope = {"type": "http", "path": "/v1/completions", "method": method}
    asyncio.run(_front_end.RequestTimes(app)(scope, None, send))


def marks(recorder, name):
    return [reported[-1] for reported in recorder.reported if reported[:2] == ("sonde_mark", name)]


@pytest.mark.parametrize("status", [400, 404, 200])
def test_a_refused_request_is_one_that_ended(recorder, status):
    sent = []
    http(status, sent)
    assert sent == ["http.response.start", "http.response.body"]
    arrived, ended = marks(recorder, "request arrived"), marks(recorder, "request ended")
    if status == 200:  # of a route that asks no engine
        assert arrived == ended == []
        return
    assert len(arrived) == len(ended) == 1 and arrived[0]["key"] == ended[0]["key"]
    assert ended[0]["reason"] == f"refused: {status}"


def test_requests_whose_engine_died(recorder):
    processor = shaped.OutputProcessor()
    processor.request_states = {"a": None, "b": None}
    with shaped.vllm() as host:
        for seam in all_seams():
            seam.install()
        host.OutputProcessor.propagate_error(processor, OSError())
    ended = marks(recorder, "request ended")
    assert [reported["reason"] for reported in ended] == ["engine died"] * 2
    assert [reported["key"] for reported in ended] == [_marks.request_key(name) for name in "ab"]


def test_how_a_request_is_sampled(recorder):
    sampling = SimpleNamespace(max_tokens=5, temperature=0.5, top_p=1.0, top_k=0, n=1, seed=None)
    request = SimpleNamespace(request_id="a", prompt_token_ids=[1, 2], sampling_params=sampling,
                              lora_request=SimpleNamespace(lora_name="fine"))  # fmt: skip
    _front_end._record_arrival(recorder, request)
    (reported,) = marks(recorder, "request arrived")
    assert {**reported, "key": 0} == {
        "request": "a", "key": 0, "age_ns": 0, "prompt_tokens": 2, "max_tokens": 5,
        "temperature": 0.5, "top_p": 1.0, "top_k": 0, "n": 1, "lora": "fine",
    }  # fmt: skip


def test_drafted_tokens(recorder):
    """Three drafts of which two are accepted make three tokens; the other request has none."""

    class Scheduler:
        def update_from_output(self, scheduler_output, runner_output):
            outputs = [SimpleNamespace(request_id="a", new_token_ids=[1, 2, 3]),
                       SimpleNamespace(request_id="b", new_token_ids=[4])]  # fmt: skip
            return {0: SimpleNamespace(outputs=outputs)}

    output = SimpleNamespace(sonde_step=1, scheduled_spec_decode_tokens={"a": [7, 8, 9]})
    (seam,) = [seam for seam in all_seams() if seam.title == "engine steps"]
    seam.parts = seam.parts[1:]
    seam.apply(SimpleNamespace(__name__="shaped", Scheduler=Scheduler))
    Scheduler().update_from_output(output, None)
    flows = [reported[1] for reported in recorder.reported if reported[0] == "sonde_flow_in"]
    assert flows.index("sonde.drafted 3") < flows.index("sonde.output 3")
    counted = {
        reported[1]: reported[-1]
        for reported in recorder.reported
        if reported[0] == "sonde_counter"
    }
    assert counted == {"drafted tokens": 3, "accepted draft tokens": 2} and seam.is_on


@pytest.mark.parametrize("counts, reported", [([1, 2], []), ([8, 9], [7]), (None, [-1])])
def test_what_a_request_had_before_the_session(recorder, counts, reported):
    """Recorded once, at its first output in the session; -1 where the release does not know."""
    counts = iter(counts or [])
    detokenizer = SimpleNamespace()
    if reported != [-1]:
        detokenizer.num_output_tokens = lambda: next(counts)
    with shaped.vllm() as host:
        for seam in all_seams():
            seam.install()
        state = host.RequestState("a")
        state.detokenizer = detokenizer
        for _ in range(2):
            state.make_request_output([7], None, None, None)
    assert [mark["output_tokens"] for mark in marks(recorder, "request known")] == reported
    assert [call[1:2] for call in recorder.reported].count(("sonde.token 1",)) == 2


def test_full_collections_are_ranges(recorder):
    collections = Collections()
    collections.start()
    collections.start()
    gc.collect(0)
    gc.collect()
    collections.stop()
    gc.collect()
    calls = [call[:2] for call in recorder.reported if call[0].startswith("sonde_")]
    assert calls == [("sonde_range_start", "GC"), ("sonde_range_end", 1)]
