#!/bin/bash
# install.sh WHEEL: installs the wheel for the user, and prints where and what to type. `make install` runs it.
# Into the active virtual environment; else by pipx; else into an environment of its own in PREFIX
# (~/.local/share/sonde), with the command linked from ~/.local/bin.
set -euo pipefail
wheel=$1
pip_flags=(--quiet --disable-pip-version-check --no-index --no-deps --force-reinstall)

if [ -n "${VIRTUAL_ENV:-}" ]; then
  "$VIRTUAL_ENV/bin/python" -m pip install "${pip_flags[@]}" "$wheel"
  echo "installed into the virtual environment $VIRTUAL_ENV; remove it by: pip uninstall sonde"
  command="$VIRTUAL_ENV/bin/sonde"
elif [ -z "${PREFIX:-}" ] && command -v pipx >/dev/null; then
  pipx install --quiet --force "$wheel"
  echo "installed by pipx; remove it by: pipx uninstall sonde"
  command=sonde
else
  folder="${PREFIX:-$HOME/.local/share/sonde}"
  python3 -m venv "$folder" || { echo "install: error: python3 -m venv failed (Debian: install python3-venv)" >&2; exit 1; }
  "$folder/bin/python" -m pip install "${pip_flags[@]}" "$wheel"
  links="$HOME/.local/bin"
  mkdir -p "$links"
  ln -sfn "$folder/bin/sonde" "$links/sonde"
  echo "installed into $folder, linked from $links/sonde; remove it by: rm -r $folder $links/sonde"
  command="$links/sonde"
  [[ ":$PATH:" != *":$links:"* ]] || command=sonde
fi
"$command" --version
echo "next: $command doctor"
