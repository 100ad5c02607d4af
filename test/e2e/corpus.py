"""Traces of many origins, and what every command says of each.

corpus.txt lists them. A command runs once for an input; tests read its texts and tables.
"""

import csv
import http.client
import io
import json
import os
import re
import sqlite3
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
LIST = Path(__file__).with_name("corpus.txt")
# Takes the whole list, not the fast part alone.
WHOLE = "SONDE_CORPUS"


def paths() -> list[Path]:
    """Inputs of the list, all or the fast ones; none where there are no data."""
    if not DATA.is_dir():
        return []
    found: list[Path] = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern, _, speed = line.partition(" | ")
        if speed != "fast" and not os.environ.get(WHOLE):
            continue
        matches = sorted(DATA.glob(pattern))
        assert matches, f"{LIST.name}: nothing is {pattern}"
        found += matches
    return found


def name_of(path: Path) -> str:
    """The name of a test."""
    return str(path.relative_to(DATA))


@dataclass
class Asked:
    """What the commands say of one input. A command that fails fails the test with its message."""

    path: Path
    sonde: Path
    folder: Path  # for results and the cache
    printed: dict[tuple[str, ...], str] = field(default_factory=dict)

    def run(self, *words: object) -> str:
        """Output and messages of a command that has to succeed."""
        key = tuple(map(str, words))
        if key not in self.printed:
            done = subprocess.run(
                [self.sonde, *key], cwd=self.folder, env=self.environment, text=True,
                capture_output=True, timeout=120, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"sonde {' '.join(key)}: {done.stderr}"
            self.printed[key] = done.stdout
        return self.printed[key]

    @property
    def environment(self) -> dict[str, str]:
        """Without settings of ours, with a cache of the test."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("SONDE_")}
        return kept | {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def rows(self, statement: str) -> list[dict[str, object]]:
        """Rows of a statement."""
        return json.loads(self.run("query", self.path, statement, "--format", "json"))

    def rows_behind(self, advice: dict) -> int:
        """Rows of the statement of an advice, asked as a user would."""
        path = advice["trace"] or self.path
        baseline = ("--baseline", advice["baseline"]) if advice["baseline"] else ()
        statement = f"SELECT count(*) AS n FROM ({advice['statement']})"
        printed = self.run("query", path, statement, "--format", "json", *baseline)
        return json.loads(printed)[0]["n"]

    def texts(self, statement: str) -> list[list[str]]:
        """The same as texts, for statements whose columns have one name."""
        text = self.run("query", self.path, statement, "--format", "csv")
        return list(csv.reader(io.StringIO(text, newline="")))[1:]

    @cached_property
    def findings(self) -> list[dict[str, object]]:
        """Of the table of that name."""
        return self.rows("SELECT * FROM finding")

    @cached_property
    def is_job(self) -> bool:
        """Whether the input has several traces."""
        columns = self.rows("DESCRIBE step_trace")
        return any(row["column_name"] == "trace" for row in columns)

    @cached_property
    def ranks(self) -> list[int]:
        """Numbers of the ranks that are known."""
        found = self.rows("SELECT DISTINCT rank FROM process WHERE rank IS NOT NULL ORDER BY 1")
        return [int(str(row["rank"])) for row in found]

    @cached_property
    def summary(self) -> str:
        """What `analyse` prints."""
        return self.run("analyse", self.path, "-o", self.folder / "analysed")

    @cached_property
    def advised(self) -> dict:
        """What `advisor` says, as JSON; nothing of a folder of several runs, which it refuses."""
        if self.is_job and len(self.rows("SELECT DISTINCT run FROM process")) > 1:
            return {}
        words = ("advisor", "all", "-d", self.path, "-l", "en", "--agent")
        return json.loads(self.run(*words))["message"]

    @property
    def advice(self) -> list[dict]:
        """Each advice with its evidence."""
        return self.advised.get("advice", [])

    @cached_property
    def comparison(self) -> str:
        """What `compare` prints of the input beside itself; "" of several traces."""
        if self.is_job:
            return ""
        words = ("compare", "-d", self.path, "-bp", self.path, "-o", self.folder / "compared")
        return self.run(*words)

    @cached_property
    def compared(self) -> dict:
        """The same for programs, the times alone; {} where no work of a device is known."""
        if self.is_job or not self.rows("SELECT 1 AS n FROM step_trace LIMIT 1"):
            return {}
        words = ("compare", "-d", self.path, "-bp", self.path, "-o", self.folder / "compared_times")
        only = ("--enable_profiling_compare", "--export_type", "csv", "--format", "json")
        return json.loads(self.run(*words, *only))

    @cached_property
    def cluster(self) -> str:
        """What `cluster` prints of several ranks, of all modes that are made at once; else ""."""
        if len(self.ranks) < 2:
            return ""
        return self.run("cluster", "-m", "all", "-d", self.path, "-o", self.folder / "cluster")

    @cached_property
    def steps_of_cluster(self) -> list[dict[str, object]]:
        """Rows of the job's table of steps that `cluster` writes."""
        if not self.cluster:
            return []
        output = self.folder / "cluster" / "cluster_analysis_output"
        database = output / "cluster_analysis.db"
        if not database.exists():
            with (output / "cluster_step_trace_time.csv").open(newline="") as file:
                return list(csv.DictReader(file))
        with sqlite3.connect(database) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute("SELECT * FROM ClusterStepTraceTime")]

    @contextmanager
    def page(self) -> Iterator["Page"]:
        """The page's server of the input, once all of it is read."""
        process = subprocess.Popen(
            [self.sonde, "view", self.path], env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            page = Page(urllib.parse.urlparse(process.stdout.readline().strip()))
            page.wait()
            yield page
        finally:
            process.kill()
            process.communicate()

    @property
    def everything(self) -> dict[str, str]:
        """All texts for people, by command."""
        advice = "\n".join(
            f"{one['title']}: {one['description']} {one['suggestion']}" for one in self.advice
        )
        for row in self.advised.get("Overall Summary", {"data": []})["data"]:
            advice += "\n" + " ".join(map(str, row))
        findings = "\n".join(str(finding["message"]) for finding in self.findings)
        return {
            "query": findings, "analyse": self.summary, "advisor": advice,
            "compare": self.comparison, "cluster": self.cluster,
        }  # fmt: skip


@dataclass
class Page:
    """A running server."""

    address: urllib.parse.ParseResult

    def ask(self, target: str) -> Any:
        """The JSON of an answer."""
        query = f"{'&' if '?' in target else '?'}{self.address.query}" if self.address.query else ""
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=60)
        connection.request("GET", target + query)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        assert answer.status == 200, f"{target}: {text}"
        return json.loads(text)

    def wait(self) -> None:
        """Until the traces are read."""
        end = time.monotonic() + 60
        while self.ask("/api/session")["loading"]:
            assert time.monotonic() < end, "the traces were not read in time"
            time.sleep(0.05)


ACCUSED = re.compile(r"\b[Rr]ank (\d+) is slow\b")
NONE_IS_SLOW = re.compile(r"\bnone is slow\b|[Nn]o slow rank|no rank is slow")


def slow_ranks(text: str) -> set[int] | None:
    """Ranks that a text accuses; an empty set where it says that none is slow; None: no word."""
    accused = {int(rank) for rank in ACCUSED.findall(text)}
    return accused if accused or NONE_IS_SLOW.search(text) else None
