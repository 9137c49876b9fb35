#!/usr/bin/env python3
"""tare edits checkpoints in a container on this machine, which checks signatures and keeps to conditions, as Azure does.

    azure_edits.py --tare TARE --corpus FOLDER --make-checkpoint SCRIPT

What store_edits.py asks of S3; and what Azure alone has: leases, blobs of other kinds, signatures that are shared, tokens.
"""
import pathlib

from azure_container import ACCOUNT, HOLDERS
from azure_writable import WritableContainer
from http_servers import Server
from store_edits import SCALER, Checks, run


class AzureChecks(Checks):
    root = "az://box"
    secrets = ("AZURE_STORAGE_KEY",)

    def bucket(self, folder, **settings):
        container = WritableContainer(folder, **settings)
        container.server = Server(folder, container)
        state = {"XDG_STATE_HOME": str(pathlib.Path(self.home.name, "state"))}
        return container, {"AZURE_STORAGE_ACCOUNT": ACCOUNT, **HOLDERS[container.holder], **state,
                           "AZURE_STORAGE_SERVICE_ENDPOINT": container.server.url}

    def whoever_may_write_may_copy(self):
        """With a key, a shared signature, a token, and in an open container: blobs of blocks that Azure copies."""
        for holder in HOLDERS:
            with self.a_large_model() as folder:
                container, variables = self.bucket(folder, holder=holder)
                before = container.data("model.pt")
                done = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--yes", **variables)
                self.expect(done.returncode == 0 and container.bytes_copied > 8e6, f"{holder}: {done} {container.bytes_copied}")
                self.expect(not container.refused, f"{holder}: {container.refused}")
                self.run("edit", f"{folder}/model.pt", "scale=4096", "--yes", **variables)
                self.expect(container.data("model.pt") == pathlib.Path(folder, "model.pt").read_bytes(), f"{holder}: other bytes")
                undone = self.run("undo", f"{self.root}/model.pt", "--yes", **variables)
                self.expect(undone.returncode == 0 and container.data("model.pt") == before, f"{holder}, undo: {undone}")

    def what_blobs_have_is_kept(self):
        with self.a_folder(SCALER) as folder:
            container, variables = self.bucket(folder, versioned=True)
            lines = {"x-ms-blob-content-type": "a/b", "x-ms-meta-owner": "anna", "x-ms-blob-cache-control": "no-store",
                     "x-ms-access-tier": "Cool"}
            container.objects["run/scaler.pt"].lines = dict(lines)
            done = self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--yes", **variables)
            self.expect(done.returncode == 0 and container.objects["run/scaler.pt"].lines == lines,
                        f"{done} {container.objects['run/scaler.pt'].lines}")

    def what_azure_does_not_write_is_said(self):
        for what, words in (("leased", "has a lease"), ("PageBlob", "a PageBlob is not edited in place"), ("tags", "has 2 tags")):
            with self.a_folder(SCALER) as folder:
                container, variables = self.bucket(folder)
                if what == "leased":
                    container.leased.add("run/scaler.pt")
                elif what == "tags":
                    container.tags["run/scaler.pt"] = 2
                else:
                    container.kinds["run/scaler.pt"] = what
                before = container.data("run/scaler.pt")
                for dry in ([], ["--dry-run"]):
                    done = self.run("edit", f"{self.root}/run/scaler.pt", "scale=512", "--yes", *dry, **variables)
                    self.expect(done.returncode == 4 and words in done.stderr and "hint: " in done.stderr, f"{what}: {done}")
                self.expect(container.data("run/scaler.pt") == before and len(container.objects) == 1, f"{what}: {list(container.objects)}")

    def who_is_late_completes_nothing(self):
        """Whose blocks are there and whose list is not yet, when somebody else takes back what he began, is refused."""
        with self.a_large_model() as folder:
            container, variables = self.bucket(folder)
            before = container.data("model.pt")
            state = {"is_held": False}

            def hold(method, key, query):
                if query.get("comp") == "blocklist" and not state["is_held"]:
                    state["is_held"] = True
                    container.ahead += 3600
                    undone = self.run("undo", f"{self.root}/model.pt", "--yes", **variables)
                    self.expect(undone.returncode == 0, f"an undo of what another one is at: {undone}")
            container.before = hold
            done = self.run("edit", f"{self.root}/model.pt", "scale=4096", "--yes", **variables)
            self.expect(state["is_held"] and done.returncode != 0, f"who is late: {done}")
            self.expect(container.data("model.pt") == before, "who is late has written all the same")


if __name__ == "__main__":
    run(AzureChecks, ("edits_one_object", "edits_a_set_of_ranks", "of_a_large_object_only_parts_travel",
                      "a_dry_run_tells_its_requests_in_json", "a_changed_object_is_refused", "who_may_see_nothing_is_told_so", "a_store_without_conditions_is_refused",
                      "a_mixture_is_told_by_every_verb", "an_edit_that_begins_while_it_is_read_is_told",
                      "tells_what_was_edited_and_forgets_it", "a_run_is_undone_by_the_name_it_was_edited_by",
                      "prune_takes_back_what_was_interrupted", "killed_anywhere_it_is_old_or_new", "whoever_may_write_may_copy",
                      "what_blobs_have_is_kept", "what_azure_does_not_write_is_said", "who_is_late_completes_nothing"))
