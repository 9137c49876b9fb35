#!/usr/bin/env bash
# clang-tidy on our sources: all of them, or those named.
#
#   tests/tidy.sh [FILE.cpp...]
#
# Configures build/tidy, for a compile_commands.json that names each source. BUILD names another folder that has one.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/tidy}
[ -n "${BUILD:-}" ] || cmake --preset release -B "$build" -DCMAKE_UNITY_BUILD=OFF >/dev/null
if [ $# -eq 0 ]; then
  mapfile -t files < <(git ls-files 'lib/*.cpp' 'kernels/*.cpp' 'tools/*.cpp' 'capi/*.cpp')
else
  files=("$@")
fi
# clang-tidy counts on stderr what it left out; its findings are on stdout.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" 2> >(grep -v ' generated\.$' >&2)
