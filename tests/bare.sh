#!/usr/bin/env bash
# Runs `tare` where there is nothing else: no C library of any kind, no /etc, no /proc, no terminal's descriptions. What it
# needs of musl's systems and of old ones it cannot be missing then; on one of those it was not tried.
#
#   tests/bare.sh TARE CORPUS      its last line is that of the test of real checkpoints there
#
# Exit 77, and a line that says why, where it cannot run.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
tare=$(realpath "$1") corpus=$(realpath "$2")
unshare --mount true 2>/dev/null || { echo "bare: NOT RUN: nothing can be mounted here"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/root$corpus" "$scratch/root$scratch/work" "$scratch/work"
cp "$tare" "$scratch/root/tare"
printf '#!/bin/sh\nexec unshare --root=%s --wd="$PWD" /tare "$@"\n' "$scratch/root" >"$scratch/tare"
chmod +x "$scratch/tare"
export TMPDIR=$scratch/work
for what in inspect edit; do
  # shellcheck disable=SC2016
  unshare --mount sh -c '
    mount --bind "$2" "$1$2" && mount --bind "$3/work" "$1$3/work" &&
      exec python3 "$4/cli/corpus.py" "$5" --tare "$3/tare" --corpus "$2"' \
    sh "$scratch/root" "$corpus" "$scratch" "$here" "$what" | tail -n 1
done
