"""Modules shaped like a vLLM's, made in memory, and one request through all of them.

What a server calls of its own in the order in which it calls it: front-end, scheduler, worker,
runner. `generation` selects the form of a scheduler's output for requests that run already.
"""

import asyncio
import contextlib
import enum
import sys
import types
from types import SimpleNamespace

FinishReason = enum.Enum("FinishReason", "STOP LENGTH")

MODULES = (
    "vllm", "vllm.engine.arg_utils", "vllm.entrypoints.openai.api_server",
    "vllm.distributed.device_communicators.cpu_communicator",
    "vllm.distributed.device_communicators.shm_broadcast", "vllm.distributed.parallel_state",
    "vllm.model_executor.model_loader.base_loader", "vllm.v1.core.sched.scheduler",
    "vllm.v1.engine.async_llm", "vllm.v1.engine.core", "vllm.v1.engine.llm_engine",
    "vllm.v1.engine.output_processor", "vllm.v1.worker.gpu_model_runner",
    "vllm.v1.worker.gpu_worker",
)  # fmt: skip


class Request:
    def __init__(self, name, tokens):
        self.request_id = name
        self.prompt_token_ids = [1, 2, 3]
        self.num_prompt_tokens = 3
        self.num_output_tokens = 0
        self.tokens = tokens
        self.status = None

    def get_finished_reason(self):
        return self.status


def cached(requests, generation):
    """In the forms of releases since 0.11.1, 0.10 and 0.9."""
    names = [request.request_id for request in requests]
    computed = [3 + request.num_output_tokens for request in requests]
    if generation == "0.9":
        return [SimpleNamespace(req_id=name, num_computed_tokens=count)
                for name, count in zip(names, computed)]  # fmt: skip
    reported = SimpleNamespace(req_ids=names, num_computed_tokens=computed)
    if generation == "0.11.1":
        reported.num_output_tokens = [request.num_output_tokens for request in requests]
    return reported


def scheduler_of(generation):
    class Scheduler:
        def __init__(self):
            self.requests = {}
            self.running, self.waiting = [], []

        def add_request(self, request):
            self.requests[request.request_id] = request

        def _free_request(self, request):
            del self.requests[request.request_id]

        def schedule(self):
            new = [r for r in self.requests.values() if not r.num_output_tokens]
            old = [r for r in self.requests.values() if r.num_output_tokens]
            scheduled = {**{r.request_id: 3 for r in new}, **{r.request_id: 1 for r in old}}
            return SimpleNamespace(
                total_num_scheduled_tokens=sum(scheduled.values()),
                num_scheduled_tokens=scheduled, finished_req_ids=set(),
                scheduled_new_reqs=[SimpleNamespace(req_id=r.request_id, num_computed_tokens=0,
                                                    prompt_token_ids=r.prompt_token_ids)
                                    for r in new],
                scheduled_cached_reqs=cached(old, generation),
            )  # fmt: skip

        def update_from_output(self, scheduler_output, tokens):
            outputs = []
            for name in scheduler_output.num_scheduled_tokens:
                request = self.requests[name]
                request.num_output_tokens += 1
                outputs.append(SimpleNamespace(request_id=name, new_token_ids=[tokens]))
                if request.num_output_tokens == request.tokens:
                    request.status = FinishReason.LENGTH
                    self._free_request(request)
            return {0: SimpleNamespace(outputs=outputs)}

    return Scheduler


class GPUModelRunner:
    def __init__(self, vllm_config, device):
        self.runs = 0

    def execute_model(self, scheduler_output):
        self.runs += 1
        return None

    def sample_tokens(self):
        return 7 * self.runs

    def _dummy_run(self, num_tokens, is_graph_capturing=False):
        return num_tokens, is_graph_capturing


class Worker:
    def __init__(self, runner):
        self.model_runner = runner

    def execute_model(self, scheduler_output):
        return self.model_runner.execute_model(scheduler_output)

    def sample_tokens(self):
        return self.model_runner.sample_tokens()

    def execute_dummy_batch(self):
        return self.model_runner._dummy_run(1)


class EngineCore:
    def __init__(self):
        self.profiled = []

    def profile(self, is_start=True, profile_prefix=None):
        self.profiled.append(is_start)


class RequestState:
    def __init__(self, name):
        self.request_id = name

    def make_request_output(self, new_token_ids, pooling, finish_reason, stop_reason):
        return self.request_id, list(new_token_ids), finish_reason


class OutputProcessor:
    request_states: dict = {}

    def propagate_error(self, error):
        return None

    def add_request(self, request, prompt):
        state = sys.modules["vllm.v1.engine.output_processor"].RequestState
        return state(request.request_id)


