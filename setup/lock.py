#!/usr/bin/env python3
"""Write setup/requirements-NAME.lock: what requirements-NAME.txt needs, with hashes of the files.

    setup/lock.py lint docs        after a change of setup/requirements-lint.txt and -docs.txt
    setup/lock.py                  all

`setup/python.sh` installs from these files with `pip --require-hashes`. Packages are resolved by
the pip of this Python, which has to be of the version `locked_python` in common.sh. Hashes are
those of the package index, of wheels for Linux and of source archives. Exit status 1 and one line
where the index does not answer or a package has no hash.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

SETUP = Path(__file__).resolve().parent
INDEX = "https://pypi.org/simple"
JSON = "application/vnd.pypi.simple.v1+json"
# Complete lists, installed without resolving.
COMPLETE = {"vllm", "vllm-newest"}


def resolved(requirements: Path, is_complete: bool) -> dict[str, str]:
    """Versions by name, as pip would install them into an empty environment."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        words = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", report.name]
        if is_complete:
            words.append("--no-deps")
        subprocess.run([sys.executable, "-m", "pip", *words, "-r", str(requirements)], check=True)
        found = json.loads(Path(report.name).read_text(encoding="utf-8"))
    return {
        re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower(): one["metadata"]["version"]
        for one in found["install"]
    }


def hashes_of(name: str, version: str) -> list[str]:
    """Of the files of a release that a Linux machine may install."""
    request = urllib.request.Request(f"{INDEX}/{name}/", headers={"Accept": JSON})
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = json.load(answer)["files"]
    stem = re.compile(rf"[-_.]{re.escape(version)}(-|\.tar\.gz$|\.zip$)")
    fits = re.compile(r"(-any|linux\w*)\.whl$|\.tar\.gz$|\.zip$")
    return sorted(
        one["hashes"]["sha256"]
        for one in files
        if stem.search(one["filename"]) and fits.search(one["filename"])
    )


def lock(name: str) -> None:
    """Write the file of one environment."""
    source = SETUP / f"requirements-{name}.txt"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    lines = [f"# Made by setup/lock.py of {source.name} ({digest}); do not edit."]
    for package, version in sorted(resolved(source, name in COMPLETE).items()):
        hashes = hashes_of(package, version)
        if not hashes:
            raise SystemExit(f"lock.py: the index has no hash of {package} {version}")
        lines.append(f"{package}=={version} \\")
        lines += [f"    --hash=sha256:{one} \\" for one in hashes]
        lines[-1] = lines[-1].removesuffix(" \\")
    source.with_suffix(".lock").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Lock the named environments, or all."""
    names = sys.argv[1:] or sorted(
        path.stem.removeprefix("requirements-") for path in SETUP.glob("requirements-*.txt")
    )
    for name in names:
        try:
            lock(name)
        except (OSError, subprocess.CalledProcessError) as failure:
            raise SystemExit(f"lock.py: {name}: {failure}") from failure
        print(f"requirements-{name}.lock")


if __name__ == "__main__":
    main()
