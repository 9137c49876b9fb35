#!/usr/bin/env python3
"""Holds `tare simulate` against every recorded trace: under the policy that explains a run it gives the run back.

    own_policy.py --tare BINARY --cases FOLDER

Of each case `--explain` finds settings, or says that there are none; under the first one found the overflows of the run lie
within the answer, and are the answer where every step is told. NOT_GIVEN_BACK says of which cases nothing explains what
they tell, and why.
"""
import argparse
import json
import pathlib
import sys

import command
from command import Tare

command.WALL_LIMIT_S = 120  # of a busy machine
REFUSED = 4
OVERFLOWS_ALONE = "tells of overflows alone, and not how many clean steps lie between them"
RESTARTS = "a run that was restarted from an older step goes on from a state that the log does not tell"
EVENTS_ALONE = "a log of events: what the steps between them were is not told"
UPDATES = "steps that are skipped are not counted, and reports come fifty or a hundred apart"
NOT_GIVEN_BACK = {
    "apex/four-ranks-interleaved": OVERFLOWS_ALONE,
    "apex/one-rank": OVERFLOWS_ALONE,
    "apex/to-zero": OVERFLOWS_ALONE,
    "deepspeed/floor-tqdm-0.9.5": OVERFLOWS_ALONE,
    "deepspeed/fp16-optimizer-0.1.0": EVENTS_ALONE,
    "deepspeed/fp16-optimizer-0.3.16": EVENTS_ALONE,
    "deepspeed/fp16-optimizer-0.6.7": EVENTS_ALONE,
    "fairseq/0.12.2-json": UPDATES,
    "fairseq/0.12.2-minimum-reached": UPDATES,
    "fairseq/0.12.2-simple": UPDATES,
    "megatron/restart-overlap": RESTARTS,
    "megatron/three-files": RESTARTS,
    "mmengine/grad-norm-only": OVERFLOWS_ALONE,
    "mmengine/loss-scale-hook": OVERFLOWS_ALONE,
    "nasty/three-restarts": RESTARTS,
    "tensorboard/restart-overlap": RESTARTS,
    "tensorboard/restart-purge-step": RESTARTS,
    "videomae/metric-logger": OVERFLOWS_ALONE,
}


def words_of(setting):
    """The options that make `tare simulate` run under that setting."""
    parameters = [f"--set={key}={value}" for key, value in setting["parameters"].items() if key != "initial_scale"]
    return ["--policy", f"{setting['policy']} {setting['variant']}".strip(), *parameters]


def not_explained(case, answer):
    """What falls short where a case is expected to be explained by nothing."""
    if answer.code == REFUSED:
        return None if NOT_GIVEN_BACK[case] == OVERFLOWS_ALONE else f"exit {answer.code}: {answer.err}"
    explanation = answer.json()["explanation"]
    if explanation["exact"]:
        return f"is explained now ({explanation['exact'][0]['policy']}): take it out of the list"
    return None if explanation["first_contradiction"] or explanation["cut"] else "nothing, and no reason"


def given_back(tare, target, answer):
    """What falls short of a case that some setting explains."""
    if answer.code:
        return f"exit {answer.code}: {answer.err}"
    explanation = answer.json()["explanation"]
    if not explanation["exact"]:
        return f"nothing explains it: {json.dumps(explanation)[:300]}"
    again = tare("simulate", target, *words_of(explanation["exact"][0]), "--json").json()
    (least, most), overflows = again["settings"][0]["skipped"], again["trace"]["overflows"]
    return None if least <= overflows <= most else f"skips {least} to {most}, the run {overflows}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--cases", required=True, type=pathlib.Path)
    options = ask.parse_args()
    tare = Tare(options.tare)
    tried, problems = 0, []
    for truth in sorted(options.cases.glob("*/*/truth.json")):
        case = str(truth.parent.relative_to(options.cases))
        target = truth.parent / json.loads(truth.read_text())["target"]
        answer = tare("simulate", target, "--explain", "--json")
        problem = not_explained(case, answer) if case in NOT_GIVEN_BACK else given_back(tare, target, answer)
        tried += 1
        if problem:
            problems.append(f"{case}: {problem}")
    problems += [f"{case}: there is no such case" for case in NOT_GIVEN_BACK if not (options.cases / case).is_dir()]
    for problem in problems:
        print("falls short:", problem)
    print(f"{tried} runs, {tried - len(NOT_GIVEN_BACK)} to be given back, {len(problems)} fall short")
    return 1 if problems or tried < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
