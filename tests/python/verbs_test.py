"""The package's verbs answer as `tare VERB --json` does, and change the same bytes."""
import fcntl
import json
import struct
import threading
import unittest

import tare
from cases import CORPUS, command, copy_of

# Of an edit, what is of its moment.
OF_THE_MOMENT = {"id", "when", "command", "number"}
EXIT = {2: tare.InvalidArgument, 3: (tare.FileError, tare.Corrupt, tare.Unsupported, tare.Busy, tare.NotFound),
        4: (tare.Refused, tare.Conflict, tare.NotFound, tare.Unsupported, tare.Mismatch)}


def lasting(answer):
    if isinstance(answer, dict):
        return {key: lasting(value) for key, value in answer.items() if key not in OF_THE_MOMENT}
    return [lasting(item) for item in answer] if isinstance(answer, list) else answer


def cases_of_corpus():
    for truth in sorted(CORPUS.rglob("truth.json")):
        yield str(truth.parent.relative_to(CORPUS))


class Verbs(unittest.TestCase):
    def compare(self, words, call):
        """The command's answer, which is the package's too; of a refusal nothing, in both."""
        code, out = command(*words, "--json")
        if code in (0, 1):
            self.assertEqual(lasting(call()), lasting(json.loads(out)), words)
            return json.loads(out)
        with self.assertRaises(EXIT[code], msg=str(words)):
            call()
        return None

    def change(self, name, words, call):
        """The same, of a change to a copy of a case; what lies there then is the same, and undo brings all back."""
        case = copy_of(name)
        before = case.contents()
        code, out = command(*words(case.target), "--yes", "--json")
        by_command = case.contents()
        case = case.again()
        if code not in (0, 1):
            with self.assertRaises(EXIT[code]):
                call(case.target)
            self.assertEqual(case.contents(), before)
            return None
        answer = call(case.target)
        self.assertEqual(lasting(answer), lasting(json.loads(out)))
        self.assertEqual(case.contents(), by_command)
        if answer.get("number"):
            tare.undo(case.target)
            self.assertEqual(case.contents(), before)
        return answer

    def test_inspect_answers_as_the_command_for_every_case(self):
        for name in cases_of_corpus():
            with self.subTest(name):
                truth = json.loads((CORPUS / name / "truth.json").read_text())
                target = CORPUS / name / truth["target"]
                self.compare(["inspect", target], lambda: tare.inspect(target))

    def test_attest_answers_as_the_command(self):
        for name in ("torch/train-t2.15", "torch/object-t2.15", "torch/opaque", "megatron/torch_tp2_pp2"):
            case = copy_of(name)
            self.compare(["attest", case.target], lambda: tare.attest(case.target))
            self.compare(["attest", case.target, "--torch", "2.4"], lambda: tare.attest(case.target, torch="2.4"))

    def test_diff_answers_as_the_command(self):
        one, other = copy_of("torch/train-t2.15"), copy_of("torch/train-t2.4")
        self.compare(["diff", one.target, other.target], lambda: tare.diff(one.target, other.target))
        self.assertTrue(tare.diff(one.target, one.target).same)

    def test_edit_changes_as_the_command(self):
        for name in ("torch/train-t2.15", "deepspeed/zero2_4ranks_tags", "megatron/torch_tp2_pp2", "torch/gan"):
            with self.subTest(name):
                self.change(name, lambda path: ["edit", path, "scale=512"], lambda path: tare.edit(path, scale=512))

    def test_edit_takes_the_command_s_options(self):
        self.change("torch/gan", lambda path: ["edit", path, "scale=512", "--all"],
                    lambda path: tare.edit(path, {"scale": 512}, all=True))
        self.change("torch/train-t2.15", lambda path: ["edit", path, "scale=0"], lambda path: tare.edit(path, scale=0))
        self.change("torch/train-t2.15", lambda path: ["edit", path, "scale=0", "--force"],
                    lambda path: tare.edit(path, scale=0, force=True))
        self.change("torch/rank-files-disagree", lambda path: ["edit", path, "--align"],
                    lambda path: tare.edit(path, align=True))
        self.change("transformer_engine/te2.20_delayed",
                    lambda path: ["edit", path, "--layer", "*", "amax_history.input=0"],
                    lambda path: tare.edit(path, {"amax_history.input": 0}, layer="*"))
        case = copy_of("torch/train-t2.15")
        before = case.contents()
        self.compare(["edit", case.target, "scale=8", "--dry-run"], lambda: tare.edit(case.target, scale=8, dry_run=True))
        self.assertEqual(case.contents(), before)
        with self.assertRaises(tare.InvalidArgument):
            tare.edit(case.target, scalee=8)

    def test_fp8_verbs_change_as_the_command(self):
        te = "transformer_engine/te2.20_delayed"
        for words, call in (
                (["strip"], lambda path: tare.fp8.strip(path)),
                (["strip", "--remove"], lambda path: tare.fp8.strip(path, remove=True)),
                (["strip", "--for", "2.3"], lambda path: tare.fp8.strip(path, release="2.3")),
                (["reset"], lambda path: tare.fp8.reset(path)),
                (["reset", "--history", "4"], lambda path: tare.fp8.reset(path, history_length=4)),
                (["recompute"], lambda path: tare.fp8.recompute(path)),
                (["resize", "--history", "7"], lambda path: tare.fp8.resize(path, 7)),
                (["reencode", "--for", "1.13", "--force"], lambda path: tare.fp8.reencode(path, "1.13", force=True)),
                (["rename", "--from", "nothing", "--to", "more"], lambda path: tare.fp8.rename(path, "nothing", "more"))):
            with self.subTest(words):
                self.change(te, lambda path: ["fp8", words[0], path, *words[1:]], call)

    def test_a_saved_state_is_injected_from_a_file_and_from_a_state(self):
        saved = copy_of("transformer_engine/te2.20_delayed").folder / "state.json"
        code, _ = command("inspect", copy_of("transformer_engine/te2.20_delayed").target, "--save", saved)
        self.assertEqual(code, 0)
        self.change("transformer_engine/te2.5_no_fp8", lambda path: ["fp8", "inject", path, saved],
                    lambda path: tare.fp8.inject(path, saved))
        self.change("transformer_engine/te2.5_no_fp8", lambda path: ["fp8", "inject", path, saved],
                    lambda path: tare.fp8.inject(path, tare.State.read(saved)))

    def test_history_and_undo_answer_as_the_command(self):
        case = copy_of("torch/train-t2.15")
        before = case.contents()
        tare.edit(case.target, scale=512)
        answer = tare.edit(case.target, scale=256)
        history = self.compare(["history", case.target], lambda: tare.history(case.target))
        self.assertEqual([edit["id"] for edit in history["edits"]][-1], answer.id)
        self.assertEqual(tare.undo(case.target, id=answer.id).did, "undone")
        self.assertEqual(tare.undo(case.target).did, "undone")
        self.assertEqual(case.contents(), before)
        with self.assertRaises(tare.Refused):
            tare.undo(case.target)
        self.assertEqual(tare.history(case.target, prune=True).edits, [])

    def test_trace_answers_as_the_command(self):
        case = copy_of("torch/train-t2.15")
        log = case.folder / "train.log"
        log.write_text("".join(f"step {step} loss_scale: {65536 >> step // 2}\n" for step in range(1, 6)))
        self.compare(["trace", log, case.folder], lambda: tare.trace(log, case.folder))
        self.compare(["trace", log, "--tag", "loss_scale"], lambda: tare.trace(log, tag="loss_scale"))
        with self.assertRaises(tare.InvalidArgument):
            tare.trace()

    def test_health_answers_as_the_command(self):
        case = copy_of("torch/train-t2.15")
        log = case.folder / "train.log"
        scales = [65536] * 40 + [131072] * 3 + [65536] * 40 + [131072 >> k for k in range(12)]
        log.write_text("".join(f"step {step} loss_scale: {scale}\n" for step, scale in enumerate(scales, 1)))
        found = self.compare(["doctor", log, "--fail-on", "never"], lambda: tare.doctor(log))
        self.assertTrue(any(finding["severity"] == "error" for finding in found["findings"]), found)
        self.compare(["doctor", log, "--fail-on", "never", "--threshold", "collapse-overflows=100"],
                     lambda: tare.doctor(log, thresholds={"collapse-overflows": 100}))
        self.compare(["timeline", log, case.folder], lambda: tare.timeline(log, case.folder))
        self.compare(["simulate", log, "--policy", "megatron", "--window", "20,40", "--hysteresis", "1,2", "--explain"],
                     lambda: tare.simulate(log, policy="megatron", window=[20, 40], hysteresis=[1, 2], explain=True))
        with self.assertRaises(tare.InvalidArgument):
            tare.simulate(log, policy="torch", hysteresis=[2])
        fp8 = copy_of("transformer_engine/te2.20_delayed").target
        self.compare(["simulate", fp8, "--policy", "msamp", "--history", "16,64", "--margin", "0,1"],
                     lambda: tare.simulate(fp8, policy="msamp", history=[16, 64], margin=[0, 1]))

    def test_ls_answers_as_the_command(self):
        run = copy_of("torch/train-t2.15").folder
        code, out = command("ls", run, "--json")
        self.assertEqual(code, 0)
        self.assertEqual(tare.ls(run), [json.loads(line) for line in out.splitlines()])
        self.assertEqual(tare.ls(run)[0].dialect, "torch")
        with self.assertRaises(tare.FileMissing):
            tare.ls(run / "nowhere")

    def test_a_watched_run_tells_what_the_command_tells(self):
        log = copy_of("torch/train-t2.15").folder / "train.log"
        log.write_text("".join(f"step {step} loss_scale: {65536 >> step // 2}\n" for step in range(1, 30)))
        code, out = command("watch", log, "--once", "--json", "--fail-on", "never", "--settle", "0")
        told = [json.loads(line) for line in out.splitlines()]
        watch = tare.Watch(log, settle=0)
        events = watch.look()
        self.assertEqual([{**event, "time": None} for event in events],
                         [{**event, "time": None} for event in told if event["event"] not in ("begins", "ends")])
        status = watch.status()
        self.assertEqual({**status, "time": None, "event": "ends", "why": "once"}, {**told[-1], "time": None})
        self.assertIn("tare_overflows_total", watch.metrics())
        self.assertEqual(watch.look(0.01), [])
        self.assertEqual(next(iter(tare.Watch(log))).event, "found")
        with self.assertRaises(tare.NotFound):
            tare.Watch("/nowhere/at/all").look()

    def test_migrate_writes_the_file_that_the_command_writes(self):
        case = copy_of("torch/train-t2.15")
        for framework, ending in (("megatron", "pt"), ("deepspeed fused", "pt"), ("fairseq", "pt"), ("flax", "msgpack"),
                                  ("torch", "json")):
            with self.subTest(framework):
                file = case.folder / f"new.{ending}"
                code, out = command("migrate", case.target, "--to", framework, "-o", file, "--json")
                self.assertEqual(code, 0)
                written = file.read_bytes()
                with self.assertRaises(tare.Refused):
                    tare.migrate(case.target, to=framework, output=file)
                file.unlink()
                self.assertEqual(lasting(tare.migrate(case.target, to=framework, output=file)), lasting(json.loads(out)))
                self.assertEqual(file.read_bytes(), written)
                file.unlink()

    def test_migrate_goes_into_checkpoints_as_the_command_does(self):
        source = copy_of("torch/train-t2.15").target
        self.change("megatron/torch_tp2_pp2", lambda path: ["migrate", source, "--into", path],
                    lambda path: tare.migrate(source, into=path))
        self.change("megatron/torch_tp2_pp2", lambda path: ["migrate", source, "--into", path, "--strict"],
                    lambda path: tare.migrate(source, into=path, strict=True))
        self.change("megatron/torch_tp2_pp2", lambda path: ["migrate", source, "--into", path, "--set", "hysteresis=3"],
                    lambda path: tare.migrate(source, into=path, set={"hysteresis": 3}))
        self.change("lightning/v2_6", lambda path: ["migrate", path, "--rename", "lightning:2.2"],
                    lambda path: tare.migrate(path, rename="lightning:2.2"))
        module = "layers.0", "_overwrite_with_gradient.Fp8DotGeneralOp_0"
        source = copy_of("transformer_engine/te1.13_4layers").target
        self.change("flax/fp8_to_bytes", lambda path: ["migrate", source, "--into", path, "--module", "=".join(module), "--fp8"],
                    lambda path: tare.migrate(source, into=path, modules=dict([module]), fp8=True))

    def test_a_path_is_text_bytes_or_a_path(self):
        target = copy_of("torch/train-t2.15").target
        answers = [tare.inspect(path) for path in (target, str(target), bytes(target))]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_an_answer_has_its_keys_as_attributes_and_shows_itself(self):
        answer = tare.inspect(copy_of("torch/train-t2.15").target)
        self.assertEqual(answer.scalers[0].roles.scale, answer["scalers"][0]["roles"]["scale"])
        self.assertIn("growth_interval", answer._repr_html_())
        with self.assertRaises(AttributeError):
            answer.nothing

    def test_nothing_of_a_file_is_markup_when_shown(self):
        shown = tare.answers.Answer(schema="tare.inspect/1", checkpoint="<script>", scalers=[],
                                    findings=[{"severity": "note", "code": "x", "message": "<b>"}])._repr_html_()
        self.assertNotIn("<script>", shown)
        self.assertNotIn("<b>", shown.replace("<p><b>&lt;script&gt;</b></p>", ""))


