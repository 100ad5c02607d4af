"""A training job of many ranks, one of them slow by a cause that is known: what it does and when.

A `Job` defines how the ranks are laid out (tensor, expert, pipeline, data parallel), how much they
differ anyway, and what is planted; a `Simulation` runs host, device and collectives of every rank.
`planted_ranks` writes them as Ascend's profiler would have recorded them.

How healthy ranks differ, all at the same time: each kernel by 2.5 % (log-normal, one in 300 up to
twice as long); each device by `device_spread` for good and by 0.3 % from step to step (with
memory); each step by 3 % for all (lengths of sequences); experts by 5 % of their tokens a layer;
hosts by their launches (exponential) and now and then by a pause of 0.3 % of a step; transfers by
3 %; clocks of hosts by up to 2 ms.

The strength of a cause is the time that it adds to a step, as a share of the own work of a healthy
rank. Uses nothing of Sonde.
"""

import math
import random
from dataclasses import dataclass, field

CAUSES = (
    "kernel", "frequency", "data loading", "garbage collection", "lock", "compilation",
    "host", "calls", "shapes", "copies", "link",
)  # fmt: skip
BEGIN_NS = 1_736_410_576_000_000_000
FIRST_STEP = 10
MHZ = 1800

# type: input shapes, core, us, whether the frequency of the cores decides how long it takes
KERNELS = {
    "LayerNorm": ('"2048,1,4096;4096;4096"', "AI_VECTOR_CORE", 18, False),
    "MatMulV2": ('"2048,4096;4096,3072"', "AI_CORE", 130, True),
    "FlashAttentionScore": ('"2048,1,1024;2048,1,1024;2048,1,1024"', "MIX_AIC", 110, True),
    "MatMulV3": ('"2048,1024;1024,4096"', "AI_CORE", 60, True),
    "Gelu": ('"2048,1,4096"', "AI_VECTOR_CORE", 16, False),
    "Add": ('"2048,1,4096;2048,1,4096"', "AI_VECTOR_CORE", 12, False),
    "GroupedMatmul": (None, "AI_CORE", 150, True),  # shapes by tokens
    "FlashAttentionScoreGrad": ('"2048,1,1024;2048,1,1024"', "MIX_AIC", 210, True),
    "LayerNormGrad": ('"2048,1,4096;4096"', "AI_VECTOR_CORE", 26, False),
    "ApplyAdamW": ('"16777216;16777216;16777216"', "AI_VECTOR_CORE", 140, False),
}
FORWARD = ["LayerNorm", "MatMulV2", "FlashAttentionScore", "MatMulV3", "Add", "Gelu"]
BACKWARD = ["Gelu", "MatMulV3", "FlashAttentionScoreGrad", "MatMulV2", "MatMulV2", "LayerNormGrad"]
TOKENS = 2048

HOST_SLICES = {
    "data loading": "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
    "garbage collection": "GC",
    "lock": "<built-in method acquire of _thread.lock object at 0x7f10>",
    "compilation": "torch/_inductor/compile_fx.py(505): compile_fx_inner",
    "host": None,  # nothing of it is recorded
}


@dataclass
class Job:
    tp: int = 1
    ep: int = 1  # within dp
    pp: int = 1
    dp: int = 1
    layers: int = 3
    steps: int = 4
    seed: int = 0
    cause: str = ""  # of CAUSES; "": none
    rank: int = 0  # the slow one
    strength: float = 0
    since: int = 0  # steps before that are healthy
    device_spread: float = 0.003
    has_frequency: bool = True

    @property
    def size(self):
        return self.tp * self.pp * self.dp


def place_of(job, rank):
    """(tensor, data, pipeline) place; tensor fastest, pipeline slowest."""
    return rank % job.tp, rank // job.tp % job.dp, rank // (job.tp * job.dp)


