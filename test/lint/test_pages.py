"""Scripts of the documents, on small trees: marked blocks are held to their commands, Chinese pages
to the English ones, and output is written from transcripts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ENGLISH = """# Title

Words.

<!-- output head=2: sonde cluster -d demo -->
```text
$ sonde cluster -d demo
rank 1 is slow
```

<!-- file: config.json -->
```json
{}
```

## Next

```
sonde view demo    # the page
```

See [other](view.md).
"""
CHINESE = """# 标题

文字。

<!-- output head=2: sonde cluster -d demo -->
```text
$ sonde cluster -d demo
rank 1 is slow
```

<!-- file: config.json -->
```json
{}
```

## 接着

```
sonde view demo    # 页面
```

见[其他](view.zh.md)。
"""


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    """A tree with a page in both languages that are in step."""
    shutil.copytree(
        ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "docs").mkdir()
    for name, text in (("cluster.md", ENGLISH), ("cluster.zh.md", CHINESE)):
        (tmp_path / "docs" / name).write_text(text)
    (tmp_path / "config.json").write_text("{}\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert run(tree := tmp_path, "check_pages.py", "--stamp", "docs/cluster.zh.md").returncode == 0
    return tree


def run(tree, script, *arguments, **environment):
    return subprocess.run(
        [sys.executable, str(tree / "tools" / script), *map(str, arguments)], cwd=tree, text=True,
        capture_output=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )  # fmt: skip


def change(tree, name, old, new):
    path = tree / "docs" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_pages_in_step_pass(tree):
    done = run(tree, "check_pages.py")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "name, old, new, complaint",
    [
        ("cluster.md", "$ sonde cluster -d demo", "$ sonde cluster -d other", "not the output"),
        ("cluster.md", "rank 1 is slow\n", "", "the marked block is empty"),
        ("cluster.md", "demo -->\n```text", "demo -->\n\nmore\n\n```text", "no fenced block"),
        ("cluster.md", "{}", "{1}", "differs from config.json"),
        ("cluster.md", "sonde view demo ", "$ sonde view demo ", "output that no mark names"),
        ("cluster.md", "Words.", "Other words.", "'标题' was translated from an earlier 'Title'"),
        ("cluster.md", "## Next", "## Then", "from an earlier 'Then'"),
        ("cluster.md", "## Next", "### Next", "other headings"),
        ("cluster.zh.md", "sonde view demo ", "sonde view other ", "other commands below '接着'"),
        ("cluster.zh.md", "head=2", "head=3", "other marked blocks below '标题'"),
        ("cluster.zh.md", "(view.zh.md)", "(compare.zh.md)", "other links below '接着'"),
        ("cluster.zh.md", "<!-- en:", "<!-- was:", "no stamp below '标题'"),
    ],
)
def test_pages_out_of_step_are_refused(tree, name, old, new, complaint):
    change(tree, name, old, new)
    done = run(tree, "check_pages.py")
    assert done.returncode == 1
    assert complaint in done.stdout


def test_new_output_needs_no_new_translation(tree):
    for name in ("cluster.md", "cluster.zh.md"):
        change(tree, name, "rank 1 is slow", "rank 0 is slow")
    assert run(tree, "check_pages.py").returncode == 0


@pytest.fixture(name="recorded")
def make_recorded(tree):
    """Transcripts of a demo, and a command that prints its words."""
    folder = tree / "build" / "transcripts"
    folder.mkdir(parents=True)
    (folder / "demo.txt").write_text(
        "\n$ sonde run -- python3 a.py\nran\n\n$ sonde cluster -d demo\n"
        f"\x1b[1mread {tree}/demo/rank0_123_20260101120000123_ascend_pt\x1b[0m\n"
        "Parsing: 2/2 Done\nsecond\nthird\n"
    )
    (folder / "gallery.txt").write_text("")
    (tree / "bin").mkdir()
    (tree / "bin" / "sonde").write_text('#!/bin/sh\necho "asked: $*"\n')
    (tree / "bin" / "sonde").chmod(0o755)
    return tree


def test_outputs_are_written_from_transcripts(recorded):
    (recorded / "config.json").write_text('{"level": 1}\n')
    done = run(recorded, "docs_outputs.py", "bin")
    assert done.returncode == 0, done.stderr
    for name in ("cluster.md", "cluster.zh.md"):
        text = (recorded / "docs" / name).read_text()
        assert (
            "$ sonde cluster -d demo\nread demo/rank0_<pid>_<time>_ascend_pt\nsecond\n...\n" in text
        )
        assert '{"level": 1}\n' in text
    assert run(recorded, "check_pages.py").returncode == 0
    assert run(recorded, "docs_outputs.py", "bin").stdout == ""  # a second time changes nothing


def test_analyses_without_a_transcript_are_run(recorded):
    change(recorded, "cluster.md", "output head=2: sonde cluster -d demo", "output: sonde query x")
    assert run(recorded, "docs_outputs.py", "bin", "docs/cluster.md").returncode == 0
    assert "$ sonde query x\nasked: query x\n" in (recorded / "docs/cluster.md").read_text()


@pytest.mark.parametrize(
    "mark, complaint",
    [
        ("output: sonde run -- python3 b.py", "only analyses are run here"),
        ("output: rm demo", "only analyses are run here"),
        ("output from=missing_words: sonde cluster -d demo", "no line of the output has 'missing"),
    ],
)
def test_outputs_that_cannot_be_had_are_named(recorded, mark, complaint):
    change(recorded, "cluster.md", "output head=2: sonde cluster -d demo", mark)
    done = run(recorded, "docs_outputs.py", "bin")
    assert done.returncode == 1
    assert complaint in done.stderr


def test_outputs_need_a_recorded_demo(tree):
    done = run(tree, "docs_outputs.py", "bin")
    assert done.returncode == 1
    assert "run make demo OPEN=0" in done.stderr
