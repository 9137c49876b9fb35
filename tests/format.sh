#!/usr/bin/env bash
# Fails where a C or C++ file is not as clang-format leaves it. To mend: git ls-files '*.hpp' '*.cpp' | xargs clang-format -i
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z '*.h' '*.hpp' '*.c' '*.cpp' '*.cu' '*.cuh' | xargs -0 --no-run-if-empty clang-format --dry-run -Werror
