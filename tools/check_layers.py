"""Refuses includes, link dependencies and imports against the order in docs/architecture.md.

Also two test files of one name.
"""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import source_tree
from source_tree import FOLDER_ORDER, PYTHON_LISTS, PYTHON_ORDER, RECORDER_FOLDERS

# Named in one folder each, and by .cc files only where they are slow to compile.
HEAVY = re.compile(
    r"^(CLI/|nlohmann/|simdjson\.h|tbb/|oneapi/|spdlog/|boost/|duckdb\.h|xlsxwriter)"
)
SLOW = re.compile(r"^(CLI/|nlohmann/json\.hpp|simdjson\.h|tbb/|oneapi/|spdlog/|boost/)")

# Third-party headers: not for what is loaded into the user's process.
THIRD_PARTY = re.compile(
    HEAVY.pattern[:-1] + r"|fmt/|yaml-cpp/|sqlite3\.h|zstd\.h|zlib\.h|hwy/|torch/|ATen/|c10/)"
)

# What all adapters share knows none of them.
SHARED_BY_ADAPTERS = Path("src/adapt/python")

# Names of work are looked at by importers and by what records; store/collectives.h has the list.
# Here other tools' own rules are kept, or types that are no names.
WORK_NAME = re.compile(
    r"(?:find|starts_with|ends_with|contains)\(\"[^\"]*"
    r"(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|[nrh]ccl|mem(?:cpy|set)|send_?recv)",
    re.IGNORECASE,
)
WORK_NAME_FOLDERS = ("importers", "adapt", "record", "store")
WORK_NAME_RULES = {
    "src/cluster/delivered/texts.cc": "names in the vendor's tables",
    "src/cluster/idle_time/idle_time.cc": "the rule of HTA",
    "src/cluster/kernel_time/kernel_time.cc": "the rule of HTA",
    "src/cluster/trace_diff/trace_diff.cc": "the rule of HTA",
    "src/exporters/kineto/kineto_device.cc": "types of tasks",
    "src/precision/parallel/merge_ranks.cc": "calls of a dump",
    "src/recipes/communication/naming.cc": "names in the vendor's tables",
    "src/recipes/trace/work_kinds.h": "the rules of msprof-analyze",
}

# Product code never imports what is made for its development.
DEVELOPMENT_FOLDERS = ("bench", "examples", "test", "tools")


def may_use(user, used):
    return user == used or used == "base" or FOLDER_ORDER.index(used) < FOLDER_ORDER.index(user)


def check_folders(problems):
    for path in source_tree.tracked_files("CMakeLists.txt"):
        folder = source_tree.folder_of(path)
        if folder and folder not in FOLDER_ORDER:
            problems.append(
                f"{path}: folder '{folder}' has no place in the order of tools/source_tree.py"
            )


def check_include(path, name, line, heavy_users, problems):
    user = source_tree.folder_of(path)
    where = f"{path}:{line}"
    target = source_tree.resolve(name)
    used = source_tree.folder_of(target) if target else None
    if used in FOLDER_ORDER and user in FOLDER_ORDER and not may_use(user, used):
        problems.append(f"{where}: {user} may not use {used} ({name})")
    if path.is_relative_to(SHARED_BY_ADAPTERS) and used == "adapt":
        if not target.is_relative_to(SHARED_BY_ADAPTERS):
            problems.append(f"{where}: adapt/python may not use other adapters ({name})")
    if path.parts[0] == "include" and (used or THIRD_PARTY.match(name)):
        problems.append(
            f"{where}: a public header may include only the standard library and sonde/ ({name})"
        )
    is_test = path.name.endswith("_test.cc")
    # Highway by its headers alone leaves nothing to link with.
    is_headers_only = user == "probe" and name.startswith("hwy/")
    if user in RECORDER_FOLDERS and THIRD_PARTY.match(name) and not is_test and not is_headers_only:
        problems.append(
            f"{where}: {user} is loaded into user processes: no third-party code ({name})"
        )
    if path.suffix == ".h" and SLOW.match(name):
        problems.append(f"{where}: slow header {name} belongs into a .cc file")
    heavy = HEAVY.match(name)
    if heavy:
        heavy_users[heavy[1]][user or path.parts[0]].append(where)
    if name.startswith(".") or "/../" in name:
        problems.append(f"{where}: include from src/ or include/, not relative ({name})")


