#!/usr/bin/env bash
# The main job, on a bare Debian 12 or 13: installs what is missing, builds the tare command, and takes two real training runs
# through inspect, edit, diff and undo: a Hugging Face Trainer's whose scale collapsed to 0, and DeepSpeed's on four ranks.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/packages.sh build
cmake --preset demo >/dev/null
cmake --build --preset demo --target tare

tare=$PWD/build/demo/tools/tare
cases=$PWD/build/demo/corpus
python3 tests/data/unpack.py tests/data/corpus.tar.xz "$cases"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -a "$cases/transformers/run_collapse/run" "$scratch/broken"
cp -a "$cases/deepspeed/zero2_4ranks_tags/ckpt" "$scratch/ranks"
cd "$scratch"
cp -a broken broken.before
cp -a ranks ranks.before

bold=; plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m'; plain=$'\e[0m'; fi

say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }

# show EXIT COMMAND...: the command as one would type it, and what it answers. Any other exit code ends the demo.
show() {
  local wanted=$1 got=0
  shift
  printf '%s$ tare %s%s\n' "$bold" "$*" "$plain"
  "$tare" "$@" || got=$?
  [ "$got" -eq "$wanted" ] || { echo "demo: exit $got, expected $wanted" >&2; exit 1; }
}

say "A run whose loss no longer moves. What scaler state would it resume with?"
show 0 inspect broken
say "No gradient survives that. Start again from a sane scale; grow it rarely, a number that takes more bytes."
show 0 edit broken scale=2^16 growth_interval=70000 --yes
show 0 get broken scale
show 0 history broken
say "What is different from before? (Exit code 1: something is.)"
show 1 diff broken.before broken
say "And back, as if nothing had been."
show 0 undo broken --yes
diff -r --exclude=.tare broken.before broken

say "A DeepSpeed run: four ranks, a copy in each one's file."
show 0 inspect ranks
say "What would an edit write, and where?"
show 0 edit ranks scale=4096 --dry-run
say "All files in one transaction: all of them change, or none."
show 0 edit ranks scale=4096 --yes
show 1 diff ranks.before ranks
show 0 undo ranks --yes
diff -r --exclude=.tare ranks.before ranks
say "Every byte is back."
