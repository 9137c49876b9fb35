#!/usr/bin/env bash
# Times the GPU backend on this machine's card against a copy and against the peers that are installed, into one table.
#
#   tests/bench/gpu.sh [TABLE]          default: build/gpu/bench.txt; exit 77 where there is no GPU
set -euo pipefail
cd "$(dirname "$0")/../.."
table=$(realpath -m "${1:-build/gpu/bench.txt}")

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "NOT RUN: no GPU on this machine (nvidia-smi finds none)"
  exit 77
fi
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
mkdir -p "$(dirname "$table")"
cmake --preset release -B build/gpu -DTARE_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native >/dev/null
cmake --build build/gpu --target bench_gpu tare_capi tare_cuda

{
  date -u +%F
  nvidia-smi --query-gpu=name,driver_version,clocks.mem,clocks.sm,power.limit --format=csv
  build/gpu/tests/gpu/bench_gpu
  echo
  if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    python3 tests/bench/gpu_peers.py build/gpu/lib/libtare.so
  else
    echo "NOT RUN: the peers: no torch with CUDA here"
  fi
} | tee "$table"
echo "table: $table"
