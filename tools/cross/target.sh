# shellcheck shell=bash
# For the scripts that make files of a release: which machine they are for, by TARE_ARCHITECTURE, Debian's name of it (arm64,
# amd64); unset: this one. For another than this one's Debian's cross-compiler is used, a sysroot and qemu-user. Sourced from the root of
# the repository; not_run has to end the script. Gives
#   architecture, machine    Debian's and the kernel's name
#   builds                   the folder of build folders
#   options                  for CMake, with those of TARE_OPTIONS
#   oldest_glibc             what an archive and a wheel start with (tools/old_glibc)
#   compile, run             in front of a compiler's arguments, and of a program that was made; run_static for static ones
#   dpkg_database            of the packages that what is made was linked with; empty: the system's
architecture=${TARE_ARCHITECTURE:-$(dpkg --print-architecture)}
case $architecture in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
  "$(dpkg --print-architecture)") machine=$(uname -m) ;;
  *)
    echo "TARE_ARCHITECTURE=$architecture: no architecture that files are made for; Debian's names are amd64, arm64 and $(dpkg --print-architecture)" >&2
    exit 2
    ;;
esac
read -ra options <<<"${TARE_OPTIONS:-}"
oldest_glibc=2.27
umask 022  # what is packed has the modes that files have
builds=build compile=(cc) run=() run_static=() dpkg_database=

if [ "$machine" != "$(uname -m)" ]; then
  triplet=$machine-linux-gnu builds=build/$architecture
  for command in "$triplet-g++" "qemu-$machine-static" mmdebstrap; do
    command -v "$command" >/dev/null || not_run "there is no $command: apt-get install g++-$triplet qemu-user-static mmdebstrap"
  done
  TARE_TRIPLET=$triplet TARE_SYSROOT=$(realpath -m "${TARE_CROSS:-build/cross}/$architecture/sysroot")
  export TARE_TRIPLET TARE_SYSROOT
  [ -e "$TARE_SYSROOT/.complete" ] || {
    mkdir -p "$(dirname "$TARE_SYSROOT")"
    rm -rf "$TARE_SYSROOT"
    tools/cross/sysroot.sh "$architecture" "$TARE_SYSROOT" >"$TARE_SYSROOT.log" 2>&1 || not_run "no sysroot: $TARE_SYSROOT.log"
    touch "$TARE_SYSROOT/.complete"
  }
  options+=("-DCMAKE_TOOLCHAIN_FILE=$PWD/tools/cross/debian.cmake" -DTARE_CUDA=off -DTARE_MPI=off)
  compile=("$triplet-gcc" "--sysroot=$TARE_SYSROOT") run_static=("qemu-$machine-static") run=("qemu-$machine-static" -L "$TARE_SYSROOT")
  dpkg_database=$TARE_SYSROOT/var/lib/dpkg
fi
