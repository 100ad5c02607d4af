"""Builds and tests one folder, in under a minute: `make check F=store`.

F is a folder of src/ (its C++ test programs), a folder or file of test/ (its Python tests, on the
built command), or web (the logic of the page). What passed with the same inputs is not run again.
"""

import argparse
import os
import sys

import run_tests
import suite
from unit_memory import UnitMemory
from units import ROOT


def units_of(name, jobs, total):
    """Builds what the folder's tests need, and gives its units."""
    if (ROOT / "src" / name).is_dir():
        programs = suite.test_programs(run_tests.PRESET, [name])
        if programs and run_tests.build(run_tests.PRESET, programs, jobs, total):
            return suite.program_units(run_tests.PRESET, programs)
        return []
    if name == "web":
        return [unit for unit in suite.page_units() if unit.source == "web/package.json"]
    targets = [*suite.TESTED_TARGETS]
    if not run_tests.build(run_tests.PRESET, targets, jobs, total):
        return []
    return [u for u in suite.all_python_units([]) if u.source.startswith(name.rstrip("/"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="store, test/probe, test/e2e/test_view.py, web")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    total = run_tests.Total()
    units = units_of(arguments.folder, arguments.jobs, total)
    if not units and not total.failed:
        sys.exit(f"'{arguments.folder}' has no tests: F is a folder of src/ or test/, or web")
    memory = UnitMemory([run_tests.PRESET], fresh=run_tests.is_fresh())
    run_tests.run_units(units, memory, arguments.jobs, total)
    return run_tests.close(total, memory.folder)


if __name__ == "__main__":
    sys.exit(main())
