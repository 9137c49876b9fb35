#!/usr/bin/env bash
# The library's tests under valgrind's memcheck: no access outside of what was allocated, no decision by a value that was
# never set, nothing lost. Takes some minutes.
#
#   tests/valgrind.sh [BUILD]        default: build/release, where tests/run.sh left the programs
#
# Left out: the tests that put their own malloc in the place of valgrind's, or that fork, and the millions of steps of the
# rules, which are the same few lines again and again. valgrind has no AVX-512: the passes run with AVX2 and less.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}

check() {
  echo "== $*"
  valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect "$build/tests/$1" "${@:2}"
}

check unit_codec
check unit_scaler
check unit_cpu '~*fork*' '~rounding direction*' '~the environment guard*' '~*too large for the cache*' '~nothing allocates*'
check capi/capi_tests '~*allocation*' '~*fork*' '~rounding*'
