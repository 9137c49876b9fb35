#!/usr/bin/env bash
# Changes one line at random, builds, runs the tests, and tells which changes no test notices (mutation/README.md).
#
#   tests/mutation.sh [--room edit] [--count 100] [--seed N]      --help tells the rest
#
# Needs a release build that is up to date (tests/run.sh makes one), root, and overlayfs. Leave the tree alone while it runs.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --build build/release
exec python3 tests/mutation/mutation.py "$@"
