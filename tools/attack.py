"""Damages real traces in many ways and gives them to the real command, within limits.

Usage: attack.py --data FOLDER --minutes N [--seed N] [--sonde FILE] [--keep FOLDER]

Each round takes a trace below FOLDER, damages one of its files by a seed, analyses the copy in one
form, and gives it to one of the other commands, by turns. Reported as a fault: an end by a signal,
a status other than 0, 1 or 2, more memory or time than the limits, an error of several lines, a
control character on the terminal, a cell that a spreadsheet would run, a file that cannot be read,
and rows that are missing without an issue. Each fault is printed with its seed;
`--seed N --minutes 0` repeats that one.
"""

import argparse
import csv
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

MEMORY = 1 << 30
SECONDS = 60
FORMS = ("text", "db", "kineto", "mindstudio", "parquet")
# Words of the other commands; {}: the damaged copy, its folder, the trace before.
OTHERS = (
    ("advisor", "all", "-d", "{copy}", "-o", "{made}"),
    ("cluster", "-m", "all", "-d", "{folder}", "-o", "{made}"),
    ("compare", "-d", "{copy}", "-bp", "{trace}", "-o", "{made}", "--export_type", "csv"),
    ("compare", "-d", "{trace}", "-bp", "{copy}", "-o", "{made}"),
    ("query", "{copy}", "FROM slice", "--format", "table"),
)
TEXTS = [
    "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\x1b[2J\x1b]0;x\x07", "\x00\x01", "\t=1",
    "../../../etc/passwd", "a" * 70_000, "\u202e", "\ud83d\ude00", "'; DROP TABLE slice; --", "N/A",
    "NaN", "inf", "-1", "1e308", "9223372036854775808", "-9223372036854775809", "0.1e-400", "",
]  # fmt: skip
# Tasks are slices of a category that means work: one of a garbled category stays a slice.
COUNTS = """SELECT (SELECT count(*) FROM slice) + (SELECT count(*) FROM counter)
+ (SELECT count(*) FROM memory_event) AS n, 'rows' AS what
UNION ALL SELECT sum(count), code FROM import_issue GROUP BY code"""


def traces(data):
    """Folders and files that are one trace each, not too large to be tried often."""
    found = sorted({path for path in data.rglob("*") if path.is_dir()
                    and path.name.endswith(("_ascend_pt", "_ascend_ms"))})  # fmt: skip
    found += sorted(data.rglob("*.json.gz")) + sorted((data / "field2").rglob("*.json"))
    found += sorted((data / "field2").rglob("*.db")) + sorted(data.rglob("mindspore.op_range"))
    return [path for path in found if size_of(path) < 8 << 20]


def size_of(path):
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def flip(content, rng):
    """Some bytes are others."""
    for _ in range(rng.choice((1, 1, 3, 20, 400))):
        content[rng.randrange(len(content))] = rng.randrange(256)


def cut(content, rng):
    del content[rng.randrange(len(content)) :]


def remove(content, rng):
    begin = rng.randrange(len(content))
    del content[begin : begin + rng.choice((1, 7, 100, 5000))]


def repeat(content, rng):
    """A piece comes again, many times at worst."""
    begin = rng.randrange(len(content))
    piece = content[begin : begin + rng.choice((1, 50, 4096))]
    content[begin:begin] = piece * rng.choice((1, 3, 1000))


def zeros(content, rng):
    begin = rng.randrange(len(content))
    end = min(len(content), begin + rng.choice((8, 512, 65536)))
    content[begin:end] = bytes(end - begin)


def numbers(content, rng):
    """A number of a text is a strange one."""
    places = list(re.finditer(rb"\d+(\.\d+)?", content[: 1 << 20]))
    for _ in range(rng.choice((1, 5, 200))):
        if not places:
            return
        place = places[rng.randrange(len(places))]
        new = rng.choice((b"-1", b"0", b"1e999", b"18446744073709551616", b"9" * 300, b"0.5"))
        content[place.start() : place.end()] = new[: place.end() - place.start()].ljust(
            place.end() - place.start(), b"9"
        )


def words(content, rng):
    """A text in quotes, or a cell, is a harmful one."""
    places = list(re.finditer(rb'"([^"\\\n]{1,60})"|(?<=,)([^,"\n]{1,60})(?=,)',
                              content[: 1 << 20]))  # fmt: skip
    if not places:
        return
    place = places[rng.randrange(len(places))]
    text = rng.choice(TEXTS)
    new = json.dumps(text)[1:-1].encode() if content[:1] in b"[{" else text.encode(errors="replace")
    group = 1 if place.group(1) is not None else 2
    content[place.start(group) : place.end(group)] = new


