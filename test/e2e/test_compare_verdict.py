"""`sonde compare` over several steps: verdicts, causes, and what a CI does with them."""

import json
import os
from html.parser import HTMLParser

import pytest

KERNELS = ["ampere_sgemm_128", "vectorized_elementwise_kernel", "reduce_kernel", "softmax_kernel"]


def write_trace(path, durations, jitter=(0, 3, 1, 2, 0, 1), gap=20, shapes=((8, 8),)):
    """A trace of the PyTorch profiler: steps of one launch for each kernel, in microseconds."""
    events = []
    ts = 1000
    for step, more in enumerate(jitter):
        begin = ts
        for number, (name, duration) in enumerate(durations.items()):
            correlation = 100 * step + number + 1
            ids = {"External id": correlation, "correlation": correlation}
            of_op = {**ids, "Input Dims": shapes, "Input type": ["float"]} if shapes else ids
            spot = {"ph": "X", "ts": ts, "pid": 1, "tid": 1}
            events += [
                {**spot, "cat": "cpu_op", "name": f"aten::op{number}", "dur": 8, "args": of_op},
                {
                    **{**spot, "ts": ts + 2, "dur": 4},
                    "cat": "cuda_runtime",
                    "name": "cudaLaunchKernel",
                    "args": ids,
                },
                {
                    **{**spot, "ts": ts + 10, "dur": duration + more, "pid": 0, "tid": 7},
                    "cat": "kernel",
                    "name": name,
                    "args": {**ids, "stream": 7, "device": 0},
                },
                {"ph": "s", "cat": "ac2g", "id": correlation, "pid": 1, "tid": 1, "ts": ts + 2},
                {
                    **{"ph": "f", "bp": "e", "cat": "ac2g", "id": correlation},
                    **{"pid": 0, "tid": 7, "ts": ts + 10},
                },
            ]
            events[-1]["name"] = events[-2]["name"] = "ac2g"
            ts += duration + more + gap
        events.append(
            {
                **{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}"},
                **{"pid": 1, "tid": 1, "ts": begin, "dur": ts - begin - 1},
            }
        )
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.fixture(name="judged")
def make_judged(run_sonde, tmp_path):
    """judged(new, old, ...): the finished process that compares traces of such durations."""

    def run(new, old, *words, **options):
        paths = [
            write_trace(
                tmp_path / f"{name}.json", dict(zip(KERNELS, times, strict=False)), **options
            )
            for name, times in (("new", new), ("old", old))
        ]
        return run_sonde("compare", "-d", paths[0], "-bp", paths[1], "-o", tmp_path / "out", *words)

    return run


USUAL = (900, 200, 100)


def test_a_slower_kernel_is_named_first(judged):
    done = judged((1000, 200, 100), USUAL, "--format", "json")
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    verdicts = {stage["stage"]: stage["verdict"] for stage in printed["stages"]}
    assert verdicts["step"] == verdicts["computing"] == "changed"
    first = printed["causes"][0]
    assert first["cause"] == "other time at the same shapes"
    assert KERNELS[0] in first["subject"]
    assert first["diff_ms"] == pytest.approx(0.1, rel=0.02)
    assert printed["aligned_share"] == pytest.approx(1)
    assert printed["files"] and not printed["failed"]


def test_nothing_changed(judged):
    done = judged(USUAL, USUAL)
    assert "unchanged" in done.stdout.splitlines()[0]
    assert "largest parts" not in done.stdout


def test_sentences_stand_at_the_top(judged):
    lines = judged((1000, 200, 100), USUAL).stdout.splitlines()
    assert lines[0].startswith("a step takes 1.36")
    assert "+7.9 %" in lines[0] and "more than noise" in lines[0]
    assert lines[1].startswith("largest parts of the difference per step: ")
    assert lines[2].startswith("100.0 % of the kernel time belongs")


