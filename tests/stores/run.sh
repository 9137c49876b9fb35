#!/usr/bin/env bash
# Reads and edits real checkpoints in moto's S3 (PyPI), which checks each signature with botocore's own code; reads them in
# gcp-storage-emulator (PyPI) and behind nginx (Debian), with a password and limits; and attests all of them in the tests' own
# stand-in. Not a part of
# tests/run.sh, whose stand-in needs nothing from PyPI. Edits that are killed, 300 of them: tests/cli/store_kills.py.
#
#   tests/stores/run.sh
#
# TARE_STORES_CACHE   where moto and the emulator are kept (default ~/.cache/tare-stores)
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${TARE_STORES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare-stores}

tools/packages.sh build check fidelity stores
cmake --preset release >/dev/null
cmake --build --preset release --target tare test_data
if ! cmp -s tests/stores/packages.txt "$cache/made-of.txt"; then
  rm -rf "$cache"
  "${PYTHON:-python3}" -m venv "$cache"
  "$cache/bin/pip" install --quiet --disable-pip-version-check -r tests/stores/packages.txt
  cp tests/stores/packages.txt "$cache/made-of.txt"
fi
# What is built meanwhile in the same folder would take tare-remote from beside tare.
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
cp build/release/tools/tare build/release/tools/tare-remote "$programs"
check() {
  "$cache/bin/python" "tests/$1.py" --tare "$programs/tare" --corpus build/release/tests/data/corpus "${@:2}"
}
check stores/moto_bucket
check stores/google_emulator
check stores/nginx_folder
check cli/object_stores --whole