def groups_of(job):
    """name of kind -> lists of ranks."""
    ranks = range(job.size)
    by = {"tp": {}, "pp": {}, "dp": {}, "exp": {}}
    for rank in ranks:
        tensor, data, stage = place_of(job, rank)
        by["tp"].setdefault((data, stage), []).append(rank)
        by["pp"].setdefault((tensor, data), []).append(rank)
        by["dp"].setdefault((tensor, stage), []).append(rank)
        by["exp"].setdefault((tensor, data // job.ep, stage), []).append(rank)
    return {kind: list(found.values()) for kind, found in by.items()}


def double_hash(text):
    first = second = 0
    for char in text:
        first = (first * 29 + ord(char)) % 2**32
        second = (second * 131 + ord(char)) % 2**32
    return first * 2**32 + second


@dataclass
class Recorded:
    """What one rank leaves: times in nanoseconds of its own clock."""

    tasks: list = field(default_factory=list)  # name, shapes, core, begin, end, launch
    copies: list = field(default_factory=list)  # begin, end, launch
    collectives: list = field(default_factory=list)  # group, type, begin, end, transit, bytes, la.
    slices: list = field(default_factory=list)  # name, begin, end
    gcs: list = field(default_factory=list)
    steps: list = field(default_factory=list)  # number, begin, end


class Rank:
    def __init__(self, job, rank, own_us):
        self.job, self.rank = job, rank
        self.random = random.Random(job.seed * 100_003 + rank)
        self.factor = 1 + self.random.gauss(0, job.device_spread)
        self.drift = 0.0
        self.host = self.device = self.link = 0.0  # us: when each is free
        self.out = Recorded()
        self.is_planted = job.cause != "" and rank == job.rank
        self.own_us = own_us
        self.time_of_kernels = {}
        self.step = 0

    @property
    def is_slow(self):
        return self.is_planted and self.step >= self.job.since

    def extra_us(self):
        return self.job.strength * self.own_us

    def host_work(self, name, us):
        begin = self.host
        self.host += us
        if name == "GC":
            self.out.gcs.append((begin, self.host))
        elif name:
            self.out.slices.append((name, begin, self.host))

    def launch(self):
        begin = self.host
        self.host += 3 + self.random.expovariate(1 / 1.5)
        return begin + 2

    def kernel(self, kind, step_factor, tokens=TOKENS):
        shapes, core, us, is_bound = KERNELS[kind]
        if kind == "GroupedMatmul":
            shapes = f'"{tokens},4096;8,4096,2048;8"'
            us *= tokens / TOKENS
        us *= self.factor * (1 + self.drift) * step_factor
        us *= math.exp(self.random.gauss(0, 0.025))
        if self.random.random() < 1 / 300:
            us *= self.random.uniform(1.2, 2)
        if self.is_slow:
            us *= self.slowdown(kind, is_bound)
        self.run_kernel(kind, shapes, core, us)

    def run_kernel(self, kind, shapes, core, us):
        launch = self.launch()
        self.out.slices.append((f"aten::{kind.lower()}", launch - 2, self.host))
        begin = max(self.device + self.random.uniform(0.5, 1.5), launch + 4)
        self.device = begin + us
        self.out.tasks.append((kind, shapes, core, begin, self.device, launch))

    def slowdown(self, kind, is_bound):
        """So that all calls of a step together get longer by the strength."""
        job = self.job
        if job.cause == "kernel" and kind == "MatMulV2":
            return 1 + self.extra_us() / self.time_of_kernels["MatMulV2"]
        if job.cause == "frequency":
            return 1 + self.frequency_loss() * (1 if is_bound else 0.3)
        return 1

    def frequency_loss(self):
        weight = sum(us * (1 if KERNELS[k][3] else 0.3) for k, us in self.time_of_kernels.items())
        return self.extra_us() / weight

    def synchronize(self):
        self.host = max(self.host, self.device)


class Simulation:
    """Ranks take turns; a collective is done when all of its members have come to it."""

    def __init__(self, job):
        self.job = job
        self.groups = groups_of(job)
        self.group_of = {}  # (kind, rank) -> ranks
        for kind, lists in self.groups.items():
            for ranks in lists:
                for rank in ranks:
                    self.group_of[kind, rank] = tuple(ranks)
        times = self.times_of_kernels()
        own_us = sum(times.values())
        self.ranks = [Rank(job, rank, own_us) for rank in range(job.size)]
        for rank in self.ranks:
            rank.time_of_kernels = times
        self.random = random.Random(job.seed * 7 + 3)
        hosts = [self.random.uniform(-2000, 2000) for _ in range((job.size + 7) // 8)]
        self.clock_us = [hosts[rank // 8] for rank in range(job.size)]

    def times_of_kernels(self):
        times = dict.fromkeys(KERNELS, 0.0)
        for kinds in (FORWARD, BACKWARD):
            for kind in kinds:
                times[kind] += self.job.layers * KERNELS[kind][2]
        if self.job.ep > 1:
            times["GroupedMatmul"] += 3 * self.job.layers * KERNELS["GroupedMatmul"][2]
        times["ApplyAdamW"] += 2 * KERNELS["ApplyAdamW"][2]
        return times

    def collective(self, kind, op, us, size, is_joined=True):
        """Of all groups of a kind."""
        for ranks in self.groups[kind]:
            if len(ranks) < 2:
                continue
            members = [self.ranks[rank] for rank in ranks]
            begins, launches = [], []
            for member in members:
                launch = member.launch()
                begin = max(member.device + 1, member.link + 1, launch + 5)
                begins.append(begin)
                launches.append(launch)
            everybody = max(begins)
            transits = []
            for member in members:
                transit = us * math.exp(self.random.gauss(0, 0.03))
                if member.is_slow and self.job.cause == "link" and kind == "dp":
                    transit += member.extra_us() / 2  # of two in a step
                transits.append(transit)
            end = everybody + max(transits)
            group = f"10.0.0.1%eth0_60000_{kind}_{ranks[0]}"
            for member, begin, launch, transit in zip(
                members, begins, launches, transits, strict=True
            ):
                own_end = end + self.random.uniform(0, 1)
                member.out.collectives.append(
                    (group, op, begin, own_end, transit, size, launch, everybody - begin)
                )
                member.link = own_end
                if is_joined:
                    member.device = max(member.device, own_end)

    def transfer(self, sender, receiver, us, size):
        a, b = self.ranks[sender], self.ranks[receiver]
        ranks = self.group_of["pp", sender]
        group = f"10.0.0.1%eth0_60000_pp_{ranks[0]}"
        begins = []
        for one in (a, b):
            launch = one.launch()
            begins.append((max(one.device + 1, one.link + 1, launch + 5), launch))
        us *= math.exp(self.random.gauss(0, 0.03))
        end = max(begins[0][0], begins[1][0]) + us
        for one, (begin, launch), op in zip(
            (a, b), begins, ("hcom_send_", "hcom_receive_"), strict=True
        ):
            wait = end - us - begin
            one.out.collectives.append((group, op, begin, end, us, size, launch, wait))
            one.link = one.device = end

    def pass_on(self, stage, step):
        """Between two stages."""
        for rank in range(self.job.size):
            tensor, data, of_rank = place_of(self.job, rank)
            if of_rank != stage:
                continue
            other = tensor + self.job.tp * (data + self.job.dp * (stage + step))
            self.transfer(rank, other, 40, 8 << 20)

    def in_stage(self, stage):
        return [r for r in self.ranks if place_of(self.job, r.rank)[2] == stage]

    def experts(self, ranks, step_factor):
        if self.job.ep < 2:
            return
        self.collective_of(ranks, "exp", "hcom_alltoallv_", 30, 4 << 20)
        for rank in ranks:
            tokens = int(TOKENS * (1 + rank.random.gauss(0, 0.05)))
            if rank.is_slow and self.job.cause == "shapes":
                tokens = int(tokens * (1 + rank.extra_us() / rank.time_of_kernels["GroupedMatmul"]))
            rank.kernel("GroupedMatmul", step_factor, tokens)

    def collective_of(self, ranks, kind, *arguments):
        """Of those groups of a kind that lie in a stage."""
        wanted = {rank.rank for rank in ranks}
        everything = self.groups[kind]
        self.groups[kind] = [group for group in everything if group[0] in wanted]
        self.collective(kind, *arguments)
        self.groups[kind] = everything

    def more(self, rank, step_factor, layer):
        """What a rank does beyond the others, in the middle of its forward pass."""
        if not rank.is_slow or layer != 1:
            return
        cause = self.job.cause
        if cause == "calls":
            us = KERNELS["MatMulV3"][2]
            for _ in range(max(1, round(rank.extra_us() / us))):
                rank.kernel("MatMulV3", step_factor * min(1, rank.extra_us() / us))
        elif cause == "copies":
            for _ in range(2):
                launch = rank.launch()
                begin = max(rank.device + 1, launch + 4)
                rank.device = begin + rank.extra_us() / 2 * math.exp(rank.random.gauss(0, 0.05))
                rank.out.copies.append((begin, rank.device, launch))

    def forward(self, stage, step_factor):
        ranks = self.in_stage(stage)
        for layer in range(self.job.layers):
            for rank in ranks:
                for kind in FORWARD[:3]:
                    if self.has_longer_sequences(rank, kind, layer):
                        us = KERNELS[kind][2] + rank.extra_us()
                        us *= math.exp(rank.random.gauss(0, 0.025))
                        shapes = '"2560,1,1024;2560,1,1024;2560,1,1024"'
                        rank.run_kernel(kind, shapes, "MIX_AIC", us)
                        continue
                    rank.kernel(kind, step_factor)
                self.more(rank, step_factor, layer)
            self.collective_of(ranks, "tp", "hcom_allReduce_", 45, 16 << 20)
            for rank in ranks:
                for kind in FORWARD[3:]:
                    rank.kernel(kind, step_factor)
            self.experts(ranks, step_factor)

    def has_longer_sequences(self, rank, kind, layer):
        return (
            rank.is_slow and self.job.cause == "shapes" and self.job.ep < 2
            and kind == "FlashAttentionScore" and layer == 1
        )  # fmt: skip

    def backward(self, stage, step_factor):
        ranks = self.in_stage(stage)
        for _ in range(self.job.layers):
            self.experts(ranks, step_factor)
            self.experts(ranks, step_factor)
            for rank in ranks:
                for kind in BACKWARD[:3]:
                    rank.kernel(kind, step_factor)
            self.collective_of(ranks, "tp", "hcom_allReduce_", 45, 16 << 20)
            for rank in ranks:
                for kind in BACKWARD[3:]:
                    rank.kernel(kind, step_factor)

    def run_step(self, number):
        step_factor = 1 + self.random.gauss(0, 0.03)
        begins = []
        for rank in self.ranks:
            rank.step = number
            rank.synchronize()
            rank.drift = 0.7 * rank.drift + rank.random.gauss(0, 0.002)
            begins.append(rank.host)
            load = 0.003 * rank.own_us * math.exp(rank.random.gauss(0, 0.2))
            if rank.is_slow and self.job.cause == "data loading":
                load += rank.extra_us()
            rank.host_work(HOST_SLICES["data loading"], load)
            if rank.random.random() < 0.1:
                rank.host_work(None, rank.random.expovariate(1 / (0.003 * rank.own_us)))
        for stage in range(self.job.pp):
            self.forward(stage, step_factor)
            if stage + 1 < self.job.pp:
                self.pass_on(stage, 1)
        for stage in reversed(range(self.job.pp)):
            self.backward(stage, step_factor)
            if stage > 0:
                self.pass_on(stage, -1)
        self.collective("dp", "hcom_allReduce_", 300, 64 << 20)
        for rank in self.ranks:
            rank.synchronize()  # the norm of the gradients
            cause = self.job.cause
            if rank.is_slow and cause in HOST_SLICES and cause != "data loading":
                rank.host_work(HOST_SLICES[cause], rank.extra_us())
            for _ in range(2):
                rank.kernel("ApplyAdamW", step_factor)
        self.collective("dp", "hcom_allGather_", 200, 32 << 20)
        for rank, begin in zip(self.ranks, begins, strict=True):
            rank.synchronize()
            rank.out.steps.append((FIRST_STEP + number, begin, rank.host))

    def run(self):
        for step in range(self.job.steps):
            self.run_step(step)
