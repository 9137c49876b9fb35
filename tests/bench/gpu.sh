#!/usr/bin/env bash
# Times the GPU backend on this machine's card against a copy and against the peers that are installed, into one table.
#
#   tests/bench/gpu.sh [TABLE]          default: build/gpu/bench.txt; exit 77 where there is no GPU
#
# TARE_GPU_BUILD=DIR: what was built elsewhere, for machines with a card and without tare's dependencies.
# TRANSFORMER_ENGINE=FILE: libtransformer_engine.so, whose bytes and times are compared, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
table=$(realpath -m "${1:-build/gpu/bench.txt}")
build=$(realpath -m "${TARE_GPU_BUILD:-build/gpu}")

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "NOT RUN: no GPU on this machine (nvidia-smi finds none)"
  exit 77
fi
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
mkdir -p "$(dirname "$table")"
if [ -z "${TARE_GPU_BUILD:-}" ]; then
  cmake --preset release -B "$build" -DTARE_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native >/dev/null
  cmake --build "$build" --target bench_gpu tare_capi tare_cuda
fi

{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version,clocks.mem,clocks.sm,power.limit --format=csv
  "$build/tests/gpu/bench_gpu"
  echo
  if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    python3 tests/bench/gpu_peers.py "$build/lib/libtare.so"
    for what in bits times; do
      [ -z "${TRANSFORMER_ENGINE:-}" ] || LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-} \
        python3 tests/bench/transformer_engine.py "$TRANSFORMER_ENGINE" "$what"
    done
  else
    echo "NOT RUN: the peers: no torch with CUDA here"
  fi
} | tee "$table"
echo "table: $table"
