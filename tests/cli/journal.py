#!/usr/bin/env python3
"""Journals and records that came with a download: shown, not believed, and no danger to anything outside their folder.

    journal.py --tare TARE
"""
import argparse
import fcntl
import json
import os
import pathlib
import pickle
import re
import shlex
import stat
import struct
import subprocess
import tempfile
import zlib

from command import Tare

SCALER = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 3}
MOST_KIB = 64 * 1024
F_OFD_SETLK = 37


# ---- journals as tare 0.1 wrote them ----------------------------------------------------------------------------------
def text(value):
    return struct.pack("<Q", len(value)) + value


def moment(seconds, nanoseconds):
    return struct.pack("<qI", seconds, nanoseconds)


def frame(tag, payload):
    whole = struct.pack("<I", tag) + text(payload)
    return whole + struct.pack("<I", zlib.crc32(whole))


def file_record(name, way, mode, before, after, swaps):
    whole = text(name) + struct.pack("<IIQQQ", way, mode, 1, before, after) + moment(1, 0) + moment(2, 0)
    whole += struct.pack("<Q", len(swaps)) + b"".join(struct.pack("<Q", at) + text(old) + text(new) for at, old, new in swaps)
    return whole + text(b"") + struct.pack("<QQQQI", 0, 0, 0, 0, 0)


def journal(number, when, files):
    whole = b"TAREJNL\n" + frame(1, struct.pack("<IIQ", 1, 1, number) + moment(*when) + moment(*when))
    whole += b"".join(frame(3, file) for file in files)
    return whole + frame(4, struct.pack("<QQ", 0, len(files)))


