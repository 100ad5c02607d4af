"""The folder of a case (transcript.py), and what can be done in it beside `sonde`.

    ask TRACE STATEMENT             `sonde query` without its head; "? STATEMENT" asks it again;
                                    TRACE may be followed by --baseline OTHER
    copy FROM TO                    a folder, or a file
    remove GLOB                     files and folders
    move GLOB FROM TO               in the names of files and folders
    write FILE                      the lines that begin with "<"
    put GLOB TEXT                   in place of the content; of a name alone a new file
    cut GLOB BYTES                  what is behind the first bytes; or "60%" of them
    blank GLOB BYTES                zeros of all behind the first bytes
    change GLOB STATEMENT           of databases
    replace GLOB TEXT by TEXT       in texts
    make EXPRESSION                 calls a function of case_inputs.py
    prof EXPRESSION                 writes a PROF_* folder of a Run (prof_writer.py) to ask
    result STATEMENT, tables        of the database of `sonde cluster -o out`
    table GLOB STATEMENT            of databases, one after the other
    sheets GLOB, sheet GLOB NAME    names of a workbook's sheets; rows of one
    part GLOB NAME                  a file within a workbook
    files GLOB, lines GLOB          names below the folder; what a text holds
    same ONE OTHER but TABLES       folders: all cells of databases, all other files
    counts ONE OTHER                folders: numbers of rows
    bytes ONE OTHER                 folders: all files

Of statements of databases cells are parted by commas, of `ask` as in csv.
"""

import csv
import io
import re
import shlex
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import case_inputs
import workbook

RESULT = "out/cluster_analysis_output/cluster_analysis.db"
# What changes the input of later steps.
CHANGES = ("copy", "remove", "move", "write", "put", "cut", "blank", "change", "replace", "make",
           "prof")  # fmt: skip
PARTED = "SELECT 0 AS statement_of_a_case"


def rows_of(path, statement):
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as database:
        return [",".join(map(str, row)) for row in database.execute(statement)]


