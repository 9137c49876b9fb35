#!/usr/bin/env bash
# Tries the archive and the wheel of a release on bare systems that are older than the one that made them, each in a chroot, and
# prints a table of what came of it: the command, a program of C by that system's compiler, and the package with its own tests.
#
#   tests/released.sh FOLDER CORPUS [PLATFORM...]     FOLDER: what tools/tarball.sh and tools/wheel.sh made; CORPUS: the tests' unpacked
#                                                     checkpoints; platforms of tests/platforms.sh, and ubuntu1804 and debian11, the default
#
# The chroots are kept in build/platforms, or where TARE_PLATFORMS says. Exit 77, and a line that says why, where there can be none:
# without root, debootstrap or a network.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$(realpath "$1") corpus=$(realpath "$2")
shift 2
cd "$(dirname "$0")/.." || exit
platforms=("$@")
[ ${#platforms[@]} -gt 0 ] || platforms=(ubuntu1804 debian11)

# shellcheck source=tests/chroot.sh
. tests/chroot.sh
require_chroots

# attempt ROOT NAME: the script on stdin, within the chroot; its last line, or that it failed.
attempt() {
  local log=$1.$2.log
  if within "$1" sh -euc "cd /released; $(cat)" >"$log" 2>&1; then tail -n 1 "$log"; else echo "FAILED: $log"; fi
}

# row PLATFORM: a line of the table.
row() {
  local root=$kept/$1 command program package
  rm -rf "$root/released"
  mkdir "$root/released"
  cp "$folder"/tare-*"$(uname -m)".tar.gz "$folder"/libtare-*"$(uname -m)".whl tests/capi/header.c "$root/released"
  cp -a "$corpus" "$root/released/corpus"
  cp -a tests/python "$root/released/tests"
  tar -xzf "$root"/released/tare-*.tar.gz --strip-components=1 --one-top-level="$root/released/tare"
  command=$(attempt "$root" command <<'END'
    cp -a corpus/accelerate/fsdp_sharded edited
    says() { tare/bin/tare inspect edited/state/scaler.pt --json | grep -q "\"scale\": *$1"; }
    says 16384
    tare/bin/tare edit edited/state/scaler.pt scale=32768 --yes
    says 32768
    tare/bin/tare undo edited/state/scaler.pt --yes
    says 16384
    echo reads, edits, undoes
END
  )
  program=$(attempt "$root" program <<'END'
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends gcc libc6-dev python3
    cc header.c -I tare/include -L tare/lib -ltare -o consumer
    LD_LIBRARY_PATH=tare/lib ./consumer
    echo "ok, $(cc --version | head -n 1)"
END
  )
  package=$(attempt "$root" package <<'END'
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "not tried: Python $(python3 -V | cut -d" " -f2)"; exit 0; }
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends python3-venv
    python3 -m venv --clear fresh
    fresh/bin/pip install -q --no-index libtare-*.whl
    fresh/bin/python -c '
import tare
state = tare.Scaler("torch", initial_scale=1024.0).save()
state.write("state.h5")
assert tare.State.read("state.h5") == state'
    export TARE=$PWD/fresh/bin/tare TARE_CORPUS=$PWD/corpus TARE_HEADER=$PWD/tare/include/tare/tare.h
    cd tests
    ran=0
    for tests in verbs scaler statistics comm; do
      ../fresh/bin/python -B -m unittest discover -p ${tests}_test.py >../$tests.log 2>&1 || { cat ../$tests.log; exit 1; }
      ran=$((ran + $(sed -n "s/^Ran \([0-9]*\) tests\{0,1\} in .*/\1/p" ../$tests.log)))
    done
    echo "states in HDF5, $ran tests of the package, Python $(python3 -V | cut -d" " -f2)"
END
  )
  printf '%s | %s | %s | %s | %s\n' "$(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' "$root/etc/os-release")" \
    "$(within "$root" ldd --version | head -n 1)" "$command" "$program" "$package"
}

rows=()
for platform in "${platforms[@]}"; do
  suite_of "$platform" >/dev/null || exit 2
  bare "$platform" "$kept/$platform"
  rows+=("$(row "$platform")")
done
echo "distribution | libc | command | program of C | package"
printf '%s\n' "${rows[@]}"
case ${rows[*]} in *FAILED*) exit 1 ;; esac
