#!/usr/bin/env bash
# Changes one line at random, builds, runs the tests, and tells which changes no test notices (mutation/README.md).
#
#   tests/mutation.sh [--room edit] [--count 100] [--seed N]      --help tells the rest
#
# Builds build/mutation, in which each source is compiled alone: one that changed costs no others. Needs root and overlayfs.
# Leave the tree alone while it runs.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release -B build/mutation -DCMAKE_UNITY_BUILD=OFF >/dev/null
cmake --build build/mutation
exec python3 tests/mutation/mutation.py "$@"
