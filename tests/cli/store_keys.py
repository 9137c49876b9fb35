#!/usr/bin/env python3
"""Who asks a store, where neither variables nor files have keys: tare finds who gives some, as the stores' own programs do. And which object a
name asks for.

    store_keys.py --tare TARE --corpus FOLDER

The services are stand-ins on this machine, made from their published protocols. Prints a line a failure; exit 1 if there are any.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

from aws_keys import (PROCESS_KEYS, ROLE, SIGN_ON, TAKERS_KEYS, VOUCHED, Roles, Service, cached_token, container, machine,
                      portal, token_file)
from azure_container import ACCOUNT, HOLDERS, Container
from google_edits import GoogleBucket
from google_keys import RsaKey, Tokens, account_file, user_file
from http_servers import Server
from object_stores import RANKS, Checks, difference
from s3_bucket import ANYBODY, GOOGLER, KEEPER, Bucket

SECRETS = re.compile("t0ken|c0ntainer|m3ta|s3cr3t|w3b.identity|t4ker|cl13nt|r3fresh|PRIVATE KEY|eyJ|ya29")


class KeyChecks(Checks):
    def keys_for_a_while(self):
        """Keys that somebody gives: to the machine, to the container, to who signed on, by a program."""
        config, cache = pathlib.Path(self.home.name, ".aws/config"), pathlib.Path(self.home.name, token_file("lab"))
        cache.parent.mkdir(parents=True)
        program = pathlib.Path(self.home.name, "give keys")
        program.write_text(f"#!/bin/sh\ntest \"$1\" = 'for tare' && echo '{json.dumps(PROCESS_KEYS)}'\n")
        program.chmod(0o700)
        config_of = {"program": f"[default]\ncredential_process = \"{program}\" 'for tare'\n", "sign-on": SIGN_ON}
        cases = {"machine": (machine(), lambda url: {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url}),
                 "container": (container(), lambda url: {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url + "/keys",
                                                         "AWS_CONTAINER_AUTHORIZATION_TOKEN": "c0ntainer"}),
                 "sign-on": (portal(), lambda url: {"AWS_ENDPOINT_URL_SSO": url}), "program": (None, lambda url: {})}
        for what, (service, own) in cases.items():
            config.write_text(config_of.get(what, ""))
            cache.write_text(cached_token("2036-01-01T00:00:00Z"))
            server, bucket, variables = self.bucket()
            variables = {k: v for k, v in variables.items() if k not in KEEPER} | own(service.url if service else "")
            local, remote = self.both(self.corpus, RANKS, variables)
            self.expect(local == remote and not bucket.refused, f"keys of a {what}: {difference(local, remote)}")
            self.expect(not service or len(service.asked) == (3 if what == "machine" else 1), f"{what}: {service and service.asked}")
            anonymous = Server(self.corpus, Bucket(credentials=ANYBODY)).url
            done = self.run("inspect", f"s3://bucket/{RANKS}", **variables | KEEPER | {"AWS_ENDPOINT_URL": server.url})
            self.expect(done.returncode == 0 and (not service or len(service.asked) <= 3), f"{what}, with keys: {done}")
            if service:
                service.answers = {key: (None, b"") for key in service.answers}
                done = self.run("inspect", f"s3://bucket/{RANKS}", **variables | {"AWS_ENDPOINT_URL": anonymous})
                self.expect(done.returncode == (0 if what == "machine" else 3), f"{what}, which gives none: {done}")
                self.expect(not re.search("t0ken|c0ntainer|m3ta", done.stderr), f"{what}: {done}")
        config.write_text("")
        service, _ = cases["machine"]
        service.answers, service.asked = {("PUT", "/latest/api/token"): ({}, b"m3ta")}, []
        done = self.run("inspect", f"s3://bucket/{RANKS}", AWS_REGION="x", AWS_ENDPOINT_URL=anonymous, AWS_EC2_METADATA_SERVICE_ENDPOINT=service.url)
        self.expect(done.returncode == 0 and len(service.asked) == 2, f"a machine without a role is asked for no keys: {service.asked} {done}")
        config.write_text(SIGN_ON)
        for what, text in (("old", cached_token("2020-01-01T00:00:00Z")), ("none", "{}"), ("broken", '{"accessToken": "t0ken')):
            cache.write_text(text)
            done = self.run("inspect", f"s3://bucket/{RANKS}", **variables | {"AWS_ENDPOINT_URL": anonymous})
            self.expect(done.returncode == 3 and "aws sso login" in done.stderr and "t0ken" not in done.stderr, f"{what}: {done}")
        for what, text in (("fails", "false"), ("is not there", "/nothing/here"), ("prints no keys", "echo s3cr3t"),
                           ("never stops printing", "head -c 1000000 /dev/zero")):
            config.write_text(f"[default]\ncredential_process = {text}\n")
            done = self.run("inspect", f"s3://bucket/{RANKS}", **variables)
            self.expect(done.returncode == 3 and "s3cr3t" not in done.stderr and "tare: " in done.stderr, f"{what}: {done}")
        config.unlink()
        far = self.run("inspect", "s3://bucket/x", AWS_CONTAINER_CREDENTIALS_FULL_URI="http://example.com/keys",
                       AWS_CONTAINER_AUTHORIZATION_TOKEN="c0ntainer")
        self.expect(far.returncode == 4 and "c0ntainer" not in far.stderr, f"a container far away: {far}")
        far = self.run("inspect", Server(self.corpus).url + "/torch/scaler-file-t2.15/scaler.pt",
                       AWS_CONTAINER_CREDENTIALS_FULL_URI="http://example.com/keys")
        self.expect(far.returncode == 0, f"a container far away, and no bucket: {far}")

    def sign_ons(self):
        """The token of the session that the profile names, of several; before keys of the same profile's that somebody left."""
        folder = pathlib.Path(self.home.name, ".aws")
        (folder / "sso/cache").mkdir(parents=True, exist_ok=True)
        start = "https://lab.awsapps.com/start"
        by_url = SIGN_ON.split("[sso-session")[0].replace("sso_session = lab", f"sso_start_url = {start}\nsso_region = eu-west-1")
        stale = "[default]\naws_access_key_id = AKSTALE\naws_secret_access_key = x\n"
        for session in "aaa", "lab", "zzz", start:
            pathlib.Path(self.home.name, token_file(session)).write_text(cached_token("2036-01-01T00:00:00Z", f"another's, of {session}"))
        for what, config, session in (("a session", SIGN_ON, "lab"), ("a start URL", by_url, start)):
            (folder / "config").write_text(config)
            (folder / "credentials").write_text(stale)
            pathlib.Path(self.home.name, token_file(session)).write_text(cached_token("2036-01-01T00:00:00Z"))
            service = portal()
            _, bucket, variables = self.bucket()
            variables = {k: v for k, v in variables.items() if k not in KEEPER} | {"AWS_ENDPOINT_URL_SSO": service.url}
            local, remote = self.both(self.corpus, RANKS, variables)
            self.expect(local == remote and not bucket.refused and len(service.asked) == 1, f"{what}: {difference(local, remote)} {service.asked}")
        for name in "config", "credentials":
            (folder / name).unlink()

    def roles(self):
        """Roles that are taken with a profile's keys, with the keys of a machine, or with a token that somebody vouches for."""
        folder = pathlib.Path(self.home.name, ".aws")
        folder.mkdir(exist_ok=True)
        config, credentials = folder / "config", folder / "credentials"
        vouched = pathlib.Path(self.home.name, "web token")
        vouched.write_text(VOUCHED + "\n")
        takes = f"role_arn = {ROLE}\nsource_profile = base\n"
        taken = {"AccessKeyId": "AKTAKER", "SecretAccessKey": "t4ker/+", "Token": ""}
        for what, text, keys, own, asked in (
                ("a profile's keys", f"[profile lab]\n{takes}", f"[base]\n{TAKERS_KEYS}", {"AWS_PROFILE": "lab"}, 1),
                ("keys in the config", f"[profile lab]\n{takes}[profile base]\n{TAKERS_KEYS}", "", {"AWS_DEFAULT_PROFILE": "lab"}, 1),
                ("the credentials file", "", f"[lab]\n{takes}region = eu-north-7\n[base]\n{TAKERS_KEYS}", {"AWS_PROFILE": "lab"}, 1),
                ("a profile before the pod's", f"[profile lab]\n{takes}", f"[base]\n{TAKERS_KEYS}",
                 {"AWS_PROFILE": "lab", "AWS_ROLE_ARN": "arn:other", "AWS_WEB_IDENTITY_TOKEN_FILE": "/nothing"}, 1),
                ("one who has a role and keys", f"[profile lab]\n{takes}[profile base]\nrole_arn = arn:other\nsource_profile = lab\n",
                 f"[base]\n{TAKERS_KEYS}", {"AWS_PROFILE": "lab"}, 1),
                ("its own keys", f"[default]\nrole_arn = {ROLE}\nsource_profile = default\n", f"[default]\n{TAKERS_KEYS}", {}, 1),
                ("an id", f"[profile lab]\n{takes}external_id = l4b\nrole_session_name = me\n", f"[base]\n{TAKERS_KEYS}", {"AWS_PROFILE": "lab"}, 1),
                ("a machine", f"[default]\nrole_arn = {ROLE}\ncredential_source = Ec2InstanceMetadata\n", "",
                 {"AWS_EC2_METADATA_SERVICE_ENDPOINT": machine(keys=taken).url}, 1),
                ("a pod", "", "", {"AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": str(vouched)}, 1),
                ("a pod before a file's keys", "", "[default]\naws_access_key_id = AKOTHER\naws_secret_access_key = x\n",
                 {"AWS_ROLE_ARN": ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": str(vouched), "AWS_ROLE_SESSION_NAME": "pod"}, 1),
                ("a profile's token", f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = {vouched}\n", "", {}, 1),
                ("variables", f"[profile lab]\n{takes}", f"[base]\n{TAKERS_KEYS}", {"AWS_PROFILE": "lab", **KEEPER}, 0)):
            config.write_text(text)
            credentials.write_text(keys)
            service = Roles(external="l4b" if what == "an id" else None)
            _, bucket, variables = self.bucket()
            variables = {k: v for k, v in variables.items() if k not in KEEPER} | own | {"AWS_ENDPOINT_URL_STS": service.url}
            local, remote = self.both(self.corpus, RANKS, variables)
            self.expect(local == remote and not bucket.refused, f"a role by {what}: {difference(local, remote)} {service.refused}")
            self.expect(len(service.asked) == asked, f"a role by {what}: {service.asked}")
        for what, text, keys, word, code in (
                ("another's keys", f"[default]\n{takes}", f"[base]\n{TAKERS_KEYS}".replace("t4ker", "other"), "SignatureDoesNotMatch", 3),
                ("nobody's keys", f"[default]\n{takes}[profile base]\n", "", "nobody is there", 3),
                ("a profile that is not there", f"[default]\n{takes}", "", 'no AWS profile "base"', 3),
                ("each other", f"[default]\n{takes}[profile base]\nrole_arn = {ROLE}\nsource_profile = default\n", "", "leads back", 4),
                ("a code", f"[default]\n{takes}mfa_serial = arn:x\n", f"[base]\n{TAKERS_KEYS}", "code of a device", 4),
                ("a token that is not there", f"[default]\nrole_arn = {ROLE}\nweb_identity_token_file = /nothing\n", "", "/nothing", 3)):
            config.write_text(text)
            credentials.write_text(keys)
            done = self.run("inspect", f"s3://bucket/{RANKS}", AWS_ENDPOINT_URL=Roles().url)
            self.expect(done.returncode == code and word in done.stderr and not SECRETS.search(done.stderr), f"a role by {what}: {done}")
        for what, own, code in (("named", {}, 3), ("keys of variables", KEEPER, 0)):
            _, _, variables = self.bucket()
            variables = {k: v for k, v in variables.items() if k not in KEEPER} | own
            done = self.run("inspect", f"s3://bucket/{RANKS}", AWS_PROFILE="no\tbody", **variables)
            told = code == 0 or 'no AWS profile "no\\x09body"' in done.stderr
            self.expect(done.returncode == code and told, f"a profile that no file has, {what}: {done}")
        config.write_text(f"[default]\n{takes}")
        done = self.run("inspect", "s3://bucket/x", AWS_ENDPOINT_URL_STS="http://example.com")
        self.expect(done.returncode == 4 and "https" in done.stderr, f"a service in the open: {done}")
        config.unlink()
        credentials.unlink()

    def google_sources(self, tokens, key):
        """-> what, the variables that name it."""
        account = pathlib.Path(self.home.name, "account.json")
        account.write_text(account_file(key, tokens))
        gcloud = pathlib.Path(self.home.name, ".config/gcloud/application_default_credentials.json")
        gcloud.parent.mkdir(parents=True, exist_ok=True)
        gcloud.write_text(user_file(tokens))
        moved = pathlib.Path(self.home.name, "gcloud/application_default_credentials.json")
        moved.parent.mkdir(exist_ok=True)
        moved.write_text(user_file(tokens))
        yield "a service account", {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
        yield "who signed on", {}
        gcloud.unlink()
        yield "who signed on, elsewhere", {"CLOUDSDK_CONFIG": str(moved.parent)}
        yield "a machine", {"GCE_METADATA_HOST": tokens.url.removeprefix("http://")}

    def google_tokens(self):
        """Google's tokens, by a service account's key, by who signed on, by the machine: listed, read, edited with."""
        key = RsaKey()
        tokens = Tokens(key)
        for what, own in self.google_sources(tokens, key):
            tokens.asked.clear()
            server, bucket, _ = self.bucket(credentials=GOOGLER)
            variables = own | {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": server.url + "/storage/v1/"}
            for case in (RANKS, "torch/scaler-file-t2.15/scaler.pt"):
                local, remote = self.both(self.corpus, case, variables, root="gs://bucket/")
                self.expect(local == remote, f"gs, {what}: {difference(local, remote)}")
            self.expect(not bucket.refused and not tokens.refused and len(tokens.asked) == 2, f"gs, {what}: {tokens.asked} {tokens.refused}")
            done = self.run("inspect", f"gs://bucket/{RANKS}", **variables | GOOGLER)
            self.expect(done.returncode == 0 and len(tokens.asked) == 2, f"gs, {what}, and a token: {done}")
            self.google_edit(what, own)

    def google_edit(self, what, own):
        with tempfile.TemporaryDirectory() as folder:
            data = (self.corpus / "torch/scaler-file-t2.15/scaler.pt").read_bytes()
            pathlib.Path(folder, "scaler.pt").write_bytes(data)
            bucket = GoogleBucket(folder, credentials=GOOGLER)
            variables = own | {"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": Server(folder, bucket).url,
                               "XDG_STATE_HOME": str(pathlib.Path(self.home.name, "state"))}
            done = self.run("edit", "gs://bucket/scaler.pt", "scale=2", "--yes", **variables)
            self.expect(done.returncode == 0 and bucket.data("scaler.pt") != data, f"gs, {what}, an edit: {done}")
            done = self.run("undo", "gs://bucket/scaler.pt", "--yes", **variables)
            self.expect(done.returncode == 0 and bucket.data("scaler.pt") == data, f"gs, {what}, an undo: {done}")

    def google_refusals(self):
        """What a key's file must be, and whom it is shown to."""
        key, elsewhere = RsaKey(), []
        tokens = Tokens(RsaKey())
        server, bucket, _ = self.bucket(credentials=GOOGLER)
        file = pathlib.Path(self.home.name, "keys.json")

        def leads_away(request, method="GET"):
            elsewhere.append(request.rfile.read(int(request.headers.get("Content-Length") or 0)))
            request.answer(200, b'{"access_token": "x"}')
            return True
        other = Server(".", leads_away).url
        own = Service({})
        own.server.behaviour = lambda request, method="GET": request.answer(302, Location=other + "/token") or True
        whole = json.loads(account_file(key, tokens))
        for what, text, word, code in (
                ("another account's key", json.dumps(whole), "answers 400", 3),
                ("a key that is none", json.dumps(whole | {"private_key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}), "no RSA key", 3),
                ("no key", json.dumps({"type": "service_account", "token_uri": tokens.url + "/token"}), "no RSA key", 3),
                ("a service in the open", json.dumps(whole | {"token_uri": "http://example.com/token"}), "neither https", 4),
                ("an unknown kind", json.dumps(whole | {"type": "external_account"}), "external_account", 3),
                ("half of it", json.dumps(whole)[:-40], "no JSON", 3), ("a list", "[1]", "credentials", 3), ("nothing", "", "empty", 3),
                ("a service that leads away", json.dumps(whole | {"token_uri": own.url + "/token"}), "answers 302", 3)):
            file.write_text(text)
            done = self.run("inspect", f"gs://bucket/{RANKS}", GOOGLE_APPLICATION_CREDENTIALS=str(file), STORAGE_EMULATOR_HOST=server.url)
            self.expect(done.returncode == code and word in done.stderr and str(file) in done.stderr and not SECRETS.search(done.stderr), f"gs, {what}: {done}")
        self.expect(not elsewhere, f"a signed claim went where the service led: {elsewhere}")
        file.write_text(account_file(tokens.key, tokens))
        for what, gives in (("no token", (200, b"{}")), ("no JSON", (200, b"<html>")), ("a list", (200, b"[]")), ("too much", (200, b" " * 100_000))):
            tokens.gives = gives
            done = self.run("inspect", f"gs://bucket/{RANKS}", GOOGLE_APPLICATION_CREDENTIALS=str(file), STORAGE_EMULATOR_HOST=server.url)
            self.expect(done.returncode == 3 and not SECRETS.search(done.stderr), f"gs, an answer with {what}: {done}")
        self.expect(not bucket.listings, "nobody may ask without a token")
        public = Server(self.corpus, Bucket(credentials=ANYBODY)).url
        for what, gives in (("that gives none", (404, b"")), ("that gives nonsense", (200, b"x"))):
            tokens.gives = gives
            done = self.run("inspect", f"gs://bucket/{RANKS}", GCE_METADATA_HOST=tokens.url.removeprefix("http://"), STORAGE_EMULATOR_HOST=public)
            self.expect(done.returncode == 0, f"gs, a machine {what}: {done}")
        done = self.run("inspect", f"gs://bucket/{RANKS}", GOOGLE_APPLICATION_CREDENTIALS="/nothing.json", STORAGE_EMULATOR_HOST=public)
        self.expect(done.returncode == 3 and "/nothing.json" in done.stderr, f"gs, a file that is not there: {done}")

    def names_that_are_no_paths(self):
        """ "none/../x" is an object of its own: not "x", which is there."""
        amazon, _, variables = self.bucket()
        google, _, _ = self.bucket(credentials=GOOGLER)
        azure = Server(self.corpus, Container(holder="token"))
        of_azure = {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_SERVICE_ENDPOINT": azure.url, **HOLDERS["token"]}
        for root, server, own in (("s3://bucket/", amazon, variables), ("az://box/", azure, of_azure),
                                  ("gs://bucket/", google, GOOGLER | {"STORAGE_EMULATOR_HOST": google.url})):
            done = self.run("inspect", root + "torch/scaler-file-t2.15/scaler.pt", **own)
            self.expect(done.returncode == 0, f"{root}: {done}")
            server.requests.clear()
            done = self.run("inspect", root + "none/../torch/scaler-file-t2.15/scaler.pt", **own)
            self.expect(done.returncode == 3, f"{root}: {done}")
            asked = [path for path, _ in server.requests if "prefix=" not in path]
            self.expect(asked and all("/none/../" in path for path in asked), f"{root}: {asked}")


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True)
    checks = KeyChecks(ask.parse_args())
    for check in (checks.keys_for_a_while, checks.sign_ons, checks.roles, checks.google_tokens, checks.google_refusals,
                  checks.names_that_are_no_paths):
        check()
    print("all held" if checks.failed == 0 else f"{checks.failed} failed")
    sys.exit(checks.failed > 0)


if __name__ == "__main__":
    main()
