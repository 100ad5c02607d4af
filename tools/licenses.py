"""Finds what is built into the product, and writes its notices and a list of parts.

licenses.py BUILD_FOLDER OUT_FOLDER [SBOM_FILE]

Found are: the Debian packages that own the headers and archives which the compiler and the linker
opened (ninja remembers both), the libraries of setup/portable.sh, DuckDB, and the packages that
Vite built into the page. OUT_FOLDER gets a file a part; SBOM_FILE a CycloneDX 1.5 document. A part
without a notice is an error. `make wheel` runs it.
"""

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Of the C library and the kernel only names are used: nothing of them is inside.
ONLY_LINKED = ("libc6-dev", "linux-libc-dev", "libc6-dev-arm64-cross", "linux-libc-dev-arm64-cross")


@dataclasses.dataclass(frozen=True)
class Part:
    """A library inside the product; `notice` is its licence, `purl` names its source."""

    name: str
    version: str
    license: str
    purl: str
    notice: str


def output(*command):
    """What the command prints; it must end well."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def opened_files(build):
    """Absolute paths of the foreign files that the product's objects and programs are made of."""
    inputs = set(output("ninja", "-C", build, "-t", "inputs", "product").splitlines())
    inputs = {line for line in inputs if not line.startswith("ninja:")}
    files = {line for line in inputs if line.startswith("/")}
    is_ours = False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if line.startswith("    "):
            if is_ours:
                files.add(line.strip())
        else:
            is_ours = line.split(":")[0] in inputs
    ours = (str(ROOT) + "/", str(build) + "/")
    return sorted(f for f in files if f.startswith("/") and not f.startswith(ours))


def installed_name(file):
    """A file of setup/sysroot.sh, by the name that it has where its package is installed here."""
    if "/sysroot-" not in file:
        return file
    return re.sub(r"^.*/sysroot-[^/]*/[^/]*", "", file).replace("aarch64-linux", "x86_64-linux")


def debian_packages(files):
    """Names of the packages that own the files."""
    names = set()
    files = map(installed_name, files)
    system = [f for f in files if f.startswith(("/usr/", "/lib/"))]
    found = subprocess.run(
        ["dpkg-query", "-S", *system], capture_output=True, text=True, check=False
    ).stdout
    for line in found.splitlines():
        names.update(re.sub(r":\S*$", "", owner) for owner in line.split(": ")[0].split(", "))
    return sorted(names.difference(ONLY_LINKED))


def debian_notice(package):
    """The package's copyright file, which Debian requires."""
    return (Path("/usr/share/doc") / package / "copyright").read_text(errors="replace")


def declared_license(notice):
    """Names of licences in a copyright file of Debian's form, but for Debian's own files."""
    names = []
    for paragraph in re.split(r"\n\s*\n", notice):
        files = re.search(r"(?m)^Files: *(\S+)", paragraph)
        license_line = re.search(r"(?m)^License: *(\S.*)$", paragraph)
        if files and license_line and not files[1].startswith("debian/"):
            names.append(license_line[1])
    return " AND ".join(dict.fromkeys(names)) if names else "see notice"


def npm_source(name, version):
    """The package URL of a package from npm."""
    return f"pkg:npm/{name.replace('@', '%40')}@{version}"


def debian_part(package):
    """A library as Debian has it; parts of one source are one part."""
    fields = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package)
    source, version = fields.split()
    notice = debian_notice(package)
    purl = f"pkg:deb/debian/{source}@{version}?arch=source"
    return Part(source, version, declared_license(notice), purl, notice)


def pinned_parts(files):
    """Libraries that setup/portable.sh compiled from Debian's sources."""
    parts = []
    folders = {f.rsplit("/lib/", 1)[0] for f in files if "/portable-" in f and "/lib/" in f}
    for line in (ROOT / "setup/portable.lock").read_text().splitlines():
        kind, name, version, *_ = [*line.split(), "", "", ""]
        if kind == "source" and folders:
            notice = (Path(min(folders)) / "notices" / name).read_text(errors="replace")
            purl = f"pkg:deb/debian/{name}@{version}?arch=source"
            parts.append(Part(name, version, declared_license(notice), purl, notice))
    return parts


def duckdb_part(files):
    """The shared library that setup/duckdb.sh fetched from npm."""
    cpu = "aarch64" if any("/sysroot-" in file for file in files) else "x86_64"
    lines = [line.split() for line in (ROOT / "setup/duckdb.lock").read_text().splitlines()]
    ((package, version),) = [words[2:4] for words in lines if words[:2] == ["library", cpu]]
    folder = Path(output(str(ROOT / "setup/duckdb.sh"), "--where").strip())
    notice = (folder / "LICENSE").read_text(errors="replace")
    return Part("duckdb", version, "MIT", npm_source(package, version), notice)


def page_parts(build):
    """Packages whose code Vite put into the page: it lists them."""
    lists = list(build.glob("src/serve/page/packages.json"))
    parts = []
    for name in json.loads(lists[0].read_text()) if lists else []:
        folder = ROOT / "web/node_modules" / name
        about = json.loads((folder / "package.json").read_text())
        notices = [
            f
            for f in sorted(folder.iterdir())
            if re.match(r"(?i)licen[cs]e|notice|copying", f.name)
        ]
        notice = "\n".join(f.read_text(errors="replace") for f in notices)
        version = about["version"]
        parts.append(Part(name, version, about["license"], npm_source(name, version), notice))
    return parts


def find_parts(build):
    """All parts of the product that was built in `build`, by name."""
    files = opened_files(build)
    parts = {}
    for package in debian_packages(files):
        part = debian_part(package)
        parts.setdefault(part.name, part)
    for part in (*pinned_parts(files), duckdb_part(files), *page_parts(build)):
        parts[part.name] = part
    silent = [part.name for part in parts.values() if not part.notice.strip()]
    if silent:
        sys.exit(f"licenses: no notice was found for {', '.join(silent)}")
    return [parts[name] for name in sorted(parts)]


def bill_of_materials(parts, version):
    """A CycloneDX 1.5 document of the wheel."""
    components = [
        {
            "type": "library",
            "bom-ref": part.purl,
            "name": part.name,
            "version": part.version,
            "licenses": [{"license": {"name": part.license}}],
            "purl": part.purl,
        }
        for part in parts
    ]
    subject = {"type": "application", "bom-ref": "sonde", "name": "sonde", "version": version}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject},
        "components": components,
        "dependencies": [{"ref": "sonde", "dependsOn": [part.purl for part in parts]}],
    }


def write(parts, folder):
    """A file a part, and an index that `sonde --licenses` prints first."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    for part in parts:
        name = part.name.strip("@").replace("/", "_")
        head = f"{part.name} {part.version}\n\n"
        (folder / f"{name}.txt").write_text(head + part.notice.strip() + "\n")
    (folder / "Sonde.txt").write_text("Sonde\n\n" + (ROOT / "LICENSE").read_text())


def main():
    build, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    parts = find_parts(build)
    write(parts, folder)
    if len(sys.argv) > 3:
        (version,) = re.findall(
            r'__version__ = "([0-9.]+)"', (ROOT / "python/sonde/__init__.py").read_text()
        )
        text = json.dumps(bill_of_materials(parts, version), indent=1) + "\n"
        Path(sys.argv[3]).write_text(text)
    print(f"{len(parts)} libraries inside: {', '.join(part.name for part in parts)}")


if __name__ == "__main__":
    main()