def in_csv(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().splitlines()


class Place:
    """`run_sonde` as in conftest.py, `data` the folder of shared data."""

    def __init__(self, run_sonde, data, folder):
        self.run_sonde, self.data, self.folder, self.trace = run_sonde, data, folder, None

    def clear(self):
        """Away with results; for another row of a case."""
        for path in self.folder.glob("out*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def found(self, pattern):
        is_data = pattern.startswith(f"{self.data}/")
        root = self.data if is_data else self.folder
        paths = sorted(Path(root).glob(pattern.removeprefix(f"{self.data}/")))
        assert paths, f"nothing is {pattern}"
        return paths

    def only(self, pattern):
        (path,) = self.found(pattern)
        return path

    def run(self, text, content=()):
        """Status, lines of standard output and of standard error."""
        words = shlex.split(text) if re.match(r"(\w+=\S* )*sonde ", text) else text.split(" ")
        if "sonde" in words and text.startswith(("sonde ", *(w for w in words[:1] if "=" in w))):
            at = words.index("sonde")
            return self.lines_of(self.run_sonde(
                *map(self.path_of, words[at + 1 :]),
                env=dict(word.split("=", 1) for word in words[:at]), cwd=self.folder,
            ))  # fmt: skip
        verb, _, rest = text.replace("DATA/", f"{self.data}/").partition(" ")
        if verb == "ask":
            trace, rest = re.fullmatch(r"(\S+(?: --baseline \S+)?) ?(.*)", rest).groups()
            self.trace = trace.split(" ")
        if verb in ("ask", "?"):
            return self.ask(rest)
        if verb == "write":
            path = self.folder / rest
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
            return 0, [], []
        done = getattr(self, f"do_{verb}", None)
        assert done is not None, f"no such command: {text}"
        return 0, done(rest) or [], []

    def path_of(self, word):
        """Of shared data; a pattern is the one path that it matches."""
        if not word.startswith("DATA/"):
            return word
        word = word.replace("DATA/", f"{self.data}/")
        return self.only(word) if "*" in word else word

    def lines_of(self, done):
        def plain(text):
            text = text.replace(f"{self.folder}/", "").replace(f"{self.data}/", "DATA/")
            return text.splitlines()

        return done.returncode, plain(done.stdout), plain(done.stderr)

    def ask(self, statement):
        done = self.run_sonde("query", *self.trace, statement, "--format", "csv", cwd=self.folder)
        status, out, err = self.lines_of(done)
        return status, out[1:], err

    def ask_all(self, statements):
        """What each gives, by one process where all succeed."""
        if len(statements) > 1:
            text = "".join(f"{PARTED};\n{statement};\n" for statement in statements)
            words = ("query", *self.trace, "--format", "csv")
            status, out, err = self.lines_of(self.run_sonde(*words, input=text, cwd=self.folder))
            heads = [at for at, line in enumerate(out) if line == PARTED.split()[-1]]
            if status == 0 and len(heads) == len(statements):
                return [(0, out[at + 3 : end], err)
                        for at, end in zip(heads, [*heads[1:], None], strict=True)]  # fmt: skip
        return [self.ask(statement) for statement in statements]

    def do_copy(self, rest):
        source, target = rest.split(" ")
        source, target = self.folder / source, self.folder / target
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        for path in [target, *target.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)

    def do_remove(self, pattern):
        for path in self.found(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def do_move(self, rest):
        pattern, old, new = rest.split(" ")
        for path in self.found(pattern):
            path.rename(path.with_name(path.name.replace(old, new)))

    def do_put(self, rest):
        pattern, _, text = rest.partition(" ")
        for path in self.found(pattern) if "*" in pattern else [self.folder / pattern]:
            path.write_text(text)

    def do_cut(self, rest):
        pattern, size = rest.split(" ")
        for path in self.found(pattern):
            content = path.read_bytes()
            end = len(content) * int(size[:-1]) // 100 if size.endswith("%") else int(size)
            path.write_bytes(content[:end])

    def do_blank(self, rest):
        pattern, size = rest.split(" ")
        for path in self.found(pattern):
            content = path.read_bytes()
            path.write_bytes(content[: int(size)] + bytes(len(content) - int(size)))

    def do_change(self, rest):
        pattern, _, statements = rest.partition(" ")
        for path in self.found(pattern):
            with closing(sqlite3.connect(path)) as database:
                database.executescript(statements)
                database.commit()

    def do_replace(self, rest):
        pattern, _, texts = rest.partition(" ")
        old, new = texts.split(" by ")
        for path in self.found(pattern):
            text = path.read_text(encoding="utf-8")
            assert old in text, f"{path} has no {old}"
            path.write_text(text.replace(old, new), encoding="utf-8")

    def do_make(self, rest):
        case_inputs.call(rest, self.folder)

    def do_prof(self, rest):
        self.trace = [case_inputs.write_prof(rest, self.folder)]

    def do_result(self, statement):
        return rows_of(self.folder / RESULT, statement)

    def do_tables(self, _):
        names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"
        return rows_of(self.folder / RESULT, names) if (self.folder / RESULT).exists() else []

    def do_table(self, rest):
        pattern, _, statement = rest.partition(" ")
        return [row for path in self.found(pattern) for row in rows_of(path, statement)]

    def do_sheets(self, pattern):
        return list(workbook.sheets_of(self.only(pattern)))

    def do_sheet(self, rest):
        pattern, name = rest.split(" ")
        return in_csv(workbook.sheets_of(self.only(pattern))[name])

    def do_part(self, rest):
        pattern, name = rest.split(" ")
        with zipfile.ZipFile(self.only(pattern)) as book:
            return book.read(name).decode().splitlines()

    def do_files(self, pattern):
        return [str(path.relative_to(self.folder)) for path in sorted(self.folder.glob(pattern))]

    def do_lines(self, pattern):
        return self.only(pattern).read_text(encoding="utf-8").splitlines()

    def do_same(self, rest):
        rest, _, but = rest.partition(" but ")
        one, other = (case_inputs.contents(self.folder / name) for name in rest.split(" "))
        return [str(key) for key in sorted({*one, *other}, key=str)
                if one.get(key) != other.get(key) and key[-1] not in but.split()]  # fmt: skip

    def do_bytes(self, rest):
        one, other = ({str(path.relative_to(root)): path.read_bytes()
                       for path in root.rglob("*") if path.is_file()}
                      for root in (self.folder / name for name in rest.split(" ")))  # fmt: skip
        return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))

    def do_counts(self, rest):
        one, other = (case_inputs.contents(self.folder / name) for name in rest.split(" "))
        return [str(key) for key in sorted({*one, *other}, key=str)
                if len(one.get(key, ())) != len(other.get(key, ()))]  # fmt: skip
