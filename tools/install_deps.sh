#!/usr/bin/env bash
# install_deps.sh [LIST]: installs the Debian packages of LIST (default: packages.txt here) that are missing; does nothing
# when all are there. On a system without apt it lists them and leaves it to the build to find what is missing.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mapfile -t packages < <(grep -v -e '^#' -e '^$' "${1:-$here/packages.txt}")

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  echo "This is not a Debian system, so nothing was installed. Where the build misses something, it is in these Debian 12 packages:" >&2
  printf '  %s\n' "${packages[@]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2> /dev/null || true)
  [[ $status == ?i* ]] || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo > /dev/null; then
    echo "Missing packages, and neither root nor sudo to install them. Please run as root:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
