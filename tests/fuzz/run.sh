#!/usr/bin/env bash
# Build the fuzz targets and run each for SECONDS (60 if not given) from the committed seeds. What they find on the way
# stays in build/fuzz; a crash is kept as build/fuzz/crash-* and makes the exit code 1.
#
#   tests/fuzz/run.sh [SECONDS] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(zip pickle legacy edit dcp mindspore paddle gist bundle ocdbt zarr nested config state
  state_hdf5 journal hdf5 json msgpack npy torch_tar safetensors)
build=${TARE_FUZZ_BUILD:-build/fuzz}

cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target "${targets[@]/#/fuzz_}"

# A file of a few KB may take no more than the least budget allows (lib/base/limits.hpp): 60 MiB, twice that where a
# vector grows, and what the sanitizer keeps beside it.
bounds=(-timeout=5 -malloc_limit_mb=128 -rss_limit_mb=640)
export ASAN_OPTIONS="quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

status=0
for target in "${targets[@]}"; do
  echo "== $target"
  mkdir -p "$build/corpus/$target" "$build/bombs/$target"
  python3 tests/bounds/bombs.py "$build/bombs/$target" --fuzz "$target"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=16384 "${bounds[@]}" \
    -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$build/" \
    "$build/corpus/$target" "tests/fuzz/seeds/$target" "$build/bombs/$target" || status=1
done
exit $status