class Waiting(unittest.TestCase):
    def test_an_edit_waits_for_somebody_else_as_long_as_it_is_told(self):
        case = copy_of("torch/train-t2.15")
        tare.edit(case.target, scale=512)
        record = next(case.folder.rglob("000001.edit"))
        pending = record.rename(record.with_name("pending"))  # as if that edit were still at work
        with pending.open("r+b") as held:
            whole_file = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
            fcntl.fcntl(held, fcntl.F_OFD_SETLK, whole_file)
            with self.assertRaises(tare.Busy):
                tare.edit(case.target, scale=256)
            with self.assertRaises(tare.Busy):
                tare.edit(case.target, scale=256, wait=0.1)
            done = threading.Timer(0.3, lambda: (pending.rename(record), held.close()))
            done.start()
            self.assertTrue(tare.edit(case.target, scale=256, wait=60).applied)
            done.join()
        self.assertEqual(tare.inspect(case.target).scalers[0].roles.scale, 256)


class HalfAnEdit(unittest.TestCase):
    def test_every_answer_about_a_run_says_that_an_edit_of_it_was_interrupted(self):
        case = copy_of("torch/train-t2.15")
        tare.edit(case.target, scale=512)
        record = next(case.folder.rglob("000001.edit"))
        record.rename(record.with_name("pending"))
        for verb in tare.doctor, tare.trace, tare.timeline, tare.attest:
            self.assertEqual([edit.rules for edit in verb(case.target).pending], ["before"], verb)
        self.assertEqual(tare.ls(case.target)[0].pending.rules, "before")
        self.assertEqual(tare.diff(case.target, case.target).pending[0].rules, "before")


