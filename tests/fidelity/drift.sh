#!/usr/bin/env bash
# What the newest releases changed: installs each framework of drift.txt in the newest release that PyPI has, writes a small
# checkpoint with it, inspects and edits that, loads it again, and prints what differs from the newest file in results/. To be
# run by hand each month; its output is committed there. The frameworks take some 8 GB.
#
#   tests/fidelity/drift.sh [FRAMEWORK...]       e.g. timm; a run of all is kept as tests/fidelity/results/DATE-drift.txt
#
# TARE_FIDELITY_CACHE   where the frameworks are kept (default ~/.cache/tare-fidelity)
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/fidelity
cache=${TARE_FIDELITY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare-fidelity}

cmake --preset release >/dev/null
cmake --build --preset release --target tare >/dev/null
[ -d "$cache/drift" ] || "${PYTHON:-python3}" -m venv "$cache/drift"
while read -r packages; do
  [[ $packages == '#'* ]] ||
    DS_BUILD_OPS=0 "$cache/drift/bin/pip" install --quiet --disable-pip-version-check --upgrade $packages ||
    echo "not installed: $packages"
done <$here/drift.txt

mkdir -p $here/results
last=$(ls $here/results/*-drift.txt 2>/dev/null | tail -1)
today=$here/results/$(date +%F)-drift.txt
made=$(mktemp)
status=0
{
  echo "$(date +%F), $("$cache/drift/bin/python" --version), on a CPU"
  "$cache/drift/bin/python" $here/drift.py --tare build/release/tools/tare ${last:+--against "$last"} "$@"
} | tee "$made" || status=1
[ $# -gt 0 ] || cp "$made" "$today"
rm "$made"
exit $status
