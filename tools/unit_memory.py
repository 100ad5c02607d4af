"""Remembers which units of the test suite passed, and with what: a second run repeats only those
whose input changed.

A unit's input is what it was seen to open (opened_files.py): files of this tree, reference data,
what was built; and its surroundings (packages, system, variables), which are part of its key. Only
passes are kept, below the user's cache folder, each with the digest of every file that was opened
and the names in every folder that was listed. FRESH=1 believes nothing, and remembers.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import source_tree
from opened_files import OpenedFiles

ROOT = source_tree.ROOT
KEPT_PASSES = 8
FORMAT = "2"
TEST_FILE = re.compile(r"test_.*\.py|.*\.test\.ts")


@dataclass(frozen=True)
class Part:
    """Of the command: objects (source_of) that only some tests reach, and words by which the
    tests' sources show it. For tests without such a word, in whichever sense, the command counts
    without these objects."""

    objects: re.Pattern
    words: re.Pattern


VIEW = r"""["'](--)?view["']|sonde view|vitest"""
ANY_COMMAND = r"--help|--schema"
ALWAYS = ""
PARTS = {
    name: Part(re.compile(objects), re.compile("|".join((ANY_COMMAND, VIEW, *words))))
    for name, objects, words in (
        ("page", r"/page\.S\.o$", ()),
        ("serve", r"^src/serve/", ()),
        ("advisor", r"^src/advisor/", ("advisor",)),
        ("compare", r"^src/compare/", ("advisor", "compare", "baseline")),
        ("cluster", r"^src/cluster/", ("advisor", "compare", "baseline", "cluster")),
        # Every command may reach these: they count but for units that leave them to other tests.
        ("recipes", r"^src/recipes/", (ALWAYS,)),
        ("exporters", r"^src/exporters/", (ALWAYS,)),
        ("dumps", r"^src/precision/", (ALWAYS,)),
    )
}
ALL_PARTS = frozenset(PARTS)


def digest_of(*texts):
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text if isinstance(text, bytes) else str(text).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def first_text(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def machine():
    """What of this machine a test may notice."""
    processor = re.search(rb"(?m)^(flags|Features)\s*:.*$", first_text("/proc/cpuinfo"))
    return (
        platform.release(),
        platform.machine(),
        processor[0] if processor else b"",
        os.cpu_count(),
        os.geteuid(),
        digest_of(first_text("/var/lib/dpkg/status")),
        Path("/dev/nvidiactl").exists(),
    )


def variables():
    """The variables that programs under test read, but for those that name a folder, whose contents
    are looked at as such, and the one by which Python writes nothing beside its sources."""
    wanted = re.compile(r"^(SONDE_|PYTHON|LC_|OMP_|CUDA_|LANG$|TZ$|PRESET$|XDG_)")
    elsewhere = ("SONDE_SHARED_DATA", "PYTHONDONTWRITEBYTECODE")
    return sorted(f"{k}={v}" for k, v in os.environ.items()
                  if wanted.match(k) and k not in elsewhere)  # fmt: skip


def packages_of(python):
    """Names and versions of all packages that an interpreter has, with its own version."""
    program = (
        "import importlib.metadata as m, sys; print(sys.version, "
        "sorted({(str(d.name), str(d.version)) for d in m.distributions()}))"
    )
    return subprocess.run(
        [python, "-c", program], check=True, capture_output=True, text=True
    ).stdout


@functools.cache
def own_packages():
    found = {(str(d.name), str(d.version)) for d in importlib.metadata.distributions()}
    return f"{platform.python_version()} {sorted(found)}"


def source_of(name):
    """src/base/clock.cc.o of an object's src/base/CMakeFiles/sonde_base.dir/clock.cc.o."""
    return re.sub(r"CMakeFiles/[^/]+\.dir/", "", name)


def parts_named(texts):
    """The parts of the command that tests of these sources reach."""
    texts = list(texts)
    return frozenset(
        name for name, part in PARTS.items() if any(part.words.search(text) for text in texts)
    )


def texts_of_tests(names):
    """Of what was opened: where tests say what they start, in Python or as cases."""
    return [name for name in names if name.startswith("test/") and name.endswith((".py", ".txt"))]


def parts_of(known):
    """Of a pass that was kept; older ones distinguish only the page. A part that was then
    counted with the rest is left out here: the digest differs, and the pass is not believed."""
    if "page" in known:
        return ALL_PARTS if known["page"] else ALL_PARTS - {"page"}
    return frozenset(known["parts"])


class UnitMemory:
    """Of one run. `presets` are the build folders whose programs the units may open."""

    def __init__(self, presets, surroundings=(), fresh=False):
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.folder = cache / "sonde" / "tests"
        self._fresh = fresh
        self._data = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
        self._builds = [
            ROOT / "build" / preset / part for preset in presets for part in ("bin", "lib")
        ]
        self._commands = [folder / "sonde" for folder in self._builds if folder.name == "bin"]
        duckdb = [first_text(ROOT / "setup" / "duckdb.lock")]
        self._base = digest_of(
            FORMAT, *machine(), *variables(), own_packages(), *duckdb, *self._data_folders(),
            *surroundings,
        )  # fmt: skip
        self._digests = {}
        self._names = {str(path) for path in source_tree.tracked_files("")}
        self._inside = self._names | {str(p) for name in self._names for p in Path(name).parents}
        self._linked_from = {
            command: self._linked(command) for command in self._commands if command.is_file()
        }  # now: a unit may configure the build folder again
        self._watch = self._start_watch()

    def _data_folders(self):
        """Whether a part of the data is there is asked without opening anything."""
        top = self._data.resolve()
        return sorted(os.path.relpath(folder, top) for folder, _, _ in os.walk(top))

    def _start_watch(self):
        folders = [ROOT, self._data.resolve(), *self._builds]
        outputs = [ROOT / name for name in ("build", "dist", "demo", "demo-vllm", "demo-mindspore")]
        with contextlib.suppress(OSError):
            return OpenedFiles([path for path in folders if path.is_dir()], outputs)
        return None  # another system, or not root: nothing is remembered

    def begin(self):
        """Of what the calling thread starts from now on; None where nothing can be seen."""
        with contextlib.suppress(OSError):
            return self._watch.begin() if self._watch else None
        return None

    # -- names of what can be opened

    def _name_of(self, path):
        """The name under which a path is an input; None where it is an output, or not ours."""
        path = Path(path)
        for top, mark in ((self._data.resolve(), "data"), (ROOT, "")):
            if path == top or top in path.parents:
                name = os.path.join(mark, path.relative_to(top))
                break
        else:
            return None
        if mark or path.is_dir() or name in self._names:
            return name
        return name if path.parent in self._builds and path.is_file() else None

    def _path_of(self, name):
        top, _, rest = name.partition("/")
        return self._data.resolve() / rest if top == "data" else ROOT / name

    # -- what they hold

    def _digest(self, name, parts):
        path = self._path_of(name)
        if path in self._commands:
            return self._command_digest(path, parts)
        key = str(path)
        try:
            status = path.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._digests.get(key, (None,))[0] != stamp:
                self._digests[key] = (stamp, self._content(path, name))
        except OSError:
            return "absent"
        return self._digests[key][1]

    def _content(self, path, name):
        if not path.is_dir():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        names = sorted(entry.name for entry in path.iterdir() if entry.name != "__pycache__")
        if name.partition("/")[0] != "data":  # what is built or written in the tree is no input
            prefix = "" if name == "." else f"{name}/"
            names = [n for n in names if prefix + n in self._inside]
        if name.partition("/")[0] == "test":  # Python lists where it imports from: no other test
            names = [n for n in names if not TEST_FILE.fullmatch(n)]
        return digest_of(*names)

    def _command_digest(self, path, parts):
        """Of what the command is linked from, with these parts of PARTS alone."""
        key = (str(path), parts)
        if key not in self._digests:
            linked = self._linked_from.get(path)
            without = [part.objects for name, part in PARTS.items() if name not in parts]
            self._digests[key] = (
                digest_of(linked[0], *(
                    text for name, digest in sorted(linked[1].items())
                    if not any(one.search(name) for one in without) for text in (name, digest)))
                if linked else hashlib.sha256(path.read_bytes()).hexdigest()
            )  # fmt: skip
        return self._digests[key]

    def _linked(self, path):
        """The command that links it, and the digest of each object; None where they are unknown."""
        build = path.parents[1]
        ask = ["ninja", "-C", str(build), "--quiet", "-t"]
        done = [
            subprocess.run([*ask, tool, "bin/sonde"], capture_output=True, text=True, check=False)
            for tool in ("inputs", "commands")
        ]
        if any(one.returncode != 0 for one in done):
            return None
        objects = [line for line in done[0].stdout.split("\n") if line.endswith(".o")]
        if not all((build / name).is_file() for name in objects):  # older than its sources
            return None
        link = done[1].stdout.rstrip().rsplit("\n", 1)[-1].replace(str(ROOT), ".")
        digests = {source_of(name): hashlib.sha256((build / name).read_bytes()).digest()
                   for name in objects}  # fmt: skip
        return link, digests

    # -- passes

    def _place(self, unit):
        return self.folder / digest_of(self._base, unit.title, *unit.key)[:40]

    def recall(self, unit):
        """What a pass of this unit with the same inputs reported, or None."""
        passes = sorted(self._place(unit).glob("*.json"), key=lambda p: p.stat().st_mtime)
        for path in reversed([] if self._fresh else passes):
            with contextlib.suppress(OSError, ValueError, KeyError):
                known = json.loads(path.read_text())
                parts = parts_of(known)
                if not set(known.get("elsewhere", ())) <= unit.elsewhere:
                    continue  # it left to other tests what now is this one's
                if all(self._digest(name, parts) == d for name, d in known["inputs"].items()):
                    os.utime(path)
                    return known["report"]
        return None

    def seconds(self, unit):
        """How long the unit took when it last passed, with whatever inputs; None if never."""
        passes = sorted(self._place(unit).glob("*.json"), key=lambda p: p.stat().st_mtime)
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
            return json.loads(passes[-1].read_text())["seconds"]
        return None

    def _inputs(self, unit, interval, began):
        """{name: digest}, and the parts of the command; None if one input changed meanwhile."""
        names = set(filter(None, map(self._name_of, interval.opened)))
        names |= {unit.source} if unit.source else set()
        parts = ALL_PARTS  # of programs and of the page
        if unit.source and not unit.page:
            parts = parts_named(map(source_tree.read, texts_of_tests(names))) - unit.elsewhere
        for name in names:
            path = self._path_of(name)
            if path.is_file() and path.stat().st_mtime > began:
                return None, parts
        return {name: self._digest(name, parts) for name in sorted(names)}, parts

    def keep(self, unit, interval, began, seconds, report):
        """Remembers a pass; not where it is unknown what the unit has opened."""
        if interval is None or not self._watch.end(interval).complete:
            return False
        inputs, parts = self._inputs(unit, interval, began)
        if not inputs:
            return False
        text = json.dumps(
            {
                "inputs": inputs,
                "parts": sorted(parts),
                "elsewhere": sorted(unit.elsewhere),
                "report": report,
                "seconds": round(seconds, 1),
            }
        )
        place = self._place(unit)
        place.mkdir(parents=True, exist_ok=True)
        partial = place / f"{os.getpid()}-{time.monotonic_ns()}.partial"
        partial.write_text(text)
        partial.rename(place / f"{digest_of(text)[:20]}.json")
        passes = sorted(place.glob("*.json"), key=lambda p: p.stat().st_mtime)
        for path in passes[:-KEPT_PASSES]:
            path.unlink(missing_ok=True)
        return True

    def drop(self, interval):
        """Of a unit that failed."""
        if interval is not None:
            self._watch.end(interval)
