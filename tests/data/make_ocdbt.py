#!/usr/bin/env python3
"""Adds to a folder of cases, for pack.py, a database whose tree is several nodes high, as that of a model of very many arrays is:
TensorStore writes what a case of Orbax's holds, and other keys beside it, into small nodes.

    make_ocdbt.py FOLDER

Needs tensorstore (0.1.86 made what is packed).
"""
import json
import pathlib
import shutil
import sys

import tensorstore

SOURCE, CASE, STEP = "flax/orbax_ocdbt", "flax/orbax_ocdbt_deep", "run/2/default"
NODE_BYTES = 200
BESIDE = 60  # keys before and behind those of the case


def opened(folder, **config):
    spec = {"driver": "ocdbt", "base": f"file://{folder.resolve()}/", **({"config": config} if config else {})}
    return tensorstore.KvStore.open(spec).result()


def contents(database):
    return {key: database.read(key).result().value for key in database.list().result()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source, case = (pathlib.Path(sys.argv[1], name) for name in (SOURCE, CASE))
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(source, case)
    for step in case.glob("run/*"):
        if step != (case / STEP).parent:
            shutil.rmtree(step)
    wanted = contents(opened(source / STEP))
    for number in range(BESIDE):
        wanted[f"{'az'[number % 2]}.unused.{number:03}/0".encode()] = bytes([number]) * 16
    folder = case / STEP
    for name in "d", "ocdbt.process_0":
        shutil.rmtree(folder / name)
    (folder / "manifest.ocdbt").unlink()
    database = opened(folder, max_decoded_node_bytes=NODE_BYTES, max_inline_value_bytes=0)
    transaction = tensorstore.Transaction()
    for key, value in wanted.items():
        database.with_transaction(transaction)[key] = value
    transaction.commit_async().result()
    if contents(opened(folder)) != wanted:
        sys.exit("the database does not hold what was written")
    truth = json.loads((case / "truth.json").read_text())
    truth["writer"] = "orbax, flax; its database written anew by tensorstore with max_decoded_node_bytes 200 and 60 keys more"
    truth["notes"] = "the tree has interior nodes; files names the manifest, the values are in the d/ files below it"
    (case / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    main()
