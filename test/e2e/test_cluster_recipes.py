"""`sonde cluster --recipe-dir`: the recipe of docs/cluster.md, its forms, and bad folders."""

import csv
import json
import re
import shutil
import sqlite3

import pytest
from conftest import ROOT

SYNTH = "ascend_pt/synth8_tp_pp_dp"
TEXT = "ascend_pt/text/level1"


@pytest.fixture(name="recipes")
def make_recipes(tmp_path):
    """A folder with the recipe of the documentation."""
    text = (ROOT / "docs" / "cluster.md").read_text()
    section = text[text.index("## Recipes of your own") :]
    folder = tmp_path / "recipes" / "longest_kernels"
    folder.mkdir(parents=True)
    for name in ("recipe.json", "rank.sql", "reduce.sql", "say.sql"):
        found = re.search(f"`{name}`.*?```[a-z]+\n(.*?)```", section, re.DOTALL)
        (folder / name).write_text(found.group(1))
    return folder.parent


@pytest.fixture(name="cluster")
def make_runner(run_sonde, recipes, shared_data, tmp_path):
    def run(*words, mode="longest_kernels", data=SYNTH, **options):
        every = ("cluster", "--recipe-dir", recipes, "-m", mode, "-d", shared_data / data)
        return run_sonde(*every, "-o", tmp_path / "out", *words, **options)

    return run


def rows_of(tmp_path, table="LongestKernels"):
    database = sqlite3.connect(tmp_path / "out/cluster_analysis_output/cluster_analysis.db")
    cursor = database.execute(f"SELECT * FROM {table}")
    rows = [[column[0] for column in cursor.description], *map(list, cursor)]
    database.close()
    return rows


def longest(shared_data):
    """The same by the databases themselves."""
    rows = []
    for path in (shared_data / SYNTH).rglob("ascend_pytorch_profiler_*.db"):
        database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        rows.append([
            int(path.stem.rsplit("_", 1)[1]),
            *database.execute(
                "SELECT max(endNs - startNs) FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)"
            ).fetchone(),
        ])  # fmt: skip
        database.close()
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def test_the_recipe_of_the_documentation(cluster, shared_data, tmp_path):
    done = cluster()
    assert done.returncode == 0, done.stderr
    names, *rows = rows_of(tmp_path)
    assert names == ["rankId", "name", "calls", "longestNs"]
    expected = longest(shared_data)
    assert [[row[0], row[3]] for row in rows] == expected
    assert f"rank {expected[0][0]} has the longest kernel, {rows[0][1]}" in done.stdout
    assert ": LongestKernels" in done.stdout


