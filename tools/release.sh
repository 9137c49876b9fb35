#!/usr/bin/env bash
# Makes all files of a release (Debian's packages, the wheel, the tarball, the conda package, their sums), and tries all but
# the conda package on a bare Debian 12 in a chroot: installed by apt and pip, unpacked, a checkpoint read, edited and undone, a
# program linked.
#
#   tools/release.sh FOLDER [ARCHITECTURE]      into FOLDER; for another architecture than this one's (Debian's name: arm64) with
#                                               Debian's cross-compiler, tried under qemu-user
#
# TARE_OPTIONS goes to CMake ("-DTARE_CUDA=off"). Needs what tools/packages.sh build installs, pip with PyPI, debootstrap and
# root; what cannot be made or tried is told, and makes the exit code 77.
set -euo pipefail
case $#${1:--} in [12][!-]*) ;; *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
folder=$(realpath -m -- "$1") missing=0
cd "$(dirname "$0")/.."
mkdir -p "$folder"
not_run() {
  echo "not run: $*"
  exit 77
}
[ $# -eq 1 ] || export TARE_ARCHITECTURE=$2
# shellcheck source=tools/cross/target.sh
. tools/cross/target.sh

# made COMMAND...: one of the makers; 77 is told and noted.
made() {
  local status=0
  echo "== $*"
  "$@" || status=$?
  [ $status -ne 77 ] || missing=77
  [ $status -eq 0 ] || [ $status -eq 77 ] || exit $status
}
made tools/deb.sh "$folder"
made tools/tarball.sh "$folder"
made tools/conda.sh "$folder" "$(ls -t "$folder"/tare-*-"$machine".tar.gz | head -n 1)"
made tools/wheel.sh "$folder"
(cd "$folder" && shopt -s nullglob && sha256sum -- *.deb *.tar.gz *.conda *.whl >SHA256SUMS)

# shellcheck source=tests/chroot.sh
. tests/chroot.sh
require_chroots
root=$kept/release-debian12
[ "$machine" = "$(uname -m)" ] || root+=-$architecture
bare debian12 "$root" "$architecture" "$machine"
rm -rf "$root/release"
mkdir "$root/release"
cp "$folder"/SHA256SUMS "$folder"/*_"$architecture".deb "$folder"/*"$machine".tar.gz tests/capi/header.c "$root/release"
find "$folder" -maxdepth 1 -name "*$machine.whl" -exec cp -t "$root/release" {} +  # none where it could not be made
tar -xJOf tests/data/corpus.tar.xz accelerate/fsdp_sharded/state/scaler.pt >"$root/release/scaler.pt"

echo "== on a bare Debian 12"
within "$root" sh -euc '
  cd /release
  sha256sum --quiet --ignore-missing --check SHA256SUMS
  says() { "$@" inspect scaler.pt --json | grep -q "\"scale\": *16384"; }
  tries() { says "$@" && "$@" edit scaler.pt scale=32768 --yes >/dev/null && ! says "$@" && "$@" undo scaler.pt --yes >/dev/null && says "$@"; }

  mkdir unpacked && tar -xzf tare-*.tar.gz -C unpacked
  tries unpacked/tare-*/bin/tare
  echo "tarball: runs where nothing else is installed"

  apt-get update -qq
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -qq --no-install-recommends ./libtare0_*.deb ./tare_*.deb ./libtare-dev_*.deb gcc libc6-dev pkgconf python3-venv >apt.log 2>&1
  tries tare
  cc header.c $(pkg-config --cflags --libs tare) -o consumer
  [ "$(./consumer)" = ok ]
  echo "packages: installed by apt; a program compiles, links and runs"

  # says_by_module CALL ARGUMENT WORDS: what the library answers through a module, here where there is neither a GPU nor an MPI that runs.
  says_by_module() {
    python3 -c "
import ctypes, sys
call, argument, words = sys.argv[1:]
error, handle = ctypes.create_string_buffer(1040), ctypes.c_void_p()
ctypes.CDLL(\"libtare.so.0\")[call](ctypes.byref(handle), argument.encode(), error)
if words not in error.raw[16:].decode(): sys.exit(error.raw[16:].decode())" "$@"
  }
  for package in libtare-cuda libtare-mpi; do
    ls ${package}_*.deb >/dev/null 2>&1 || { echo "$package: was not made, is not tried"; continue; }
    apt-get install -qq --no-install-recommends ./${package}_*.deb >apt.log 2>&1
    case $package in
      libtare-cuda) says_by_module tare_scaler_create "{\"policy\":\"torch\",\"device\":\"cuda:0\"}" "the driver found is none" ;;
      libtare-mpi) says_by_module tare_comm_from_mpi "{}" "MPI (Open MPI" ;;
    esac
    echo "$package: installed by apt; the library loads its module"
  done

  ls libtare-*.whl >/dev/null 2>&1 || { echo "wheel: was not made, is not tried"; exit 0; }
  python3 -m venv fresh
  fresh/bin/pip install -q --no-index libtare-*.whl
  tries fresh/bin/tare
  fresh/bin/python -c "
import tare
assert tare.inspect(\"scaler.pt\").scalers[0].roles.scale == 16384.0
state = tare.Scaler(\"torch\", initial_scale=1024.0).save()
state.write(\"state.h5\")
assert tare.State.read(\"state.h5\") == state"
  echo "wheel: installed by pip; reads, edits, and writes HDF5"
'
exit $missing
