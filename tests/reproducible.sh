#!/usr/bin/env bash
# Makes the files of a release once more, of the same commit, from nothing, in a folder of another name, and compares them with
# those that are there, byte for byte. A compiler's cache that is used begins empty: what two of them need is compiled once.
#
#   tests/reproducible.sh FOLDER [KEPT]      FOLDER: what tools/release.sh, tools/deb.sh, tools/tarball.sh and the like made of this
#                                            commit; of which kind there is none, that is not made. KEPT: where to build, and leave it
#
# TARE_OPTIONS and TARE_ARCHITECTURE as for those. The last line says how many files are alike; exit 1 where one is not.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain)" ] || { echo "reproducible: there are changes that no commit has" >&2; exit 2; }

if [ $# -ge 2 ]; then
  mkdir -p "$2"
  work=$(realpath "$2")
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
there=$work/a_folder_of/quite_another/length/tare
[ -e "$there/.git" ] || git clone -q --shared . "$there"
git -C "$there" checkout -q --detach "$(git rev-parse HEAD)"
export CCACHE_DIR=$work/cache TZ=Pacific/Kiritimati LC_ALL=C.UTF-8
umask 027

has() { compgen -G "$folder/$1" >/dev/null; }
cd "$there"
# shellcheck source=tests/compiler_cache.sh
. tests/compiler_cache.sh
# Each in a build folder of its own, as for a release: options that one of them gives stay in a folder.
if has 'tare-*.tar.gz'; then tools/tarball.sh "$work/again"; fi
if has '*.deb'; then tools/deb.sh "$work/again"; fi
if has '*.conda'; then tools/conda.sh "$work/again" "$(ls "$work"/again/tare-*.tar.gz)"; fi
if has '*.whl'; then tools/wheel.sh "$work/again"; fi

alike=0 differ=0
for file in "$work"/again/*; do
  if cmp "$file" "$folder/$(basename "$file")"; then alike=$((alike + 1)); else differ=$((differ + 1)); fi
done
echo "reproducible: $alike files alike, $differ not"
[ $differ -eq 0 ] && [ $alike -gt 0 ]