@pytest.mark.parametrize("form", ["text", "excel", "notebook"])
def test_all_forms(form, cluster, shared_data, tmp_path):
    done = cluster("--export_type", form)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out/cluster_analysis_output/longest_kernels"
    if form == "excel":
        assert (folder / "longest_kernels.xlsx").stat().st_size > 0
        return
    with (folder / "LongestKernels.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["rankId", "name", "calls", "longest(Us)"]
    assert float(rows[1][3]) == longest(shared_data)[0][1] / 1000
    if form == "notebook":
        page = (folder / "report.html").read_text()
        assert "The longest kernel of each rank" in page and "has the longest kernel" in page


def test_text_ranks_and_agent(cluster):
    done = cluster("--agent", data=TEXT)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["message"]["tables"] == ["LongestKernels"]
    assert "has the longest kernel" in answer["suggestion"]


def test_a_step_and_types(cluster, recipes, tmp_path):
    folder = recipes / "types"
    folder.mkdir()
    (folder / "recipe.json").write_text('{"summary": "Types"}')
    (folder / "rank.sql").write_text(
        "SELECT {step_id}::INT AS step, sum(dur) AS sumNs, 1.25::DECIMAL(9, 2) AS part,"
        " true AS yes, NULL AS nothing, [1, 2] AS list FROM device_task;\n"
    )
    done = cluster("--step_id", "50", mode="types")
    assert done.returncode == 0, done.stderr
    names, *rows = rows_of(tmp_path, "types")
    assert names == ["rank", "step", "sumNs", "part", "yes", "nothing", "list"]
    assert [row[0] for row in rows] == list(range(8))
    assert rows[0][1] == 50 and rows[0][2] > 0
    assert rows[0][3:6] == [1.25, 1, None]
    assert cluster("--step_id", "50").stderr.count("--step_id has no effect") == 1


def test_ranks_with_other_columns_are_named(cluster, recipes, tmp_path):
    folder = recipes / "columns"
    folder.mkdir()
    (folder / "recipe.json").write_text('{"summary": "Columns made of values"}')
    (folder / "rank.sql").write_text(
        "SELECT * FROM (PIVOT (SELECT 'of' || rank % 2 AS name, 1 AS one FROM slice LIMIT 1)"
        " ON name USING sum(one))"
    )
    done = cluster(mode="columns")
    assert done.returncode == 1
    assert "columns/rank.sql gives other columns than of rank 0" in done.stderr
    names, *rows = rows_of(tmp_path, "columns")
    assert names == ["rank", "of0"]
    assert rows == [[rank, 1] for rank in (0, 2, 4, 6)]


def test_help_lists_them(run_sonde, recipes):
    line = "longest_kernels: The longest kernel of each rank"
    assert line in run_sonde("cluster", "--recipe-dir", recipes, "--help").stdout
    by_variable = run_sonde("cluster", "--help", env={"SONDE_RECIPE_DIR": str(recipes)})
    assert line in by_variable.stdout
    assert "longest_kernels" not in run_sonde("cluster", "--help").stdout


def test_the_folder_by_its_variable(run_sonde, recipes, shared_data, tmp_path):
    done = run_sonde(
        "cluster", "-m", "longest_kernels", "-d", shared_data / SYNTH, "-o", tmp_path / "out",
        env={"SONDE_RECIPE_DIR": str(recipes)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(rows_of(tmp_path)) == 9


BAD = [
    ("recipe.json", "{", "recipe.json"),
    ("recipe.json", "[]", "is no JSON object"),
    ("recipe.json", '{"table": "A"}', "has no 'summary'"),
    ("recipe.json", '{"summary": "a", "tables": "B"}', "has 'tables', which is none of"),
    ("recipe.json", '{"summary": 1}', "'summary' is no text"),
    ("recipe.json", '{"summary": "a", "table": "a b"}', "'table' is letters, digits"),
    ("recipe.json", '{"summary": "a", "table": "SlowRank"}', "a mode of Sonde has a table"),
    ("rank.sql", " ;\n", "holds no statement"),
    ("rank.sql", None, "rank.sql"),
    ("rank.sql", "SELECT nothing FROM nowhere", "nowhere"),
    ("rank.sql", "DROP TABLE slice", "rank.sql"),
    ("rank.sql", "SELECT * FROM read_csv('/etc/passwd')", "rank.sql"),
    ("rank.sql", "SELECT 1 WHERE 0 = 1", "no rank holds what 'longest_kernels' is made from"),
    ("reduce.sql", "SELECT a FROM rank_rows", "reduce.sql"),
    ("say.sql", "SELECT a FROM rank_rows", "say.sql"),
]


@pytest.mark.parametrize(("file", "content", "printed"), BAD)
def test_a_bad_file_is_one_line(file, content, printed, cluster, recipes, tmp_path):
    path = recipes / "longest_kernels" / file
    path.unlink() if content is None else path.write_text(content)
    done = cluster()
    assert done.returncode != 0
    errors = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == 1 and printed in errors[0], done.stderr
    assert not (tmp_path / "out/cluster_analysis_output/cluster_analysis.db").exists()


def test_other_bad_recipes_and_folders(cluster, run_sonde, recipes, shared_data):
    (recipes / "hccl_sum").mkdir()
    (recipes / "a b").mkdir()
    done = cluster()
    assert done.returncode == 0, done.stderr
    assert "hccl_sum: Sonde has a mode of that name" in done.stderr
    assert "a b: the name of a recipe is letters" in done.stderr
    shown = run_sonde("cluster", "--recipe-dir", recipes, "--help").stdout
    assert shown.count("not usable: ") == 2
    for folder, printed in (("no", "is no folder"), (recipes / "a b", "holds no recipe")):
        done = run_sonde("cluster", "-d", shared_data / SYNTH, "-m", "x", "--recipe-dir", folder)
        lines = [line for line in done.stderr.splitlines() if printed in line]
        assert done.returncode != 0 and len(lines) == 1, done.stderr


def test_a_rank_that_cannot_be_read_is_named(cluster, recipes, shared_data, run_sonde, tmp_path):
    ranks = shutil.copytree(shared_data / "ascend_pt/db/level1", tmp_path / "ranks")
    (path,) = ranks.rglob("ascend_pytorch_profiler_1.db")
    path.write_bytes(b"SQLite format 3\0" + bytes(2000))
    (path.parent / "analysis.db").unlink()
    done = run_sonde(
        "cluster", "--recipe-dir", recipes, "-m", "longest_kernels", "-d", ranks,
        "-o", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == 1 and "rank1_ascend_pt" in errors[0]
    assert [row[0] for row in rows_of(tmp_path)[1:]] == [0]
