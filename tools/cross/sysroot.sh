#!/usr/bin/env bash
# Unpacks what tare is built with, for another architecture, into a folder. Installs nothing. Needs mmdebstrap and root.
#
#   tests/cross/sysroot.sh ARCHITECTURE FOLDER [SUITE]        Debian's names: arm64 ... bookworm
set -euo pipefail
architecture=$1 folder=$(realpath -m "$2") suite=${3:-bookworm}
here=$(dirname "$(realpath "$0")")

libraries=$("$here/../../tools/packages.sh" names build check | grep -E -- '-dev$|^catch2$')
case $suite in
  bookworm) compiler=12 ;;
  *) compiler=14 ;;
esac
packages="libc6-dev libstdc++-$compiler-dev $libraries"
mmdebstrap --architectures="$architecture" --variant=extract --include="$(echo $packages | tr ' ' ,)" "$suite" "$folder"

cd "$folder"
# Absolute links would lead out of it.
find . -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -sm --relative-to="$(dirname "$link")" ".$(readlink "$link")")" "$link"
done
