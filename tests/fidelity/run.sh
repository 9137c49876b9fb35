#!/usr/bin/env bash
# Edits copies of real checkpoints and loads them with the real frameworks: newest torch, DeepSpeed and Megatron, an old
# torch, TransformerEngine, TensorFlow, Orbax, MindSpore and Paddle. Prints what each one loaded. Not a part of tests/run.sh: the frameworks
# take some 12 GB.
#
#   tests/fidelity/run.sh [ARGUMENTS OF fidelity.py...]       e.g. --only 'deepspeed/*'
#
# TARE_FIDELITY_CACHE   where the frameworks are kept (default ~/.cache/tare-fidelity)
# PYTHON                a Python that the old torch still supports, 3.8 to 3.11 (default: python3)
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/fidelity
cache=${TARE_FIDELITY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tare-fidelity}

tools/packages.sh build check fidelity
cmake --preset release >/dev/null
cmake --build --preset release --target tare tare_capi tare_hdf5_module test_data

# environment NAME: a Python with what NAME.txt lists, made again when the list changes.
environment() {
  local folder=$cache/$1 list=$here/$1.txt
  cmp -s "$list" "$folder/made-of.txt" && return
  echo "Making the environment $folder ..."
  rm -rf "$folder"
  "${PYTHON:-python3}" -m venv "$folder"
  DS_BUILD_OPS=0 "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$list"
  cp "$list" "$folder/made-of.txt"
}
environment new
environment old
environment tensorflow
environment orbax
environment keras
environment mindspore
environment paddle
environment resumes

# Releases of TransformerEngine, side by side: their Python alone, which needs no GPU.
while read -r release; do
  folder=$cache/extra_state/${release#*==}
  [ -d "$folder" ] || "$cache/new/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$folder" "$release"
done <$here/extra_state.txt

# Those that resumes.py runs beside its environment, each in a folder of its own.
while read -r name packages; do
  [[ $name == '#'* ]] || [ -d "$cache/resumes_beside/$name" ] ||
    DS_BUILD_OPS=0 "$cache/resumes/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
      --target "$cache/resumes_beside/$name" $packages
done <$here/resumes_beside.txt

# What each environment is there for; a selection need not hold all of it.
must_new=(--must torch/train-t2.15 torch/legacy-t2.15 torch/dcp-plain-4rank-t2.15 torch/dcp-rank-metadata lightning/v2_6
  deepspeed/zero2_4ranks_tags megatron/torch_tp2_pp2 megatron/dist_tp2 megatron/dist_reshardable)
must_old=(--must torch/train-t1.13 torch/legacy-t1.13 torch/object-t1.13)
must_mindspore=(--must mindspore/dynamic_cell_crc mindspore/dynamic_cell_safetensors_crc mindspore/four_ranks
  mindformers/checkpoint_monitor)
must_paddle=(--must paddle/scaler_alone paddle/train_state_protocol2 paddle/static_amp_save_vars)
[ $# -eq 0 ] || must_new=() must_old=() must_mindspore=() must_paddle=()

common=(--tare build/release/tools/tare --corpus build/release/tests/data/corpus)
status=0
"$cache/new/bin/python" $here/fidelity.py "${common[@]}" "${must_new[@]}" "$@" || status=1
"$cache/old/bin/python" $here/fidelity.py "${common[@]}" "${must_old[@]}" "$@" || status=1
"$cache/mindspore/bin/python" $here/parameters.py "${common[@]}" "${must_mindspore[@]}" "$@" || status=1
"$cache/paddle/bin/python" $here/parameters.py "${common[@]}" "${must_paddle[@]}" "$@" || status=1
"$cache/new/bin/python" $here/engine.py "${common[@]}" 2>"$cache/engine.log" || { cat "$cache/engine.log" >&2; status=1; }
"$cache/new/bin/python" $here/removed_keys.py "${common[@]}" 2>"$cache/removed_keys.log" ||
  { cat "$cache/removed_keys.log" >&2; status=1; }
"$cache/new/bin/python" $here/safetensors_state.py "${common[@]}" || status=1
"$cache/new/bin/python" $here/extra_state.py "${common[@]}" --releases "$cache/extra_state" || status=1
for arrays in tensorflow orbax keras; do
  "$cache/$arrays/bin/python" $here/arrays.py "${common[@]}" 2>"$cache/$arrays.log" ||
    { cat "$cache/$arrays.log" >&2; status=1; }
done
"$cache/keras/bin/python" $here/fp8_arrays.py "${common[@]}" 2>"$cache/fp8_arrays.log" ||
  { cat "$cache/fp8_arrays.log" >&2; status=1; }
for frameworks in new mindspore paddle keras; do
  "$cache/$frameworks/bin/python" $here/new_files.py --tare build/release/tools/tare || status=1
done
# A compressed state in HDF5, by the filters that PyPI has.
"$cache/new/bin/python" $here/sharded.py --tare build/release/tools/tare 2>"$cache/sharded.log" ||
  { cat "$cache/sharded.log" >&2; status=1; }
"$cache/new/bin/python" $here/quantised_optimizer.py --tare build/release/tools/tare 2>"$cache/quantised_optimizer.log" ||
  { cat "$cache/quantised_optimizer.log" >&2; status=1; }
"$cache/new/bin/python" $here/hdf5_plugin.py build/release/lib/libtare.so "$PWD" || status=1
# What resumes do, as lib/dialect/resumes.md says it.
"$cache/resumes/bin/python" $here/resumes.py --beside "$cache/resumes_beside" || status=1
# The GradScaler of capi/examples beside torch's own.
"$cache/new/bin/python" tests/bindings/torch_scaler.py build/release/lib/libtare.so "$PWD" cpu 2000 || status=1
# That of the Python package, and its other tests where there are NumPy and torch.
"$cache/new/bin/python" tests/bindings/torch_scaler.py build/release/lib/libtare.so "$PWD" cpu 2000 package || status=1
PYTHONPATH=$PWD/capi/python LD_LIBRARY_PATH=$PWD/build/release/lib TARE=$PWD/build/release/tools/tare \
  TARE_CORPUS=$PWD/build/release/tests/data/corpus TARE_HEADER=$PWD/capi/include/tare/tare.h \
  "$cache/new/bin/python" -B -m unittest discover -s tests/python -p '*_test.py' || status=1
exit $status
