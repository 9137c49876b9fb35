#!/usr/bin/env bash
# Builds and runs one example of capi/examples against a built libtare; what it prints is the same in every language.
#
#   run.sh c|cpp|python|rust|go|lua|fortran|ruby LIBTARE CHECKPOINT REPOSITORY
#
# Exit 77 where the language's tools are not installed.
set -euo pipefail
language=$1 library=$(realpath "$2") checkpoint=$(realpath "$3") root=$(realpath "$4")  # go builds elsewhere
examples=$root/capi/examples
folder=$(dirname "$library")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

require() { command -v "$1" >/dev/null || { echo "no $1: not run"; exit 77; }; }

case $language in
  c)
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$root/capi/include" "$examples/example.c" -ldl -o "$work/example"
    "$work/example" "$library" "$checkpoint" "$work" ;;
  cpp)
    c++ -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I"$root/capi/include" "$examples/example.cpp" \
      -L"$folder" "-l:$(basename "$library")" -Wl,-rpath,"$folder" -o "$work/example"
    "$work/example" "$checkpoint" "$work" ;;
  python)
    PYTHONDONTWRITEBYTECODE=1 python3 "$examples/example.py" "$library" "$checkpoint" "$work" ;;
  rust)
    require rustc
    rustc --edition 2021 -D warnings -O "$examples/example.rs" -o "$work/example"
    "$work/example" "$library" "$checkpoint" "$work" ;;
  go)
    require go
    CGO_CFLAGS="-I$root/capi/include" CGO_LDFLAGS="-L$folder -l:$(basename "$library") -Wl,-rpath,$folder" GOFLAGS=-mod=mod \
      GOCACHE="$work/cache" go build -o "$work/example" "$examples/example.go"
    GODEBUG=cgocheck=1 "$work/example" "$checkpoint" "$work" ;;
  lua)
    require luajit
    luajit "$examples/example.lua" "$library" "$checkpoint" "$work" ;;
  fortran)
    require gfortran
    gfortran -std=f2008 -Wall -Wextra -Wno-c-binding-type -Werror -J "$work" "$examples/example.f90" -ldl -o "$work/example"
    "$work/example" "$library" "$checkpoint" "$work" ;;
  ruby)
    require ruby
    ruby -W "$examples/example.rb" "$library" "$checkpoint" "$work" ;;
  *)
    echo "no such language: $language"; exit 2 ;;
esac | tee "$work/answer"

diff "$work/answer" - <<'EOF'
unscaled 1, scale 512
read back 512 and 512
an overflow after the checkpoint: scale 32768
EOF
