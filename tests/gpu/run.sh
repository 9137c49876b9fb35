#!/usr/bin/env bash
# Everything that is tested on a GPU, on the one of this machine, into one report.
#
#   tests/gpu/run.sh [REPORT]          default: build/gpu/report.txt; exit 77 where there is no GPU
#
# TARE_GPU_BUILD=DIR: what was built elsewhere, for machines with a card and without tare's dependencies.
set -uo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
report=$(realpath -m "${1:-build/gpu/report.txt}")
build=$(realpath -m "${TARE_GPU_BUILD:-build/gpu}")

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "NOT RUN: no GPU on this machine (nvidia-smi finds none)"
  exit 77
fi
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
mkdir -p "$(dirname "$report")"
: >"$report"
passed=0 failed=0 skipped=0

say() { echo "$*" | tee -a "$report"; }

# check NAME COMMAND...: runs it, notes what became of it; 77 is "not run".
check() {
  local name=$1
  shift
  say "== $name"
  "$@" >>"$report" 2>&1
  local result=$?
  case $result in
    0) passed=$((passed + 1)); say "passed: $name" ;;
    77) skipped=$((skipped + 1)); say "NOT RUN: $name" ;;
    *) failed=$((failed + 1)); say "failed ($result): $name"; tail -n 30 "$report" ;;
  esac
}

build() {
  [ -z "${TARE_GPU_BUILD:-}" ] || return 0
  cmake --preset release -B "$build" -DTARE_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=native &&
    cmake --build "$build" --target gpu_tests gpu_nccl_one_rank gpu_simulated unit_cuda unit_fp8 tare_capi tare_cuda
}

# A checker that cannot start on this machine (no access to the card's debugger) is no verdict on the code.
sanitize() {
  command -v compute-sanitizer >/dev/null || return 77
  compute-sanitizer --tool memcheck "$build/tests/gpu/gpu_tests" "the device that is current*" || return 77
  local tool=("$1")
  # What CUDA answers for addresses of the host is no defect: tests ask of both.
  [ "$1" != memcheck ] || tool+=(--report-api-errors no)
  compute-sanitizer --tool "${tool[@]}" --error-exitcode 1 "$build/tests/gpu/gpu_tests" "$2"
}

torch_steps() {
  python3 -c 'import torch' 2>/dev/null || return 77
  python3 tests/bindings/torch_scaler.py "$build/lib/libtare.so" "$root" cuda:0 10000 package || return
  python3 tests/bindings/torch_scaler.py "$build/lib/libtare.so" "$root" cuda:0 10000
}

torch_tests() {
  python3 -c 'import torch' 2>/dev/null || return 77
  local test
  for test in grad_scaler torch_monitor nccl; do
    (cd tests/python && PYTHONPATH=$root/capi/python LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-} \
      python3 -B -m unittest discover -p "${test}_test.py") || return
  done
}

say "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader) $(date -u +%F)"
say "$(nvcc --version 2>/dev/null | tail -n 1), commit $(git rev-parse --short HEAD 2>/dev/null)"
check "build" build
[ "$failed" -eq 0 ] || exit 1
tests=$build/tests
check "the kernels' code on the host" "$tests/unit_cuda"
check "FP8 rules on the host" "$tests/unit_fp8"
check "the backend over host memory" "$tests/gpu/simulated/gpu_simulated"
check "on the GPU: vectors, patterns, random lists, graphs, streams, waits" "$tests/gpu/gpu_tests" --durations yes
check "on the GPU: an error left behind by another kernel" "$tests/gpu/gpu_tests" "[.breaks_the_device]"
check "on the GPU: NCCL's own communicator, one rank" "$tests/gpu/gpu_nccl_one_rank"
check "compute-sanitizer memcheck" sanitize memcheck "every f16*,a list takes other*,a random list is quantised*,thousands*,several looks*,a list of matrices*"
check "compute-sanitizer racecheck" sanitize racecheck \
  "a list takes other*,a random list is quantised*,several looks*,a list of matrices*"
check "10,000 steps beside torch's GradScaler" torch_steps
check "tare.torch: scalers, monitors, ranks of nccl" torch_tests
say "$passed passed, $failed failed, $skipped not run"
echo "report: $report"
[ "$failed" -eq 0 ]
