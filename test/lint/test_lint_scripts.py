"""The lint scripts refuse what they claim to: each is run on a small tree with a planted fault."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLEAN_TREE = {
    "Makefile": "build:\n\ttrue\n",
    "README.md": "`make build`, then `sonde run`; `src/base/a.h`, [b](src/cli/cmd_run.cc).\n",
    "src/base/CMakeLists.txt": "sonde_library(base SOURCES a.cc)\n",
    "src/base/a.h": "#pragma once\nint Five();\n",
    "src/base/a.cc": '#include "base/a.h"\nint Five() { return 5; }\n',
    "src/record/b.cc": '#include "base/a.h"\nint Six() { return Five() + 1; }\n',
    "src/store/c.cc": "#include <duckdb.h>\n",
    "python/sonde/torch/a.py": "import torch\nfrom sonde import _native\nfrom . import b\n",
    "python/sonde/_inject/_hosts.py": "from sonde.vllm import _server\n",
    "src/cli/cmd_run.cc": '#include "base/a.h"\nint main() { return Five(); }\n',
}


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    """A small tree that all lint scripts accept, with the scripts inside."""
    shutil.copytree(
        ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, text in CLEAN_TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def lint(tree, script, *arguments, python=sys.executable):
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tree / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [python, str(tree / "tools" / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(
    "script",
    [
        "check_layers.py",
        "check_sizes.py",
        "check_docs.py",
        "check_rpaths.py",
        "check_writes.py",
        "check_output.py",
    ],
)
def test_clean_tree_passes(tree, script):
    done = lint(tree, script)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "path, text, complaint",
    [
        ("src/base/a.cc", '#include "cli/x.h"\n', "base may not use cli"),
        (
            "src/adapt/python/a.cc",
            '#include "adapt/torch/x.h"\n',
            "adapt/python may not use other adapters",
        ),
        ("src/record/b.cc", "#include <fmt/core.h>\n", "record is loaded into user processes"),
        (
            "src/base/a.h",
            "#include <nlohmann/json.hpp>\n",
            "slow header nlohmann/json.hpp belongs into a .cc",
        ),
        (
            "src/cli/cmd_run.cc",
            "#include <duckdb.h>\n",
            "heavy header duckdb.h is used by more than one folder",
        ),
        ("src/base/a.cc", '#include "../base/a.h"\n', "not relative"),
        (
            "src/base/CMakeLists.txt",
            "sonde_library(base DEPS sonde_store)\n",
            "base may not link store",
        ),
        ("include/sonde/sonde.h", '#include "base/a.h"\n', "a public header may include only"),
        (
            "python/sonde/x.py",
            "import tools.check_docs\n",
            "python/ may not import tools.check_docs",
        ),
        ("src/odd/CMakeLists.txt", "", "folder 'odd' has no place"),
        ("python/sonde/odd.py", "", "'odd' has no place"),
        ("python/sonde/torch/x.py", "from sonde.vllm import y\n", "torch may not use vllm"),
        ("python/sonde/torch/x.py", "from sonde import vllm\n", "torch may not use vllm"),
        ("python/sonde/torch/x.py", "from .._inject import y\n", "torch may not use _inject"),
        ("python/sonde/_native.py", "def f():\n    import sonde.torch.x\n", "_native may not use"),
        ("python/sonde/mstx.py", "from . import torch\n", "mstx may not use torch"),
    ],
)
def test_layers_are_kept(tree, path, text, complaint):
    for folder in ("cli", "adapt/torch"):
        (tree / "src" / folder).mkdir(parents=True, exist_ok=True)
        (tree / "src" / folder / "x.h").write_text("#pragma once\n")
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    done = lint(tree, "check_layers.py")
    assert done.returncode == 1
    assert complaint in done.stdout


@pytest.mark.parametrize(
    "path, text, complaint",
    [
        (
            "src/base/a.cc",
            "int Long() {\n" + "  Call();\n" * 80 + "}\n",
            "Long: 82 lines; a function ends at 80",
        ),
        ("src/base/a.cc", "\n" * 801, "801 lines; a source ends at 800"),
        ("src/base/a.h", "\n" * 401, "401 lines; a header ends at 400"),
        (
            "tools/x.py",
            "def long():\n" + "    call()\n" * 80,
            "long: 81 lines; a function ends at 80",
        ),
    ],
)
def test_sizes_are_kept(tree, path, text, complaint):
    (tree / path).write_text(text)
    done = lint(tree, "check_sizes.py")
    assert done.returncode == 1
    assert complaint in done.stdout


def test_soft_size_is_only_noted(tree):
    (tree / "src/base/a.cc").write_text("int Long() {\n" + '  Call("{");\n' * 60 + "}\n")
    done = lint(tree, "check_sizes.py")
    assert done.returncode == 0
    assert "note: src/base/a.cc:1: Long: 62 lines" in done.stdout


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("See `src/base/gone.h`.", "no such path: src/base/gone.h"),
        ("See [this](docs/gone.md).", "dead link: docs/gone.md"),
        ("Run `make paint`.", "no such target: make paint"),
        ("```\n$ sonde fly --high\n```", "no such command: sonde fly"),
    ],
)
def test_docs_are_kept_true(tree, text, complaint):
    (tree / "README.md").write_text(text + "\n")
    done = lint(tree, "check_docs.py")
    assert done.returncode == 1
    assert complaint in done.stdout


def write_commands(tree, *sources):
    """What cmake writes for these files, names from the root."""
    (tree / "build" / "dev").mkdir(parents=True, exist_ok=True)
    entries = [
        {
            "directory": str(tree),
            "file": str(tree / name),
            "command": f"g++ -I{tree}/src -o a.o -c {tree}/{name}",
        }
        for name in sources
    ]
    (tree / "build" / "dev" / "compile_commands.json").write_text(json.dumps(entries))


def commit_all(tree, days_ago):
    """All files, as of so many days ago."""
    date = f"{int(time.time()) - days_ago * 86400} +0000"
    environment = {**os.environ, "GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
    git = ["git", "-C", str(tree), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True, env=environment)


def test_header_check_finds_a_header_that_needs_another(tree):
    write_commands(tree, "src/base/a.cc")
    assert lint(tree, "check_cpp.py", "headers").returncode == 0
    for name in ("a.h", "shared.h"):
        (tree / "src/base" / name).write_text("#pragma once\nstd::string Five();\n")
    done = lint(tree, "check_cpp.py", "headers")
    assert done.returncode == 1
    assert "src/base/shared.h alone" in done.stdout
    assert "src/base/a.h alone" not in done.stdout, "a.cc includes it first"
    assert "src/base/a.h alone" in lint(tree, "check_cpp.py", "headers", "--all").stdout


def test_what_did_not_change_is_not_compiled_again(tree):
    write_commands(tree, "src/base/a.cc")
    (tree / ".gitignore").write_text("build/\ncache/\n")
    (tree / "src/base/old.h").write_text("#pragma once\nstd::string Old();\n")
    commit_all(tree, days_ago=9)
    (tree / "src/base/new.h").write_text("#pragma once\n")
    commit_all(tree, days_ago=1)
    done = lint(tree, "check_cpp.py", "headers")
    assert done.returncode == 0
    assert "  1 files," in done.stdout
    done = lint(tree, "check_cpp.py", "headers", "--all")
    assert done.returncode == 1
    assert "src/base/old.h alone" in done.stdout


def test_sources_that_are_compiled_together_are_looked_at_together(tree):
    unit = tree / "build/dev/unity_0.cxx"
    unit.parent.mkdir(parents=True)
    unit.write_text("".join(f'#include "{name}"\n' for name in ("base/a.cc", "record/b.cc")))
    write_commands(tree, "build/dev/unity_0.cxx", "src/cli/cmd_run.cc")
    (tree / ".gitignore").write_text("build/\ncache/\n")
    (tree / ".clang-tidy").write_text(
        "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\nHeaderFilterRegex: 'src/.*'\n"
    )
    commit_all(tree, days_ago=9)
    (tree / "src/record/b.cc").write_text('#include "base/a.h"\nint* Six() { return 0; }\n')
    commit_all(tree, days_ago=1)
    command = [str(ROOT / "setup" / "python.sh"), "lint"]
    with_tools = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    done = lint(tree, "check_cpp.py", "tidy", python=with_tools)
    assert done.returncode == 1, done.stderr
    assert "1 files, 0 known to pass, 1 failed" in done.stdout
    assert "src/record/b.cc" in done.stdout and "use nullptr" in done.stdout


@pytest.mark.parametrize(
    "path, text, complaint",
    [
        (
            "src/base/a.cc",
            "int F() {\n  return open(path, O_WRONLY | O_CREAT |\n    O_TRUNC, 0666);\n}\n",
            "src/base/a.cc:2: O_CREAT without O_EXCL",
        ),
        ("src/base/a.cc", "int F() { return open(path, O_RDWR | O_CREAT | O_EXCL); }\n", None),
        ("src/base/a.cc", "// by O_CREAT\nint F();\n", None),
        (
            "src/base/a.cc",
            'auto f = std::fopen(path.c_str(), "wbe");\n',
            'fopen with the mode "wbe"',
        ),
        ("src/base/a.cc", "auto f = std::fopen(Name(x, y), mode);\n", "fopen with the mode mode"),
        ("src/base/a.cc", 'auto f = std::fopen(path.c_str(), "re");\n', None),
        ("src/base/a.cc", "std::ofstream(path) << 1;\n", "a stream that opens by name"),
        ("src/base/a_test.cc", "std::ofstream(path) << 1;\n", None),
        ("python/sonde/x.py", 'open(path, "w")\n', "x.py:1: open() for writing without an opener"),
        ("python/sonde/x.py", "open(path, mode=how)\n", "open() for writing without an opener"),
        ("python/sonde/x.py", 'gzip.open(path, "ab")\n', "open() for writing without an opener"),
        ("python/sonde/x.py", 'open(path, "w", opener=create_new)\nopen(path, "rb")\n', None),
        ("python/sonde/x.py", 'self.torch.save(x, f"{name}.pt")\n', "torch.save() into a name"),
        ("python/sonde/x.py", "torch.save(x, file)\n", None),
        ("python/sonde/x.py", "path.write_text(text)\n", "write_text()"),
        ("python/sonde/x.py", "shutil.copyfile(a, b)\n", "copyfile()"),
        ("python/sonde/x.py", "os.open(path, os.O_CREAT)\n", "O_CREAT outside of _new_file.py"),
    ],
)
def test_files_are_made_so_that_links_lead_nowhere(tree, path, text, complaint):
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    refuses(lint(tree, "check_writes.py"), complaint)


SEARCH_PATHS = [
    ("$ORIGIN/../lib", None),
    ("$ORIGIN", None),
    ("$ORIGIN/../lib:", "an empty part, which is the current folder"),
    (":$ORIGIN", "an empty part, which is the current folder"),
    ("$ORIGIN/../lib:/home/somebody/lib", "'/home/somebody/lib', which is not below $ORIGIN"),
    ("lib", "'lib', which is not below $ORIGIN"),
    ("$ORIGINAL/lib", "'$ORIGINAL/lib', which is not below $ORIGIN"),
]


def refuses(done, fault):
    assert done.returncode == (fault is not None), done.stdout + done.stderr
    assert (fault or "") in done.stdout


@pytest.mark.parametrize("path, fault", SEARCH_PATHS)
def test_search_paths_of_what_is_built(tree, path, fault):
    (tree / "build" / "any" / "lib").mkdir(parents=True)
    library = tree / "build" / "any" / "lib" / "library.so"
    subprocess.run(
        ["gcc", "-shared", "-x", "c", os.devnull, f"-Wl,-rpath,{path}", "-o", library], check=True
    )
    refuses(lint(tree, "check_rpaths.py"), fault)


@pytest.mark.parametrize("path, fault", SEARCH_PATHS)
def test_search_paths_of_what_would_be_linked(tree, path, fault):
    (tree / "build" / "dev").mkdir(parents=True)
    word = path.replace("$", "\\$$")
    text = f'  LINK_LIBRARIES = -Wl,-rpath,"{word}"  lib/libx.so\n'
    (tree / "build" / "dev" / "build.ninja").write_text(text)
    refuses(lint(tree, "check_rpaths.py"), fault)


def test_a_library_needed_by_its_path_is_refused(tree):
    libraries = tree / "build" / "any" / "lib"
    libraries.mkdir(parents=True)
    compile_one = ["gcc", "-shared", "-x", "c", os.devnull, "-o"]
    subprocess.run([*compile_one, libraries / "nameless.so"], check=True)
    subprocess.run(
        [*compile_one, libraries / "user.so", "-Wl,--no-as-needed", "-x", "none",
         libraries / "nameless.so"], check=True,
    )  # fmt: skip
    refuses(lint(tree, "check_rpaths.py"), "user.so: needs")


@pytest.mark.parametrize(
    "path, text, complaint",
    [
        ("src/cli/a.cc", 'std::printf("%s", name);\n', "src/cli/a.cc:1: output that bypasses"),
        ("src/cli/a.cc", "std::fwrite(a, 1, n, stdout);\n", "output that bypasses PrintText"),
        ("src/serve/a.cc", "std::cerr << name;\n", "output that bypasses PrintText"),
        ("src/cli/a.cc", 'std::snprintf(a, n, "%d", 1);\n// std::printf\n', None),
        ("src/record/a.cc", 'std::fprintf(stderr, "x");\n', None),
        ("src/cli/dispatch.cc", 'std::printf("x");\n', None),
        ("src/cli/a_test.cc", 'std::printf("x");\n', None),
        ("src/compare/a.cc", "csv.RawText(name);\n", "a csv cell that a spreadsheet may run"),
        ("src/record/a.cc", 'Read("/proc/self/cmdline");\n', "without base/secrets.h"),
        ("src/record/a.cc", '#include "base/secrets.h"\nchar** all = environ;\n', None),
    ],
)
def test_foreign_text_has_one_way_out(tree, path, text, complaint):
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    refuses(lint(tree, "check_output.py"), complaint)