def deepen(content, rng):
    """Brackets in brackets."""
    at = rng.randrange(len(content))
    content[at:at] = rng.choice((b"[", b"{", b'{"a":', b"(")) * rng.choice((100, 100_000))


WAYS = (flip, cut, remove, repeat, zeros, numbers, words, deepen)


def damage_database(path, rng):
    """Cells of a table are others; of one in three files the pages themselves."""
    if rng.random() < 1 / 3:
        return damage_bytes(path, rng)
    try:
        with sqlite3.connect(path) as db:
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master "
                                                   "WHERE type = 'table'")]  # fmt: skip
            table = rng.choice(tables)
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            column = rng.choice(columns)
            value = rng.choice((*TEXTS, None, -1, 2**63 - 1, -(2**63), 1.5, b"\0\xff", 2**32))
            way = rng.randrange(4)
            if way == 0:
                db.execute(f'UPDATE "{table}" SET "{column}" = ?', (value,))
            elif way == 1:
                db.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid % 7 = 3', (value,))
            elif way == 2:
                db.execute(f'DROP TABLE "{table}"')
            else:
                db.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO other')
        db.close()
        return f"{table}.{column} = {str(value)[:20]!r} way {way}"
    except (sqlite3.Error, IndexError, UnicodeError):
        return damage_bytes(path, rng)


def damage_bytes(path, rng):
    content = bytearray(path.read_bytes())
    if not content:
        return "empty"
    way = rng.choice(WAYS)
    way(content, rng)
    path.write_bytes(content)
    return way.__name__


def damage(trace, rng):
    """Damages one file of the trace; what was done."""
    files = sorted(f for f in trace.rglob("*") if f.is_file()) if trace.is_dir() else [trace]
    file = rng.choice(files)
    done = damage_database(file, rng) if file.suffix == ".db" else damage_bytes(file, rng)
    return f"{file.name}: {done}"


def runs(cell):
    """Whether a spreadsheet would run it, in any country."""
    parts = (part.lstrip(" ") for part in re.split("[;\t]", cell))
    return any(re.match("[=@\uff1d\uff0b\uff0d\uff20].|[+-].*[a-zA-Z(|!]", part) for part in parts
               if not re.fullmatch(r"[+-]?(inf|nan|[\d.]+([eE][+-]?\d+)?%?)", part))  # fmt: skip


def limit():
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))