class Page(HTMLParser):
    """What a page shows, and what it would fetch."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.boxes, self.fetched, self.open = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        words = dict(attrs)
        self.fetched += [words[name] for name in ("src", "href") if name in words]
        if tag == "div" and "top:" in words.get("style", ""):
            self.boxes.append((words["class"], words["title"]))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_one_page_with_all_of_it(judged, tmp_path):
    done = judged((1000, 200, 100), (900, 200, 100, 50), "--export_type", "html")
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").glob("performance_comparison_result_*.html")
    assert str(path) in done.stdout
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not page.fetched and "http" not in text
    assert "prefers-color-scheme: dark" in text
    shown = "\n".join(page.texts)
    for line in done.stdout.splitlines()[:2]:
        assert line in shown
    assert {"changed", "vanished", KERNELS[0]} <= set(page.texts)
    sides = {title.split(":")[0]: side for side, title in page.boxes}
    assert sides["step"] == "longer" and "shorter" in sides.values()
    assert "KernelCompare: " in shown


def test_names_on_the_page_are_text(run_sonde, tmp_path):
    paths = []
    for name, kernel in (("new", "<b onclick=x>&"), ("old", "gemm")):
        paths.append(write_trace(tmp_path / f"{name}.json", {kernel: 100, "other": 50}))
    words = ("-d", paths[0], "-bp", paths[1], "-o", tmp_path / "out", "--export_type", "html")
    assert run_sonde("compare", *words).returncode == 0
    (path,) = (tmp_path / "out").glob("*.html")
    text = path.read_text(encoding="utf-8")
    assert "<b onclick" not in text and "&lt;b onclick=x&gt;&amp;" in text
    Page(text)


def test_fail_if(judged):
    done = judged((1000, 200, 100), USUAL, "--fail-if", "step > 3%")
    assert done.returncode == 3
    (line,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert "the stage step takes +0.1" in line
    assert judged((1000, 200, 100), USUAL, "--fail-if", "step > 9%").returncode == 0
    assert judged(USUAL, USUAL, "--fail-if", "step > 0%").returncode == 0
    assert judged((1000, 200, 100), USUAL, "--fail-if", "free > 1ms").returncode == 0


MANY = {f"kernel_{number}": 100 + 10 * number for number in range(10)}


def machine(run_sonde, folder, factor, *words, shapes=((8, 8),), **more):
    """Compares with a run in which all work took that much longer, and some work more."""
    slow = {name: round(time * factor) + more.get(name, 0) for name, time in MANY.items()}
    new = write_trace(folder / "new.json", slow, shapes=shapes)
    old = write_trace(folder / "old.json", MANY, shapes=shapes)
    return run_sonde("compare", "-d", new, "-bp", old, "-o", folder / "out", *words)


def test_fail_if_is_of_the_program_and_not_of_the_machine(run_sonde, tmp_path):
    done = machine(run_sonde, tmp_path, 1.2, "--fail-if", "step > 3%")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "the stage step takes" in line]
    assert "all work takes longer" in line and "--fail-if 'machine > 3.0%'" in line
    done = machine(run_sonde, tmp_path, 1.2, "--fail-if", "machine > 3%")
    assert done.returncode == 3
    assert "all work takes +" in done.stderr
    assert machine(run_sonde, tmp_path, 1.2, "--fail-if", "machine > 25%").returncode == 0
    # What comes on top of it is the program's.
    done = machine(run_sonde, tmp_path, 1.2, "--fail-if", "step > 3%", kernel_3=400)
    assert done.returncode == 3
    assert "the stage step takes +" in done.stderr


def test_without_shapes_nobody_knows_that_it_was_the_machine(run_sonde, tmp_path):
    """A larger batch takes longer alike, too."""
    done = machine(run_sonde, tmp_path, 1.2, "--fail-if", "step > 3%", shapes=())
    assert done.returncode == 3
    assert "the machine: shapes are not recorded" in done.stdout + done.stderr


def test_tables_of_two_traces_need_the_other_one(run_sonde, tmp_path):
    new, old = write_trace(tmp_path / "new.json", MANY), write_trace(tmp_path / "old.json", MANY)
    tables = [f"compare_{name}" for name in ("stage", "cause", "tree", "request", "distribution",
                                             "memory", "call")]  # fmt: skip
    for table in tables:
        done = run_sonde("query", new, f"SELECT count(*) FROM {table}")
        assert done.returncode == 1
        assert f"{table} compares two traces: name the other one with --baseline" in done.stderr
        done = run_sonde("query", new, "--baseline", old, f"SELECT count(*) FROM {table}")
        assert done.returncode == 0, done.stderr
    done = run_sonde("query", new, "SELECT * FROM no_such_table")
    assert done.returncode == 1 and "--baseline" not in done.stderr


def test_fail_if_is_silent_about_noise(judged):
    noisy = judged((950, 200, 100), USUAL, "--fail-if", "step > 3%", jitter=(0, 900, 20, 500))
    assert noisy.returncode == 0
    assert "too much to show" in noisy.stdout


def test_one_step_allows_no_verdict(judged):
    assert "two steps or more on each side" in judged((1000, 200, 100), USUAL, jitter=(0,)).stdout
    done = judged((1000, 200, 100), USUAL, "--fail-if", "step > 3%", jitter=(0,))
    assert done.returncode == 1
    assert "needs two steps or more" in done.stderr.splitlines()[-1]


def test_a_condition_that_is_none(judged):
    done = judged(USUAL, USUAL, "--fail-if", "speed > 3%")
    assert done.returncode == 2
    assert "--fail-if is STAGE > LIMIT" in done.stderr


def test_results_are_tables_that_statements_name(judged, run_sonde, tmp_path):
    printed = json.loads(judged((1000, 200, 100), USUAL, "--format", "json").stdout)

    def ask(sql):
        done = run_sonde(
            *("query", "new.json", "--baseline", "old.json", "--format", "json", sql), cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    (first,) = ask("SELECT * FROM compare_cause WHERE order_id = 1")
    assert (first["cause"], first["subject"]) == (
        printed["causes"][0]["cause"],
        printed["causes"][0]["subject"],
    )
    assert first["diff_ms"] == pytest.approx(printed["causes"][0]["diff_ms"])
    assert (first["kind"], first["verdict"]) == ("time", "changed")
    stages = ask("SELECT stage, verdict FROM compare_stage")
    assert [row["verdict"] for row in stages] == [one["verdict"] for one in printed["stages"]]
    nodes = ask("SELECT * FROM compare_tree ORDER BY node_id")
    assert len(nodes) == len(printed["tree"])
    root, *rest = nodes
    below = sum(row["diff_ms"] for row in rest if row["parent_id"] == root["node_id"])
    assert below == pytest.approx(root["diff_ms"], abs=1e-6)
    (both,) = ask("SELECT count(*) AS n FROM op_statistic, compare_stage")
    assert both["n"] > 0


def test_a_base_that_is_not_there(judged, run_sonde, tmp_path, one_error_line):
    judged(USUAL, USUAL)
    done = run_sonde("query", "new.json", "--baseline", "none.json", "SELECT 1", cwd=tmp_path)
    one_error_line(done, 1, "there is no 'none.json'")


@pytest.mark.parametrize("kind", ["empty", "cut", "other kind", "no data", "no permission"])
def test_a_base_that_cannot_be_read(kind, judged, run_sonde, tmp_path):
    """Why a table of the comparison cannot be made is reported without words of the database."""
    judged(USUAL, USUAL)
    old = tmp_path / "old.json"
    if kind == "no permission":
        old.chmod(0)
        if os.access(old, os.R_OK):
            pytest.skip("the user may read every file")
    else:
        whole = old.read_text()
        old.write_text(
            {
                "empty": "",
                "cut": whole[:40],
                "other kind": "{}",
                "no data": '{"schemaVersion": 1, "traceEvents": []}',
            }[kind]
        )
    words = ("query", "new.json", "--baseline", "old.json", "SELECT * FROM compare_stage")
    done = run_sonde(*words, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("sonde: error: "), done.stderr
    assert "Invalid Input Error" not in done.stderr and "\x1f" not in done.stderr
    assert "old.json" in last, last


def calls_of(run_sonde, tmp_path, new, old):
    """The table of host calls of two traces, by name."""
    write_trace(tmp_path / "new.json", new)
    write_trace(tmp_path / "old.json", old)
    words = ("query", "new.json", "--baseline", "old.json", "--format", "json")
    done = run_sonde(*words, "SELECT * FROM compare_call", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return {row["name"]: row for row in json.loads(done.stdout)}


def test_calls_of_the_host_are_compared_by_name(run_sonde, tmp_path):
    usual = dict(zip(KERNELS, USUAL, strict=False))
    (launch,) = calls_of(run_sonde, tmp_path, usual | {KERNELS[3]: 100}, usual).values()
    assert (launch["name"], launch["base_calls"], launch["comparison_calls"]) == (
        "cudaLaunchKernel", 3, 4,
    )  # fmt: skip
    assert launch["diff_ms"] == pytest.approx(0.004)
    assert launch["verdict"] == "changed"
    (same,) = calls_of(run_sonde, tmp_path, usual, usual).values()
    assert (same["diff_ms"], same["verdict"]) == (0, "unchanged")


def test_a_slower_call_is_reported(run_sonde, tmp_path):
    paths = [tmp_path / "new.json", tmp_path / "old.json"]
    for path, dur in zip(paths, (300, 20), strict=True):
        write_trace(path, dict(zip(KERNELS, USUAL, strict=False)))
        trace = json.loads(path.read_text())
        steps = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep")]
        trace["traceEvents"] += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1, "tid": 1,
             "ts": step["ts"] + step["dur"] - 310, "dur": dur, "args": {"correlation": 9000 + i}}
            for i, step in enumerate(steps)
        ]  # fmt: skip
        path.write_text(json.dumps(trace))
    done = run_sonde("compare", "-d", paths[0], "-bp", paths[1], "-o", tmp_path / "out")
    assert "host calls: cudaStreamSynchronize takes 0.300 ms a step, 0.020 ms in" in done.stdout


def test_the_tree_is_a_sheet_of_csv_files_and_databases(judged, tmp_path):
    assert judged(USUAL, USUAL, "--export_type", "csv").returncode == 0
    (path,) = (tmp_path / "out").rglob("DifferenceTree.csv")
    header, root, *rest = path.read_text().splitlines()
    assert header.startswith("node_id,parent_id,depth,node,name,path,base_ms,comparison_ms,")
    assert root.startswith("0,,0,step,step,") and len(rest) >= len(KERNELS)


def test_work_is_named_apart_from_time(judged):
    done = judged((900, 200, 100), (900, 200, 100, 50))
    lines = done.stdout.splitlines()
    assert lines[1].startswith("a step of the program does different work: ")
    assert "op3: vanished -0.05" in lines[1]
