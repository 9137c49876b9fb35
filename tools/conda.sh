#!/usr/bin/env bash
# Makes the conda package of a tarball (tools/tarball.sh), and runs the recipe's tests (tools/conda/recipe.yaml) in an
# environment that has nothing else.
#
#   tools/conda.sh FOLDER TARBALL      into FOLDER
#
# Needs pip with PyPI (py-rattler-build, zstandard). Says what is missing and exits with 77 where it cannot run.
set -euo pipefail
case $#${1:--} in 2[!-]*) ;; *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;; esac
umask 022  # what is packed has the modes that files have
tools=$(dirname "$(realpath "$0")")
mkdir -p "$1"
folder=$(realpath "$1") tarball=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/tools" 2>"$work/log" || { echo "no python3-venv: not run" >&2; exit 77; }
"$work/tools/bin/pip" install -q py-rattler-build zstandard 2>"$work/log" ||
  { echo "no py-rattler-build and zstandard from PyPI: not run" >&2; tail -n 2 "$work/log" >&2; exit 77; }

mkdir "$work/installed"
tar -xzf "$tarball" --strip-components=1 -C "$work/installed"
TARE_VERSION=$(basename "$tarball" | cut -d- -f2)
case $(basename "$tarball" .tar.gz | cut -d- -f4) in
  x86_64) platform=linux-64 ;;
  aarch64) platform=linux-aarch64 ;;
  *) echo "$tarball: its name ends with no machine that conda's packages are made for: x86_64, aarch64" >&2; exit 2 ;;
esac
TARE_GLIBC=$(find "$work/installed" -type f \( -perm /111 -o -name '*.so*' \) -exec "$tools/old_glibc/asked.sh" {} +)
TARE_INSTALLED=$work/installed
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$tools" log -1 --format=%ct 2>/dev/null || date +%s)}
export TARE_VERSION TARE_GLIBC TARE_INSTALLED SOURCE_DATE_EPOCH
"$work/tools/bin/python" "$tools/conda/pack.py" "$tools/conda/recipe.yaml" "$work/made" "$folder" $platform