def check_cpp(problems):
    heavy_users = defaultdict(lambda: defaultdict(list))
    for path in source_tree.cpp_files():
        for _, name, line in source_tree.includes(path):
            check_include(path, name, line, heavy_users, problems)
    for header, users in heavy_users.items():
        folders = [folder for folder in users if folder in FOLDER_ORDER]
        if len(folders) > 1:
            places = ", ".join(users[folder][0] for folder in folders)
            problems.append(f"heavy header {header} is used by more than one folder: {places}")


def check_work_names(problems):
    for path in source_tree.cpp_files():
        if path.name.endswith("_test.cc") or str(path) in WORK_NAME_RULES:
            continue
        if source_tree.folder_of(path) in (None, *WORK_NAME_FOLDERS):
            continue
        for number, line in enumerate(source_tree.read(path).splitlines(), 1):
            if WORK_NAME.search(line):
                problems.append(
                    f"{path}:{number}: names of work are for importers and store/collectives.h; "
                    "ask recipes/meaning"
                )


def check_cmake(problems):
    for path in source_tree.tracked_files("CMakeLists.txt"):
        user = source_tree.folder_of(path)
        if user not in FOLDER_ORDER:
            continue
        for used in set(re.findall(r"\bsonde_(\w+?)(?:_core)?\b", source_tree.read(path))):
            if used in FOLDER_ORDER and not may_use(user, used):
                problems.append(f"{path}: {user} may not link {used}")


def imported_modules(tree, package):
    """(name, line) of what a file of a package imports; of `from a import b` also a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(filter(None, [*(above if node.level else []), node.module]))
            yield base, node.lineno
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno


def part_of(module):
    """The part of the package `sonde` that a module belongs to, or None."""
    names = module.split(".")
    return names[1] if names[0] == "sonde" and len(names) > 1 and names[1] in PYTHON_ORDER else None


def check_python_part(path, module, line, problems):
    """The order of the package's own parts."""
    user, used = part_of(".".join(path.with_suffix("").parts[1:])), part_of(module)
    if user is None or used is None or str(path) in PYTHON_LISTS:
        return
    if PYTHON_ORDER.index(used) > PYTHON_ORDER.index(user):
        problems.append(f"{path}:{line}: {user} may not use {used} ({module})")


def check_python(problems):
    for path in source_tree.tracked_files(".py"):
        top = path.parts[0]
        package = ".".join(path.parts[1:-1])
        found = list(imported_modules(ast.parse(source_tree.read(path), str(path)), package))
        for module, line in dict(reversed(found)).items():
            if top in ("python", "examples") and module.split(".")[0] in DEVELOPMENT_FOLDERS:
                problems.append(f"{path}:{line}: {top}/ may not import {module}")
            if path.parts[:2] == ("python", "sonde"):
                check_python_part(path, module, line, problems)
        check_part_is_known(path, problems)


def check_python_circles(problems):
    """Modules of the package that import each other in a circle, also for their types alone."""
    uses = {}
    for path in source_tree.tracked_files(".py"):
        if path.parts[:2] != ("python", "sonde") or path.name == "__init__.py":
            continue
        tree = ast.parse(source_tree.read(path), str(path))
        module = ".".join(path.with_suffix("").parts[1:])
        uses[module] = {name for name, _ in imported_modules(tree, module.rpartition(".")[0])}
    done, trail = set(), []

    def follow(module):
        if module in trail:
            circle = [*trail[trail.index(module) :], module]
            problems.append(f"imports in a circle: {' -> '.join(circle)}")
        if module in done or module in trail:
            return
        trail.append(module)
        for used in sorted(uses[module] & uses.keys()):
            follow(used)
        done.add(trail.pop())

    for module in sorted(uses):
        follow(module)


def check_part_is_known(path, problems):
    if path.parts[:2] != ("python", "sonde") or path.name == "__init__.py" and len(path.parts) == 3:
        return
    part = Path(path.parts[2]).stem
    if part not in PYTHON_ORDER:
        problems.append(f"{path}: '{part}' has no place in the order of tools/source_tree.py")


def check_test_names(problems):
    """pytest imports files below test/ by their bare names: a second one of a name ends the run."""
    seen = {}
    for path in source_tree.tracked_files(".py"):
        if path.parts[0] == "test" and path.name != "conftest.py":
            first = seen.setdefault(path.name, path)
            if first != path:
                problems.append(f"{path}: {first} has that name too, and pytest refuses both")


def main():
    problems = []
    check_folders(problems)
    check_cpp(problems)
    check_work_names(problems)
    check_cmake(problems)
    check_python(problems)
    check_python_circles(problems)
    check_test_names(problems)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
