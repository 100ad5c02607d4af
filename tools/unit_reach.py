"""Which files of this tree the tests of one unit can open, by what their sources name.

The kernel reports what was opened while a unit ran, and others ran beside it (opened_files.py): a
server's tests take a quarter of an hour, and without this they would depend on all that the suite
opens meanwhile, each C++ test program among it. A unit's sources are its file, the helpers of its
folder and every script of the tree that one of them names; what lies in a folder that no source
names is another unit's. A unit that runs alone depends on all that is opened, and shows what this
misses (unit_memory.py).
"""

import functools
import os
import re

import source_tree

# They look at the tree as a whole.
REACH_ALL = ("test/lint/", "test/wheel/")

# What every test may open without naming it: the package, reference data, the tree's set-up.
ALWAYS = ("python", "data", "pyproject.toml", ".")

TEST_FILE = re.compile(r"test_.*\.py|.*\.test\.ts")
SCRIPTS = (".py", ".sh", ".ts", ".mjs")
SCRIPT_FOLDERS = ("test", "tools", "setup", "examples", "web/e2e")


# What names a script: an import of Python, or the file's name.
NAMES = re.compile(r"(?m)^\s*(?:from|import) +(\w+)|([\w.-]+\.(?:py|sh|ts|mjs))\b")


@functools.cache
def _scripts():
    """{file name: {path}} of the scripts that sources may name."""
    found = {}
    for path in source_tree.tracked_files(*SCRIPTS):
        if str(path).startswith(tuple(f"{folder}/" for folder in SCRIPT_FOLDERS)):
            found.setdefault(path.name, set()).add(str(path))
    return found


@functools.cache
def _named_scripts(path):
    found = set()
    for module, file in NAMES.findall(source_tree.read(path)):
        found |= _scripts().get(file or f"{module}.py", set())
    return {path for path in found if os.path.basename(path) != "conftest.py"}


def _helpers(folder):
    """Scripts of a folder of tests, and of those below it, that are no tests."""
    return {
        path
        for paths in _scripts().values()
        for path in paths
        if path.startswith(f"{folder}/") and not TEST_FILE.fullmatch(os.path.basename(path))
    }


@functools.cache
def sources(source):
    """The files that define what the unit of this file does: names from the root."""
    found, todo = set(), {source, "test/conftest.py", *_helpers(os.path.dirname(source))}
    while todo:
        path = todo.pop()
        if path not in found and (source_tree.ROOT / path).is_file():
            found.add(path)
            todo |= _named_scripts(path)
    return frozenset(found)


# How sources write the folder above their own, test/: ROOT / "test", "test/", parents[1] /
TESTS = r"""(?:\btest|\bparents\[1\]|\bparent\.parent)["'\s,/]+"""
TOP = r"""["'/]"""


@functools.cache
def _is_named(source, name, before=TOP):
    """Whether a source of the unit has the name as a part of a path."""
    wanted = re.compile(rf"{before}{re.escape(name)}(?!\w)")
    return any(wanted.search(source_tree.read(path)) for path in sources(source))


def _can_open_test(unit, folder, rest):
    own = os.path.dirname(unit.source)
    if folder != own and not _is_named(unit.source, os.path.basename(folder), TESTS):
        return False
    if rest.startswith("cases/"):  # test/e2e/transcript.py: a unit has a file of them
        return rest == f"cases/{unit.environment.get('SONDE_CASES')}.txt"
    is_test = TEST_FILE.fullmatch(os.path.basename(rest)) is not None
    return not is_test or f"{folder}/{rest}" in sources(unit.source)


def _can_open_built(unit, name):
    """build/dev/bin/sonde, build/dev/lib/libsonde_record.so: every test may use the product."""
    file = os.path.basename(name)
    if unit.source:
        return "/lib" in name or file == "sonde" or _is_named(unit.source, file)
    if unit.report == "gtest":
        return "/lib" in name or file == os.path.basename(unit.command[0])
    return not re.fullmatch(r"sonde_\w+_test", file)


@functools.cache
def _text_of_program(program):
    """Of the sources of its folder's tests; sonde_cli_fuzz_test is one of src/cli."""
    folder = os.path.basename(program).split("_")[1]
    paths = source_tree.tracked_files("_test.cc", ".h")
    return "".join(source_tree.read(p) for p in paths if source_tree.folder_of(p) == folder)


def _program_can_open(unit, name):
    """A GoogleTest program starts no command and imports nothing; it names what it reads."""
    if unit.report != "gtest" or name.partition("/")[0] in ("src", "docs", "web", "data", "."):
        return True
    if any(name in value for value in unit.environment.values()):  # what is suppressed
        return True
    is_script = name.endswith(".py")
    named = name if is_script else "/".join(name.split("/")[:2])
    return f'"/{named}' in _text_of_program(unit.command[0])


def can_open(unit, name):
    """Whether the unit's own tests can have opened this file or folder, named from the root."""
    top, _, rest = name.partition("/")
    if top == "build":
        return _can_open_built(unit, name)
    if not unit.source:
        return _program_can_open(unit, name)
    if unit.source.startswith(REACH_ALL) or top in ALWAYS or name in ("test", "test/conftest.py"):
        return True
    if unit.page and top in ("web", "docs", "src"):
        return not TEST_FILE.fullmatch(os.path.basename(name)) or name in sources(unit.source)
    if top == "test":
        folder, _, rest = rest.partition("/")
        return _can_open_test(unit, f"test/{folder}", rest)
    return _is_named(unit.source, top)
