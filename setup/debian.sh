#!/bin/bash
# debian.sh GROUP...: install the packages of these groups of packages.txt that are missing.
source "$(dirname "$0")/common.sh"

wanted=()
for group in "$@"; do
  mapfile -t -O "${#wanted[@]}" wanted < <(awk -v g="$group" '$1 == g { print $2 }' "$setup_dir/packages.txt")
done
[ "${#wanted[@]}" -gt 0 ] || fail "no packages in group(s) '$*' of packages.txt"

if ! command -v dpkg-query >/dev/null; then
  say "not a Debian system: assuming that the equivalents of these are installed: ${wanted[*]}"
  exit 0
fi
installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii //p')
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || fail "Debian packages are missing and only root can install them. Run:
  sudo apt-get update && sudo apt-get install --no-install-recommends ${missing[*]}"
  as_root=(sudo -n)
fi
say "installing ${#missing[@]} Debian packages and what they need (some 10 to 150 MB, about a minute): ${missing[*]}"
apt_get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
"${apt_get[@]}" update >/dev/null || say "apt-get update failed; trying with the present package lists"
log=$(mktemp)
"${apt_get[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  fail "apt-get could not install: ${missing[*]}"
}
rm -f "$log"
