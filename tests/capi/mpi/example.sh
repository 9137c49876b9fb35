#!/usr/bin/env bash
# The example in C on ranks of MPI: whatever their number, it prints the same.
#
#   example.sh MPIEXEC PROGRAM
set -euo pipefail
for ranks in 1 3 4; do
  "$(dirname "$0")/run.sh" "$1" "$ranks" prints "$2" | diff - <(
    for step in 0 1 2; do echo "step $step: scale 65536"; done
    echo "step 3: scale 65536, skipped"
    for step in 4 5 6 7; do echo "step $step: scale 32768"; done
    echo "weights went 0.700, of 0.7 at most"
  )
done