class Refusals(unittest.TestCase):
    def test_each_status_is_an_exception_and_a_built_in_one(self):
        with self.assertRaises(FileNotFoundError) as missing:
            tare.inspect("/nowhere/scaler.pt")
        self.assertEqual(missing.exception.errno, 2)
        self.assertEqual(missing.exception.status, 30)
        with self.assertRaises(ValueError):
            tare.Scaler("nobody's")
        with self.assertRaises(LookupError):
            tare.Scaler("torch").memory("hysteresis")
        with self.assertRaises(tare.Conflict):
            tare.State.from_checkpoint(copy_of("torch/rank-files-disagree").target)

    def test_a_run_that_is_not_there_is_a_missing_file_and_not_found(self):
        for verb in tare.doctor, tare.trace, tare.timeline, tare.simulate:
            with self.assertRaises(FileNotFoundError) as missing:
                verb("/nowhere/run")
            self.assertIsInstance(missing.exception, tare.FileMissing)
            self.assertIsInstance(missing.exception, tare.NotFound)
            self.assertEqual((missing.exception.errno, missing.exception.status), (2, 32))

    def test_a_message_and_its_hint_are_told_apart(self):
        with self.assertRaises(tare.InvalidArgument) as wrong:
            tare.edit(copy_of("torch/train-t2.15").target, growth_trackr=3)
        self.assertIn("growth_trackr", wrong.exception.message)
        self.assertTrue(str(wrong.exception).startswith(wrong.exception.message))

    def test_bytes_that_are_no_text_are_shown(self):
        with self.assertRaises(tare.FileMissing) as missing:
            tare.inspect(b"/nowhere/\xff.pt")
        self.assertIn("\\xff.pt", str(missing.exception))


if __name__ == "__main__":
    unittest.main()
