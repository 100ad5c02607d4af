"""The page that `sonde compare` writes: what it shows, and that it fetches nothing; several runs a
side; and a base that the user may not read."""

import json
import os
from html.parser import HTMLParser

import pytest
from kineto_writer import KERNELS, write_trace


@pytest.fixture(name="judged")
def make_judged(run_sonde, tmp_path):
    """judged(new, old, ...): the finished process that compares traces of such durations."""

    def run(new, old, *words):
        paths = [
            write_trace(tmp_path / f"{name}.json", dict(zip(KERNELS, times, strict=False)))
            for name, times in (("new", new), ("old", old))
        ]
        return run_sonde("compare", "-d", paths[0], "-bp", paths[1], "-o", tmp_path / "out", *words)

    return run


USUAL = (900, 200, 100)


def test_several_runs_a_side(run_sonde, tmp_path):
    """The run is the sample: one slow run of three changes nothing, three do."""

    def runs(name, factors):
        return [
            write_trace(
                tmp_path / f"{name}{number}.json",
                dict(zip(KERNELS, [round(factor * time) for time in USUAL], strict=False)),
            )
            for number, factor in enumerate(factors)
        ]

    base = runs("base", (1, 1.01, 0.99))
    for name, factors, status in (("one", (1, 1.4, 1.01), 0), ("all", (1.4, 1.42, 1.41), 3)):
        comparison = runs(name, factors)
        done = run_sonde(
            *("compare", "-d", *comparison, "-bp", *base, "-o", tmp_path / "out"),
            *("--fail-if", "computing > 3%"),
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert "means of 3 and 3 runs" in done.stdout
        assert "the sheets compare the first run of each side" in done.stderr


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


def test_a_base_without_permission_is_named(judged, run_sonde, tmp_path):
    judged((900, 200, 100), (900, 200, 100))
    old = tmp_path / "old.json"
    old.chmod(0)
    if os.access(old, os.R_OK):
        pytest.skip("the user may read every file")
    words = ("query", "new.json", "--baseline", "old.json", "SELECT * FROM compare_stage")
    done = run_sonde(*words, cwd=tmp_path)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("sonde: error: ") and "old.json" in last
    assert "Invalid Input Error" not in done.stderr


def test_each_cause_has_a_statement_that_shows_it(run_sonde, shared_data):
    both = (
        shared_data / "kineto/trace_diff/test",
        "--baseline",
        shared_data / "kineto/trace_diff/control",
    )

    def rows(statement):
        done = run_sonde("query", *both, statement, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    causes = rows("SELECT cause, subject, evidence FROM compare_cause")
    assert {"appeared", "other kernels", "communication that nothing hides"} <= {
        one["cause"] for one in causes
    }
    counts = " UNION ALL ".join(
        f"SELECT {i} AS i, count(*) AS n FROM ({one['evidence']})" for i, one in enumerate(causes)
    )
    empty = [causes[row["i"]] for row in rows(counts) if row["n"] == 0]
    assert not empty
