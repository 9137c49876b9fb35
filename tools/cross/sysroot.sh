#!/usr/bin/env bash
# Unpacks what tare is built with, for another architecture, into a folder. Installs nothing. Needs mmdebstrap and root.
#
#   tools/cross/sysroot.sh ARCHITECTURE FOLDER [SUITE]        Debian's names: arm64 ... bookworm
#
# FOLDER/var/lib/dpkg tells dpkg-query and dpkg-shlibdeps (--admindir) of the packages, and of their files as they lie here.
set -euo pipefail
architecture=$1 folder=$(realpath -m "$2") suite=${3:-bookworm}
here=$(dirname "$(realpath "$0")")

libraries=$("$here/../packages.sh" names build check | grep -E -- '-dev$|^catch2$')
case $suite in
  bookworm) compiler=12 ;;
  *) compiler=14 ;;
esac
packages="libc6-dev libstdc++-$compiler-dev $libraries"
mmdebstrap --architectures="$architecture" --variant=extract --skip=cleanup/apt --include="$(echo $packages | tr ' ' ,)" "$suite" "$folder"

cd "$folder"
# Absolute links would lead out of it.
find . -type l -lname '/*' | while read -r link; do
  ln -sfn "$(realpath -sm --relative-to="$(dirname "$link")" ".$(readlink "$link")")" "$link"
done

# note PACKAGE.deb: in the database, as installed. In /lib a file may be found by /usr/lib, too.
note() {
  local name kind
  name=$(dpkg-deb --field "$1" Package)
  [ "$(dpkg-deb --field "$1" Multi-Arch)" != same ] || name+=:$architecture
  { dpkg-deb --field "$1" && printf 'Status: install ok installed\n\n'; } >>var/lib/dpkg/status
  dpkg-deb --fsys-tarfile "$1" | tar -t | sed -n "s,^\.\(/.*[^/]\)\$,\1,; T; h; s,^,$folder,p; g; s,^/lib/,$folder/usr&,p" >"var/lib/dpkg/info/$name.list"
  for kind in shlibs symbols; do
    dpkg-deb --info "$1" $kind >"var/lib/dpkg/info/$name.$kind" 2>/dev/null || rm "var/lib/dpkg/info/$name.$kind"
  done
}
echo 1 >var/lib/dpkg/info/format  # lists bear an architecture's name
for package in var/cache/apt/archives/*.deb; do note "$package"; done
rm -f var/cache/apt/archives/*.deb
