#!/usr/bin/env bash
# The main job, on a bare Debian 12: installs what is missing, builds the tare command, and takes two real checkpoints
# (DeepSpeed ZeRO-2 on four ranks, and a plain PyTorch training loop) through inspect, edit, diff and undo.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/packages.sh build
cmake --preset release >/dev/null
cmake --build --preset release --target tare test_data

tare=$PWD/build/release/tools/tare
cases=$PWD/build/release/tests/data/corpus
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -a "$cases/deepspeed/zero2_4ranks_tags/ckpt" "$scratch/run"
cp -a "$cases/torch/train-t2.15/checkpoint.pth" "$scratch/checkpoint.pth"
cd "$scratch"

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

say "A DeepSpeed run of four ranks: what scaler state does it resume with?"
show 0 inspect run
say "Start again from another scale. What would that change?"
show 0 edit run scale=4096 --dry-run
say "Do it: the files of all ranks, in one transaction."
cp -a run before
show 0 edit run scale=4096 --yes
show 0 get run scale
say "What is different now?"
show 1 diff before run
say "And back: every byte, mode and time as it was."
show 0 undo run --yes
diff -r --exclude=.tare before run
show 0 diff before run

say "A checkpoint of a plain PyTorch loop: another scale, and a growth interval that needs more bytes than were there."
show 0 inspect checkpoint.pth
show 0 edit checkpoint.pth scale=2^14 growth_interval=70000 --yes
show 0 get checkpoint.pth growth_interval
show 0 history checkpoint.pth
show 0 undo checkpoint.pth --yes
cmp checkpoint.pth "$cases/torch/train-t2.15/checkpoint.pth"
say "All bytes are back."
