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
[ ${#targets[@]} -gt 0 ] || targets=(zip pickle legacy edit dcp mindspore paddle elided_text bundle ocdbt zarr nested config state
  state_hdf5 hdf5 json msgpack npy torch_tar safetensors trace)
build=${TARE_FUZZ_BUILD:-build/fuzz}

cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target "${targets[@]/#/fuzz_}"

status=0
for target in "${targets[@]}"; do
  echo "== $target"
  mkdir -p "$build/corpus/$target"
  "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=16384 -timeout=5 -rss_limit_mb=1024 \
    -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$build/" \
    "$build/corpus/$target" "tests/fuzz/seeds/$target" || status=1
done
exit $status
