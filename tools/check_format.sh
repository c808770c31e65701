#!/usr/bin/env bash
# Checks every C++ file against .clang-format; --fix rewrites them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=(--dry-run -Werror)
[[ ${1:-} == --fix ]] && mode=(-i)
folders=()
for folder in isochron cli tests bench examples python; do
  [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" \( -name '*.h' -o -name '*.cpp' \) -not -path '*/.venv/*' -print0 |
  xargs -0 -P "$(nproc)" -n 16 clang-format "${mode[@]}" || {
  echo "Run \`make format\` to mend the format." >&2
  exit 1
}
