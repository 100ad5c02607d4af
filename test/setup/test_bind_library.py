"""setup/bind_library.py: a bound library does the same without looking its own symbols up."""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "setup" / "bind_library.py"

# A symbol of each kind: called, pointed to, of another library, unique in a process, of a thread,
# chosen by a function.
SOURCE = """
#include <cstdlib>
#include <typeinfo>
extern "C" {
int seven() { return 7; }
int calls() { return seven() + std::abs(-1); }  // 8
int (*pointer)() = seven;
int (*foreign)(int) = std::abs;
thread_local int of_thread = 3;
int* place_of_thread() { return &of_thread; }
static int chosen_one() { return 5; }
static int (*choose())() { return chosen_one; }
int chosen() __attribute__((ifunc("choose")));
int calls_chosen() { return chosen(); }
}
struct Shape { virtual int sides() { return 0; } virtual ~Shape() = default; };
struct Square : Shape { int sides() override { return 4; } };
template <class T> int& counter() { static int count = 0; return count; }  // unique
template int& counter<long>();
extern "C" int sides() {
  Shape* shape = new Square;
  int n = shape->sides();
  delete shape;
  return n;
}
extern "C" int count() { return ++counter<long>(); }
extern "C" bool is_square() {
  Square square; Shape& shape = square;
  return dynamic_cast<Square*>(&shape) != nullptr && typeid(shape) == typeid(Square);
}
"""
USE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=int(sys.argv[2]) | 8)  # RTLD_DEEPBIND
functions = "calls sides count count is_square calls_chosen".split()
print([getattr(library, name)() for name in functions])
get = lambda name, *types: ctypes.CFUNCTYPE(ctypes.c_int, *types).in_dll(library, name)
library.place_of_thread.restype = ctypes.POINTER(ctypes.c_int)
print(get("pointer")(), get("foreign", ctypes.c_int)(-9), library.place_of_thread()[0])
"""
RTLD_LAZY, RTLD_NOW = os.RTLD_LAZY, os.RTLD_NOW

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="binds x86-64 only")


@pytest.fixture(scope="module", name="library")
def compile_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bind")
    (folder / "library.cc").write_text(SOURCE)
    command = ["g++", "-shared", "-fPIC", "-O1", "-Wl,-z,lazy", "library.cc", "-o", "library.so"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "library.so"


def bind(source, output):
    command = [sys.executable, SCRIPT, source, output]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def relocations(library):
    """(kind, name) of each relocation."""
    done = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True)
    return re.findall(r"(R_X86_64_\w+) +[0-9a-f]+(?: +([^ @\n]+))?", done.stdout)


@pytest.mark.parametrize("mode", [RTLD_LAZY, RTLD_NOW])
def test_a_bound_library_does_the_same(library, tmp_path, mode):
    bound = tmp_path / "bound.so"
    done = bind(library, bound)
    assert done.returncode == 0, done.stderr
    expected = "[8, 4, 1, 2, 1, 5]\n7 9 3\n"
    for path in (library, bound):
        command = [sys.executable, "-c", USE, path, str(mode)]
        assert (
            subprocess.run(command, capture_output=True, text=True, check=True).stdout == expected
        )


def test_what_is_bound(library, tmp_path):
    bound = tmp_path / "bound.so"
    done = bind(library, bound)
    assert int(done.stdout.split()[0]) >= 6
    before, after = relocations(library), relocations(bound)
    assert len(before) == len(after)
    assert ("R_X86_64_64", "seven") in before
    left = {name for kind, name in after if kind in ("R_X86_64_64", "R_X86_64_GLOB_DAT")}
    assert not left & {"seven", "pointer", "_ZTV6Square", "_ZTI6Square", "_ZN6Square5sidesEv"}
    assert "abs" in left
    assert any(name.startswith("_ZZ7counterIlE") for name in left)
    kinds = [kind for kind, _ in after]
    first_other = next(i for i, kind in enumerate(kinds) if kind != "R_X86_64_RELATIVE")
    assert "R_X86_64_RELATIVE" not in kinds[first_other:]
    dynamic = subprocess.run(["readelf", "-dW", bound], capture_output=True, text=True, check=True)
    assert int(re.search(r"RELACOUNT\) +(\d+)", dynamic.stdout)[1]) == first_other


def test_its_own_calls_need_no_look_up(library, tmp_path):
    """The dynamic linker's own report."""
    bound = tmp_path / "bound.so"
    bind(library, bound)
    looked_up = []
    for path in (library, bound):
        environment = {**os.environ, "LD_DEBUG": "bindings"}
        command = [sys.executable, "-c", USE, path, str(RTLD_LAZY)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        lines = [line for line in done.stderr.splitlines() if f"binding file {path} " in line]
        looked_up.append({re.search(r"symbol `([^']*)'", line)[1] for line in lines})
    assert {"seven", "_ZTV6Square", "abs"} <= looked_up[0]
    assert not {"seven", "_ZTV6Square"} & looked_up[1]
    assert "abs" in looked_up[1]


def test_the_library_is_found_damaged(library, tmp_path):
    data = library.read_bytes()
    for name, content in {
        "empty.so": b"",
        "text.so": b"no library\n" * 100,
        "cut.so": data[: len(data) // 2],
        "header.so": data[:64],
    }.items():
        (tmp_path / name).write_bytes(content)
        done = bind(tmp_path / name, tmp_path / "out.so")
        assert done.returncode == 1, name
        assert done.stderr.startswith("cannot bind the symbols of ")
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "out.so").exists()
    assert bind(tmp_path / "absent.so", tmp_path / "out.so").returncode == 1
