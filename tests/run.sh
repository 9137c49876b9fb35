#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. The last line says "N passed, N failed"; the exit code agrees.
#
#   tests/run.sh [CTEST ARGUMENTS...]      e.g. tests/run.sh -R corpus
set -euo pipefail
cd "$(dirname "$0")/.."

trap '[ -n "${counted:-}" ] || echo "0 passed, 1 failed"' EXIT  # whatever stopped us before the tests could speak

tools/packages.sh build check
# shellcheck source=tests/compiler_cache.sh
. tests/compiler_cache.sh
cmake --preset release
cmake --build --preset release

results=$PWD/build/release/tests.xml
rm -f "$results"
ctest --preset release -j "$(nproc)" --output-junit "$results" "$@" || true
[ -s "$results" ]

count() { grep -o "\b$1=\"[0-9]*\"" "$results" | head -n 1 | tr -dc 0-9; }
failed=$(count failures)
not_run=$(($(count skipped) + $(count disabled)))
passed=$(($(count tests) - failed - not_run))
counted=yes
[ "$not_run" -eq 0 ] || echo "$not_run not run"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