class Attack:
    """Rounds of damage, and the faults that they found."""

    def __init__(self, sonde, place):
        self.sonde = sonde
        self.place = place
        self.faults = []

    def run(self, *words):
        """Status (None: too long), standard output and error, most memory in bytes."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
        environment |= {"XDG_CACHE_HOME": str(self.place / "cache"), "TERM": "dumb"}
        with open(self.place / "out", "w+b") as out, open(self.place / "err", "w+b") as err:
            process = subprocess.Popen([str(word) for word in (self.sonde, *words)], stdout=out,
                                       stderr=err, env=environment, preexec_fn=limit,
                                       start_new_session=True)  # fmt: skip
            end = time.monotonic() + SECONDS
            pid = 0
            while pid == 0 and time.monotonic() < end:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                time.sleep(0.01)
            if pid == 0:
                os.killpg(process.pid, signal.SIGKILL)
                _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0 if pid == 0 else os.waitstatus_to_exitcode(status)
            code = None if pid == 0 else process.returncode
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read(), usage.ru_maxrss * 1024

    def check_run(self, words, code, out, err, memory):
        """The faults of one command."""
        name = words[0]
        if code is None:
            yield f"{name}: longer than {SECONDS} s"
        elif code not in (0, 1, 2):
            yield f"{name}: ended with {code}: {err[-300:]!r}"
        if memory > MEMORY:
            yield f"{name}: {memory >> 20} MiB"
        text = err.decode(errors="replace")
        if code in (1, 2) and not any(line.startswith("sonde: error: ")
                                      for line in text.splitlines()):  # fmt: skip
            yield f"{name}: status {code} without an error line: {text[-200:]!r}"
        errors = [line for line in text.splitlines() if line.startswith("sonde: error: ")]
        if len(errors) > 1:
            yield f"{name}: {len(errors)} errors"
        for stream in (out, err):
            if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", stream):
                yield f"{name}: a control character on the terminal"
        if any(word in text for word in ("INTERNAL Error", "terminate called", "CHECK failed")):
            yield f"{name}: {text[-300:]!r}"

    def check_files(self, folder):
        """What was written can be read, no cell is a formula; a file may come out as it was."""
        given = {path.read_bytes() for path in (self.place / "given").rglob("*") if path.is_file()}
        for path in folder.rglob("*"):
            if ".tmp" in path.name:
                yield f"left {path.name}"
            if not path.is_file() or path.read_bytes() in given:
                continue
            if path.suffix == ".json":
                try:
                    json.loads(path.read_bytes())
                except (ValueError, RecursionError) as error:
                    yield f"{path.name} is no JSON: {str(error)[:100]}"
            elif path.suffix in (".zip", ".xlsx"):
                if not zipfile.is_zipfile(path) or zipfile.ZipFile(path).testzip() is not None:
                    yield f"{path.name} is damaged"
            elif path.suffix == ".csv":
                csv.field_size_limit(1 << 30)
                with open(path, newline="", encoding="utf-8", errors="replace") as file:
                    for row in csv.reader(line.replace("\0", "") for line in file):
                        bad = [cell for cell in row if runs(cell)]
                        if bad:
                            yield f"{path.name}: the cell {bad[0][:40]!r}"
                            break
            elif path.suffix == ".db":
                try:
                    with sqlite3.connect(path) as db:
                        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                            yield f"{path.name} is damaged"
                    db.close()
                except sqlite3.Error as error:
                    yield f"{path.name}: {error}"

    def counts(self, trace):
        """Rows, and issues by their codes; None where nothing is read."""
        code, out, err, memory = self.run("query", trace, COUNTS, "--format", "csv")
        found = list(self.check_run(("query",), code, out, err, memory))
        if code != 0:
            return None, found
        lines = [line.split(b",") for line in out.splitlines()[1:]]
        return {what: int(count) for count, what in lines}, found

    def round(self, seed, trace, before):
        rng = random.Random(seed)
        copy = self.place / "given" / trace.name
        shutil.rmtree(self.place / "given", ignore_errors=True)
        shutil.rmtree(self.place / "made", ignore_errors=True)
        shutil.rmtree(self.place / "cache", ignore_errors=True)
        (self.place / "given").mkdir()
        if trace.is_dir():
            shutil.copytree(trace, copy)
        else:
            shutil.copyfile(trace, copy)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        what = "; ".join(damage(copy, rng) for _ in range(rng.choice((1, 1, 2))))
        form = rng.choice(FORMS)
        words = ("analyse", copy, "--export-type", form, "-o", self.place / "made")
        code, out, err, memory = self.run(*words)
        found = list(self.check_run(words, code, out, err, memory))
        if (self.place / "made").is_dir():
            found += self.check_files(self.place / "made")
        places = {"copy": copy, "folder": copy.parent, "trace": trace, "made": self.place / "made"}
        words = [word.format(**places) for word in rng.choice(OTHERS)]
        shutil.rmtree(self.place / "made", ignore_errors=True)
        found += self.check_run(words, *self.run(*words))
        if (self.place / "made").is_dir():
            found += self.check_files(self.place / "made")
        after, more = self.counts(copy)
        found += more
        if code == 0 and before and after and after[b"rows"] < before[b"rows"]:
            is_cut = b"trace_truncated" in before and b"trace_truncated" in after  # reported once
            if not is_cut and not any(after[what] > before.get(what, 0) for what in after):
                lost = before[b"rows"] - after[b"rows"]
                found.append(f"{lost} rows of {before[b'rows']} are gone without an issue")
        for fault in found:
            self.faults.append((seed, fault))
            print(f"seed {seed}: {trace.name} {what} as {form}: {fault}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sonde", type=Path, default=Path("build/dev/bin/sonde"))
    parser.add_argument("--keep", type=Path, help="folder for the damaged trace of the last round")
    options = parser.parse_args()
    place = options.keep or Path(tempfile.mkdtemp(prefix="attack-"))
    place.mkdir(exist_ok=True)
    attack = Attack(options.sonde.resolve(), place)
    found = traces(options.data)
    known = {}
    end = time.monotonic() + options.minutes * 60
    seed = options.seed
    while True:
        trace = found[random.Random(seed).randrange(len(found))]
        if trace not in known:
            known[trace] = attack.counts(trace)[0]
        attack.round(seed, trace, known[trace])
        seed += 1
        if time.monotonic() > end:
            break
    print(f"{seed - options.seed} rounds, {len(attack.faults)} faults")
    if options.keep is None:
        shutil.rmtree(place, ignore_errors=True)
    return 1 if attack.faults else 0


if __name__ == "__main__":
    sys.exit(main())