class AsyncLLM:
    vllm_config = None

    def __init__(self, core):
        self.core = core

    async def start_profile(self):
        self.core.profile(True)
        return "started"

    async def stop_profile(self):
        self.core.profile(False)
        return "stopped"


class LLMEngine:
    def __init__(self, vllm_config):
        self.vllm_config = vllm_config
        self.profiled = []

    def start_profile(self):
        self.profiled.append(True)

    def stop_profile(self):
        self.profiled.append(False)


class MessageQueue:
    def dequeue(self, timeout=None):
        return "message"


class _CPUSHMDistributed:
    def __init__(self, communicator):
        self.communicator = communicator


class GroupCoordinator:
    def __init__(self, group_ranks, group_name):
        self.ranks, self.unique_name = group_ranks[0], f"{group_name}:0"
        self.device_group, self.cpu_group = object(), None


class EngineArgs:
    additional_config: dict = {}

    def create_engine_config(self):
        return "configuration"


class App:
    """As Starlette's."""

    def __init__(self):
        self.middleware_stack = None
        self.middlewares = []

    def add_middleware(self, middleware):
        self.middlewares.append(middleware)


class Host:
    """Whatever the modules have, as it is now."""

    def __init__(self, modules):
        self._modules = modules

    def __getattr__(self, name):
        return next(vars(m)[name] for m in self._modules.values() if name in vars(m))


@contextlib.contextmanager
def vllm(generation="0.11.1"):
    """The modules, with new classes, until the end."""
    modules = {}
    for name in MODULES:
        modules[name] = types.ModuleType(name)
    contents = {
        "vllm.engine.arg_utils": [EngineArgs],
        "vllm.distributed.device_communicators.cpu_communicator": [_CPUSHMDistributed],
        "vllm.distributed.device_communicators.shm_broadcast": [MessageQueue],
        "vllm.distributed.parallel_state": [GroupCoordinator],
        "vllm.v1.core.sched.scheduler": [scheduler_of(generation)],
        "vllm.v1.engine.async_llm": [AsyncLLM],
        "vllm.v1.engine.core": [EngineCore],
        "vllm.v1.engine.llm_engine": [LLMEngine],
        "vllm.v1.engine.output_processor": [OutputProcessor, RequestState],
        "vllm.v1.worker.gpu_model_runner": [GPUModelRunner],
        "vllm.v1.worker.gpu_worker": [Worker],
    }
    for name, classes in contents.items():
        for one in classes:  # copies: what a test changes is gone with it
            own = {k: v for k, v in vars(one).items() if k not in ("__dict__", "__weakref__")}
            copy = type(one.__name__, one.__bases__, own)
            setattr(modules[name], one.__name__, copy)
    modules["vllm.entrypoints.openai.api_server"].build_app = lambda args: App()
    loader = modules["vllm.model_executor.model_loader.base_loader"]
    loader.process_weights_after_loading = lambda model, config: model
    try:
        sys.modules.update(modules)
        yield Host(modules)
    finally:
        for name in MODULES:
            sys.modules.pop(name, None)


def serve(host, tokens=3):
    """One request; everything that came out."""
    reported = [host.EngineArgs().create_engine_config(), host._CPUSHMDistributed(SimpleNamespace(
        unique_name="tp", ranks=[0])).communicator.ranks]  # fmt: skip
    reported.append(host.GroupCoordinator([[0]], group_name="tp").unique_name)
    reported.append(type(host.build_app(None)).__name__)
    reported.append(host.process_weights_after_loading("model", None))
    runner = host.GPUModelRunner(SimpleNamespace(additional_config={}), "cpu")
    worker, scheduler, core = host.Worker(runner), host.Scheduler(), host.EngineCore()
    front_end, queue = host.AsyncLLM(core), host.MessageQueue()
    reported += [runner._dummy_run(2048), runner._dummy_run(8, is_graph_capturing=True)]
    reported.append(asyncio.run(front_end.start_profile()))
    request = Request("cmpl-1", tokens)
    state = host.OutputProcessor().add_request(request, "text")
    scheduler.add_request(request)
    while scheduler.requests:
        output = scheduler.schedule()
        reported.append(queue.dequeue(timeout=1))
        reported.append(worker.execute_model(scheduler_output=output))
        scheduler.update_from_output(output, worker.sample_tokens())
        reason = FinishReason.LENGTH if not scheduler.requests else None
        reported.append(state.make_request_output([7], None, reason, None))
    reported += [worker.execute_dummy_batch(), asyncio.run(front_end.stop_profile()), core.profiled]
    engine = host.LLMEngine(None)
    engine.start_profile()
    engine.stop_profile()
    return [*reported, engine.profiled, runner.runs]
