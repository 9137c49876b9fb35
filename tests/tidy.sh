#!/usr/bin/env bash
# clang-tidy on our sources: all of them, or those named.
#
#   tests/tidy.sh [FILE.cpp...]
#
# Needs a configured release build (tests/run.sh makes one), for its compile_commands.json. BUILD names another folder.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
if [ $# -eq 0 ]; then
  mapfile -t files < <(git ls-files 'lib/*.cpp' 'kernels/*.cpp' 'tools/*.cpp' 'capi/*.cpp')
else
  files=("$@")
fi
# clang-tidy counts on stderr what it left out; its findings are on stdout.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" 2> >(grep -v ' generated\.$' >&2)
