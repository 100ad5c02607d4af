"""Refuses ways of making files that follow a link which somebody planted under the file's name.

In C++ a file is made by base (AtomicFile, CreateNewFile, RecreateFile), or with O_EXCL; in Python
with an opener of sonde/_new_file.py. What the build and developers run is not looked at.
"""

import ast
import re
import sys

import source_tree

# A file and what it may use: names that nobody else can know or write to.
ALLOWED = {
    # Into a folder of mode 0700 that it has just made, or a device that the user names.
    "src/cli/output_file.cc": ("fopen",),
    # Runs in the build, writes into it.
    "src/store/schema_template_main.cc": ("fopen",),
}

NOT_SHIPPED = re.compile(r"(_test|_fuzz|_bench|test_support)\.(cc|h)$|/(testing|fuzz)/")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CREATES = re.compile(r"[^;{}]*\bO_CREAT\b[^;{}]*")
FOPEN = re.compile(r"\bfopen\s*\(((?:[^()]|\([^()]*\))*)\)")
STREAM = re.compile(r"\bstd::o?fstream\b")
PYTHON_WRITERS = {
    "write_text": "write_text()",
    "write_bytes": "write_bytes()",
    "copyfile": "copyfile()",
    "copy2": "copy2()",
    "RotatingFileHandler": "a log handler that opens by name",
    "FileHandler": "a log handler that opens by name",
}


def faults_in_cpp(path, text):
    """(position, what is wrong)."""
    allowed = ALLOWED.get(path, ())
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in CREATES.finditer(text):
        if "O_EXCL" not in match[0] and "O_TMPFILE" not in match[0]:
            yield match.start() + match[0].index("O_CREAT"), "O_CREAT without O_EXCL"
    for match in FOPEN.finditer(text):
        mode = match[1].rpartition(",")[2].strip()
        if "fopen" not in allowed and not mode.startswith('"r'):
            yield match.start(), f"fopen with the mode {mode}"
    for match in STREAM.finditer(text):
        yield match.start(), "a stream that opens by name"


def mode_of(call):
    """The mode of a call of open() as far as the source shows: "r" where there is none."""
    values = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
    if not values:
        return "r"
    return values[0].value if isinstance(values[0], ast.Constant) else "w"


def fault_of_call(call):
    """What is wrong with one call of Python, or None."""
    function = call.func
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    holder = getattr(function, "value", None)
    owner = getattr(holder, "id", getattr(holder, "attr", ""))
    words = {word.arg for word in call.keywords}
    if name == "open" and (isinstance(function, ast.Name) or owner in ("io", "gzip", "codecs")):
        if set(mode_of(call)) & set("wa+") and "opener" not in words:
            return "open() for writing without an opener"
    elif name == "save" and owner == "torch" and not isinstance(call.args[1], ast.Name):
        return "torch.save() into a name"
    elif name in PYTHON_WRITERS:
        return PYTHON_WRITERS[name]
    return None


def faults_in_python(text):
    for node in ast.walk(ast.parse(text)):
        fault = fault_of_call(node) if isinstance(node, ast.Call) else None
        if fault:
            yield node.lineno, fault
        if isinstance(node, ast.Attribute) and node.attr == "O_CREAT":
            yield node.lineno, "O_CREAT outside of _new_file.py"


def main():
    problems = []
    for path in map(str, source_tree.cpp_files()):
        if path.startswith(("src/", "include/")) and not NOT_SHIPPED.search(path):
            text = source_tree.read(path)
            for position, fault in faults_in_cpp(path, text):
                problems.append(f"{path}:{text.count(chr(10), 0, position) + 1}: {fault}")
    for path in map(str, source_tree.tracked_files(".py")):
        if path.startswith("python/sonde/") and path != "python/sonde/_new_file.py":
            found = faults_in_python(source_tree.read(path))
            problems += [f"{path}:{line}: {fault}" for line, fault in found]
    for problem in problems:
        print(f"{problem}: a link under that name would be followed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
