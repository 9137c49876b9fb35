#!/bin/sh
# Prints the highest glibc that a symbol of any of the files asks for, as 2.27; nothing where all are static, or no programs.
#
#   tools/old_glibc/asked.sh FILE...
for file in "$@"; do
  readelf --version-info --wide "$file" 2>/dev/null | sed -n '/^Version needs section/,/^$/s/.*Name: GLIBC_\(2\.[0-9]*\).*/\1/p'
done | sort -V | tail -n 1