class Scene:
    """A home with a checkpoint in it, of which a journal may say what it likes."""

    def __init__(self, tare, scratch):
        self.tare, self.home = tare, pathlib.Path(scratch)
        self.folder = self.home / "Downloads/ckpt"
        self.store = self.folder / ".tare"
        self.store.mkdir(parents=True)
        self.scaler = self.folder / "scaler.pkl"
        self.scaler.write_bytes(pickle.dumps(SCALER, 4))

    def run(self, verb, *arguments):
        answer = self.tare(verb, self.folder, *arguments)
        assert answer.code >= 0, f"{answer} (killed)"
        assert answer.peak_kib <= MOST_KIB, f"{answer}: {answer.peak_kib} KiB"
        return answer

    def expect(self, code, verb, *arguments):
        answer = self.run(verb, *arguments)
        assert answer.code == code, f"expected exit {code}: {answer} {answer.out!r}"
        return answer

    def edit(self):
        return self.expect(0, "edit", "scale=1024", "--yes", "--json").json()

    def swapped(self):
        """A journal whose "old" bytes would replace the scaler by others of the same size."""
        good = self.scaler.read_bytes()
        bad = b"\x80\x04" + b"N0" * ((len(good) - 4) // 2) + b"N" * (len(good) % 2 + 1) + b"."
        bad = bad[:len(good)].ljust(len(good), b".")
        return journal(1, (100, 1), [file_record(b"scaler.pkl", 0, 0o644, len(good), len(good), [(0, bad, good)])])


def a_pending_journal_creates_no_file_outside_its_folder(scene):
    """Its target stands behind a link, and is absent; its content waits in `.tare`, with the mode of a program."""
    target = scene.home / ".config/autostart"
    target.mkdir(parents=True)
    (scene.folder / "cache").symlink_to("../../.config/autostart")
    record = file_record(b"cache/evil.desktop", 1, 0o755, 10, 11, [(0, b"", b"x")])
    (scene.store / "pending").write_bytes(journal(7, (0x65, 1), [record]))
    part = scene.store / "7-65-1.old.0"
    part.write_bytes(b"#!/bin/sh\n")
    part.chmod(0o755)
    for verb in (["edit", "scale=1024", "--yes"], ["undo", "--yes"], ["undo", "--yes", "--trust-journal"],
                 ["edit", "scale=1024", "--yes", "--trust-journal"]):
        scene.expect(4, *verb)
        assert not list(target.iterdir()), verb
    scene.expect(0, "history", "--prune", "--yes")
    assert not list(target.iterdir())
    scene.edit()


def a_pending_journal_swaps_no_bytes_in(scene):
    before = scene.scaler.read_bytes()
    (scene.store / "pending").write_bytes(scene.swapped())
    for verb in ("inspect", "attest"):
        answer = scene.run(verb)
        assert "not sealed with your key" in answer.reason, answer
    assert scene.expect(0, "inspect", "--json").json()["pending"]["sealed"] is False
    answer = scene.expect(4, "edit", "scale=1024", "--yes")
    assert "--trust-journal" in answer.reason and "--prune" in answer.reason, answer
    scene.expect(4, "undo", "--yes")
    assert scene.scaler.read_bytes() == before
    scene.expect(0, "history", "--prune", "--yes")
    assert scene.scaler.read_bytes() == before
    scene.edit()


def a_trusted_journal_says_first_what_it_writes(scene):
    before = scene.scaler.read_bytes()
    (scene.store / "pending").write_bytes(scene.swapped())
    answer = scene.expect(0, "undo", "--yes", "--trust-journal")
    assert f"{len(before)} bytes at offset 0" in answer.reason, answer
    assert scene.scaler.read_bytes() != before


def a_record_swaps_no_bytes_in_and_does_not_hide_the_users_own(scene):
    before = scene.scaler.read_bytes()
    forged = scene.swapped()
    (scene.store / "000001.edit").write_bytes(forged)
    scene.expect(4, "undo", "--yes")
    assert scene.scaler.read_bytes() == before
    assert scene.expect(0, "history", "--json").json()["edits"][0]["sealed"] is False
    out = scene.home / "out.pt"
    for verb in (["inspect"], ["inspect", "--json"], ["attest"], ["get", "scale"], ["diff", scene.folder],
                 ["edit", "scale=2", "--dry-run"], ["undo", "--yes"],
                 ["migrate", "--to", "megatron", "-o", out]):
        answer = scene.run(*verb)
        assert b"1 record of edits in" in answer.out + answer.err, answer
    findings = scene.expect(0, "inspect", "--json").json()["findings"]
    assert "foreign-record" in [finding["code"] for finding in findings], findings
    done = scene.edit()
    assert {"when", "user", "host", "command"} <= {key for key in done if done[key]}, done
    for name in ("18446744073709551615.edit", "999999999.edit", "1.edit", "000000.edit"):
        (scene.store / name).write_bytes(forged)
    own = [edit for edit in scene.expect(0, "history", "--json").json()["edits"] if edit["sealed"]]
    assert [edit["id"] for edit in own] == [done["id"]], own
    undone = scene.expect(0, "undo", "--yes", "--json").json()
    assert undone["id"] == done["id"], undone
    assert scene.scaler.read_bytes() == before
    scene.edit()
    scene.expect(0, "undo", "--yes")
    assert scene.scaler.read_bytes() == before


def what_the_user_left_half_done_is_told_by_every_verb_and_migrated_by_none(scene):
    scene.edit()
    (scene.store / "000001.edit").rename(scene.store / "pending")
    for verb in (["inspect"], ["attest"], ["get", "scale"], ["diff", scene.folder], ["history"], ["ls"], ["timeline"],
                 ["trace"], ["simulate", "--window", "500"], ["doctor"], ["edit", "scale=2", "--dry-run"], ["migrate", "--to", "megatron", "-o", scene.home / "out.pt"]):
        answer = scene.run(*verb)
        assert "interrupted" in answer.reason or "not finished" in answer.reason, answer
    assert answer.code == 3 and not (scene.home / "out.pt").exists(), answer
    scene.expect(0, "undo", "--yes")
    scene.expect(0, "migrate", "--to", "megatron", "-o", scene.home / "out.pt")


def pipes_and_folders_in_the_store_keep_nobody_waiting(scene):
    os.mkfifo(scene.store / "000001.edit")
    os.mkdir(scene.store / "000002.edit")
    os.mkdir(scene.store / "3.old.0")
    scene.expect(4, "undo", "--yes")
    scene.expect(0, "history")
    scene.edit()
    scene.expect(0, "undo", "--yes")
    os.mkfifo(scene.store / "pending")
    for verb in ("inspect", "history", "attest"):
        scene.run(verb)
    for verb in (["edit", "scale=1024", "--yes"], ["undo", "--yes"]):
        assert "remove it" in scene.expect(4, *verb).reason


def a_sparse_journal_costs_no_memory(scene):
    for name in ("pending", "000001.edit"):
        with open(scene.store / name, "wb") as file:
            file.write(b"TAREJNL\n")
            file.truncate(2**32 - 1)
    for verb in (["inspect"], ["history"], ["edit", "scale=1024", "--yes"], ["undo", "--yes"], ["attest"]):
        scene.run(*verb)
    scene.expect(0, "history", "--prune", "--yes")
    scene.edit()


def a_store_that_is_a_link_is_refused(scene):
    scene.store.rmdir()
    elsewhere = scene.home / "elsewhere"
    elsewhere.mkdir()
    scene.store.symlink_to(elsewhere)
    scene.expect(4, "edit", "scale=1024", "--yes")
    assert not list(elsewhere.iterdir())


def an_edit_says_who_made_it_and_is_found_by_its_id(scene):
    (scene.folder / "more").mkdir()
    other = scene.folder / "more/scaler.pkl"
    other.write_bytes(scene.scaler.read_bytes())
    old = scene.scaler.read_bytes()
    first = scene.tare("edit", scene.scaler, "scale=1024", "--yes", "--json").json()
    second = scene.tare("edit", other, "scale=2048", "--yes", "--json").json()
    assert first["number"] == second["number"] == 1 and first["id"] != second["id"]
    edits = {edit["id"]: edit for edit in scene.expect(0, "history", "--json").json()["edits"]}
    assert edits[first["id"]]["command"].endswith("scale=1024 --yes --json"), edits
    assert edits[first["id"]]["user"] and edits[first["id"]]["host"]
    answer = scene.tare("undo", scene.folder, "--yes", "--id", first["id"], "--json").json()
    assert answer["id"] == first["id"] and answer["folder"] == str(scene.folder), answer
    assert scene.scaler.read_bytes() == old and other.read_bytes() != old
    assert scene.tare("undo", scene.folder, "--yes", "--id", first["id"]).code == 4


def a_journal_of_another_home_is_not_believed(scene):
    scene.edit()
    edited = scene.scaler.read_bytes()
    own = os.environ["XDG_STATE_HOME"]
    try:
        os.environ["XDG_STATE_HOME"] = str(scene.home / "state")
        assert "sealed with your key" in scene.expect(4, "undo", "--yes").reason
        assert scene.scaler.read_bytes() == edited
        assert "restored" in scene.expect(0, "undo", "--yes", "--trust-journal").out.decode()
        key = scene.home / "state/tare/journal.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600 and stat.S_IMODE(key.parent.stat().st_mode) == 0o700
        key.chmod(0o644)
        assert "others may read it" in scene.expect(4, "edit", "scale=8", "--yes").reason
        scene.expect(0, "inspect")
    finally:
        os.environ["XDG_STATE_HOME"] = own


def without_a_place_for_a_key_edits_work_and_say_so(scene):
    own = os.environ["XDG_STATE_HOME"]
    old = scene.scaler.read_bytes()
    try:
        os.environ["XDG_STATE_HOME"] = "/proc/nowhere"
        done = scene.edit()
        assert "journal-unsealed" in [finding["code"] for finding in done["findings"]], done
        scene.expect(4, "undo", "--yes")
        scene.expect(0, "undo", "--yes", "--trust-journal")
        assert scene.scaler.read_bytes() == old
    finally:
        os.environ["XDG_STATE_HOME"] = own


def an_edit_that_waits_in_vain_says_who_is_at_work_there(scene):
    scene.edit()
    pending = scene.store / "pending"
    (scene.store / "000001.edit").rename(pending)
    with pending.open("r+b") as held:
        fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        for target in scene.scaler, scene.folder:
            answer = scene.tare("edit", target, "scale=4", "--yes", "--wait", "0")
            assert answer.code == 3 and "it was waited for 0 seconds" in answer.reason, answer
            assert re.search(r": \S+@\S+ since \S+: \S*tare edit .*scale=1024", answer.reason), answer


def an_interrupted_undo_says_that_its_edit_rules_and_leaves_it(scene):
    scene.edit()
    edited, record = scene.scaler.read_bytes(), (scene.store / "000001.edit").read_bytes()
    scene.expect(0, "undo", "--yes")
    (scene.store / "000001.undone").rename(scene.store / "pending")
    (scene.store / "000001.edit").write_bytes(record)  # as long as the undo is not committed it is there
    told = scene.expect(0, "inspect", "--json").json()["pending"]
    assert told["kind"] == "undo" and [field["before"] for field in told["fields"]] == ["1024.0"], told
    assert "scale: 1024.0 rules, not 65536.0" in scene.expect(0, "get", "scale").reason
    answer = scene.expect(0, "undo", "--yes")
    assert b"rolled back the interrupted undo of edit #1" in answer.out and b"the edit stands" in answer.out, answer.out
    assert scene.scaler.read_bytes() == edited
    scene.expect(0, "undo", "--yes")
    assert scene.scaler.read_bytes() != edited


def interrupt(scene):
    """An edit whose bytes are written, and whose commit is not."""
    scene.edit()
    (scene.store / "000001.edit").rename(scene.store / "pending")


def an_undo_by_id_takes_back_that_edit_and_no_other_that_was_interrupted(scene):
    old = scene.scaler.read_bytes()
    first = scene.expect(0, "edit", "scale=1024", "--yes", "--json").json()
    scene.expect(0, "edit", "scale=2048", "--yes")
    (scene.store / "000002.edit").rename(scene.store / "pending")
    scene.expect(4, "undo", "--yes", "--id", "3f9a0c2e51d7")
    assert (scene.store / "pending").exists(), "an id that nothing has took something back"
    answer = scene.expect(0, "undo", "--yes", "--json", "--id", first["id"]).json()
    assert answer["did"] == "undone" and answer["id"] == first["id"], answer
    assert [finding["code"] for finding in answer["findings"]] == ["rolled-back"], answer
    assert scene.scaler.read_bytes() == old


def what_an_edit_would_do_is_not_shown_of_half_an_edit_and_nothing_is_rolled_back_unasked(scene):
    interrupt(scene)
    torn = scene.scaler.read_bytes()
    for words in (["scale=7", "--dry-run"], ["scale=7"]):
        answer = scene.expect(4, "edit", *words)
        assert "was interrupted" in answer.reason, answer
        assert scene.scaler.read_bytes() == torn, words
    assert "first `tare undo " in scene.expect(4, "edit", "scale=7", "--dry-run").reason


def what_a_trainer_wrote_over_half_an_edit_is_not_said_to_be_brought_back(scene):
    interrupt(scene)
    scene.scaler.write_bytes(pickle.dumps({**SCALER, "scale": 262144.0, "growth_interval": 70000}, 4))
    for verb in (["inspect"], ["get", "scale"]):
        reason = scene.expect(0, *verb).reason
        assert "rules" not in reason and "tare history --prune" in reason and "as it is now" in reason, reason
    assert scene.expect(0, "inspect", "--json").json()["pending"]["rules"] == "unknown"
    answer = scene.expect(0, "history", "--prune", "--yes")
    assert "scaler.pkl is as it was when this began" in answer.reason and b"ended 1 that was not finished" in answer.out, answer
    assert scene.expect(0, "get", "scale").out == b"262144.0\n"


def half_an_edit_of_an_older_checkpoint_of_a_run_is_told_of_the_run(scene):
    run = scene.home / "run"
    for step in 1, 2:
        (run / f"checkpoint-{step}").mkdir(parents=True)
        (run / f"checkpoint-{step}/scaler.pkl").write_bytes(scene.scaler.read_bytes())
    assert scene.tare("edit", run / "checkpoint-1", "scale=1024", "--yes").code == 0
    store = run / "checkpoint-1/.tare"
    (store / "000001.edit").rename(store / "pending")
    for words in (["doctor", run], ["attest", run, "--all"], ["watch", run, "--once", "--settle", "0"]):
        answer = scene.tare(*words)
        assert "was interrupted" in answer.reason + answer.out.decode(), answer


def a_program_that_reads_the_answer_alone_learns_of_half_an_edit(scene):
    interrupt(scene)
    for verb in "doctor", "timeline", "trace", "attest", "diff", "ls":
        paths = [scene.scaler] * (2 if verb == "diff" else 1)
        told = json.loads(scene.tare(verb, *paths, "--json").out)["pending"]
        told = [told] if verb == "ls" else told
        assert {edit["rules"] for edit in told} == {"before"}, (verb, told)
    scene.expect(0, "undo", "--yes")
    assert scene.expect(0, "doctor", "--json").json()["pending"] == []
    assert scene.expect(0, "ls", "--json").json()["pending"] is None


def the_way_back_that_an_edit_names_is_a_command_as_it_stands(scene):
    old = scene.scaler.read_bytes()
    names = ["my drive.pkl", "-dash.pkl", "it's.pkl", "linked.pkl"]
    for name in names:
        (scene.folder / name).write_bytes(old)
    os.link(scene.folder / "linked.pkl", scene.folder / "other.pkl")
    for name in names:
        done = scene.tare("edit", "--yes", "--hard-links", "--", name, "scale=1024", folder=scene.folder)
        assert done.code == 0, done
        words = shlex.split(re.search(r"`tare (.*)` takes it back", done.reason)[1])
        undone = scene.tare(*words, "--yes", folder=scene.folder)
        assert undone.code == 0 and (scene.folder / name).read_bytes() == old, undone


def the_command_that_the_history_shows_is_one_as_it_stands(scene):
    """Given to a shell it runs nothing that a name holds, and edits what was edited."""
    old = scene.scaler.read_bytes()
    names = ["my drive.pkl", "$(touch PWNED).pkl", "it's;.pkl", "back\\slash.pkl", "new\nline.pkl"]
    for name in names:
        (scene.folder / name).write_bytes(old)
        done = scene.tare("edit", f"./{name}", "scale=2^10", "--yes", folder=scene.folder)
        assert done.code == 0, done
    shown = scene.tare("history", ".", folder=scene.folder).out.decode()
    commands = re.findall(r"^    \S+@\S+: (.*)$", shown, re.MULTILINE)
    assert len(commands) == len(names), shown
    for name, command in zip(names, commands):
        (scene.folder / name).write_bytes(old)
        subprocess.run(["bash", "-c", command], cwd=scene.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert (scene.folder / name).read_bytes() != old, command
    assert not (scene.folder / "PWNED").exists(), commands


def a_command_that_is_too_long_to_be_kept_does_nothing_where_it_is_pasted(scene):
    """Its first words alone would change fewer files, or others; cut inside quotes it would wait for the rest of them."""
    old = scene.scaler.read_bytes()
    files = [scene.folder / f"it's {'long ' * 40}{number}.pkl" for number in range(30)]
    for file in files:
        file.write_bytes(old)
    done = scene.tare("edit", *(f"./{file.name}" for file in files), "scale=2^10", "--yes", folder=scene.folder)
    assert done.code == 0, done
    [command] = set(re.findall(r"^    \S+@\S+: (.*)$", scene.tare("history", ".", folder=scene.folder).out.decode(), re.MULTILINE))
    assert "edit" in command and len(command) <= 4096, command
    for file in files:
        file.write_bytes(old)
    pasted = subprocess.run(["bash", "-c", command], cwd=scene.folder, capture_output=True)
    assert pasted.returncode == 0 and not pasted.stdout + pasted.stderr, pasted
    assert all(file.read_bytes() == old for file in files), command


def a_path_that_is_nowhere_has_no_history(scene):
    for words in (["history"], ["history", "--json"], ["history", "--prune", "--yes"]):
        answer = scene.tare(words[0], scene.home / "typo.pt", *words[1:])
        assert answer.code == 3 and "No such file" in answer.reason, answer
    scene.edit()
    scene.scaler.unlink()
    assert b"#1" in scene.expect(0, "history").out
    assert b"#1" in scene.tare("history", scene.scaler).out


def an_answer_that_cannot_be_written_is_no_change_where_none_was_made(scene):
    for words, code in ((["edit", scene.folder, "scale=65536"], 3), (["history", scene.folder, "--prune"], 3),
                        (["edit", scene.folder, "scale=1024"], 5)):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([scene.tare.binary, *words, "--yes"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == code and ("the change is made" in done.stderr) == (code == 5), (words, done)


SCENES = [
    an_interrupted_undo_says_that_its_edit_rules_and_leaves_it,
    what_an_edit_would_do_is_not_shown_of_half_an_edit_and_nothing_is_rolled_back_unasked,
    what_a_trainer_wrote_over_half_an_edit_is_not_said_to_be_brought_back,
    half_an_edit_of_an_older_checkpoint_of_a_run_is_told_of_the_run,
    the_way_back_that_an_edit_names_is_a_command_as_it_stands,
    the_command_that_the_history_shows_is_one_as_it_stands,
    a_command_that_is_too_long_to_be_kept_does_nothing_where_it_is_pasted,
    a_path_that_is_nowhere_has_no_history,
    an_answer_that_cannot_be_written_is_no_change_where_none_was_made,
    a_pending_journal_creates_no_file_outside_its_folder,
    a_pending_journal_swaps_no_bytes_in,
    a_program_that_reads_the_answer_alone_learns_of_half_an_edit,
    a_trusted_journal_says_first_what_it_writes,
    a_record_swaps_no_bytes_in_and_does_not_hide_the_users_own,
    what_the_user_left_half_done_is_told_by_every_verb_and_migrated_by_none,
    pipes_and_folders_in_the_store_keep_nobody_waiting,
    a_sparse_journal_costs_no_memory,
    a_store_that_is_a_link_is_refused,
    an_edit_says_who_made_it_and_is_found_by_its_id,
    an_undo_by_id_takes_back_that_edit_and_no_other_that_was_interrupted,
    an_edit_that_waits_in_vain_says_who_is_at_work_there,
    a_journal_of_another_home_is_not_believed,
    without_a_place_for_a_key_edits_work_and_say_so,
]


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    tare = Tare(ask.parse_args().tare)
    for play in SCENES:
        with tempfile.TemporaryDirectory() as scratch:
            play(Scene(tare, pathlib.Path(scratch).resolve()))
        print(play.__name__.replace("_", " "))


if __name__ == "__main__":
    main()
