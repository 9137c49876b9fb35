#!/usr/bin/env python3
"""Puts real checkpoints into a bucket of moto, which checks signatures as IAM does, asks tare of each, and edits some.

    moto_bucket.py --tare TARE --corpus FOLDER

tests/stores/run.sh calls this with a Python that has moto. What the bucket gives, and what an edit makes of
it, must equal what the disk gives; undo must bring back what was there.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

CHECKS = pathlib.Path(__file__).resolve().parent.parent / "cli/object_stores.py"
MAY_READ = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"],
                                                     "Resource": "*"}]}


MAY_WRITE = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
MAKE_CHECKPOINT = pathlib.Path(__file__).resolve().parent.parent / "bench/make_checkpoint.py"
EDITED = ["torch/scaler-file-t2.15", "deepspeed/zero2_4ranks_tags/ckpt/global_step2", "large"]


MAY_TAKE = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}]}
LETS_TAKE = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}


def role_of(iam, name, policy):
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(LETS_TAKE))["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="rights", PolicyDocument=json.dumps(policy))
    return role


def what_falls_short_of_roles(options, url, key, role):
    """A profile takes a role with another one's keys, whose signature moto's STS checks; those keys alone may read nothing."""
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home, ".aws")
        folder.mkdir()
        (folder / "config").write_text(f"[profile lab]\nrole_arn = {role}\nsource_profile = base\n")
        secret = key["SecretAccessKey"]
        for profile, given, code in (("lab", secret, 0), ("lab", secret + "x", 3), ("base", secret, 3)):
            (folder / "credentials").write_text(f"[base]\naws_access_key_id = {key['AccessKeyId']}\naws_secret_access_key = {given}\n")
            done = subprocess.run([options.tare, "inspect", f"s3://bucket/{EDITED[0]}"], capture_output=True, text=True,
                                  env={"PATH": os.environ["PATH"], "HOME": home, "AWS_PROFILE": profile, "AWS_ENDPOINT_URL": url})
            if done.returncode != code or (code and "403" not in done.stderr):
                yield f"a role, as {profile}: {done}"


def key_of(iam, user, policy):
    iam.create_user(UserName=user)
    iam.put_user_policy(UserName=user, PolicyName="rights", PolicyDocument=json.dumps(policy))
    return iam.create_access_key(UserName=user)["AccessKey"]


def variables_of(key, url, home):
    return {"PATH": os.environ["PATH"], "HOME": home, "AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_REGION": "us-east-1",
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"], "AWS_ENDPOINT_URL": url}


def what_falls_short_of_edits(options, url, key):
    """In objects of their own, small ones, ranks, and one that is made by parts; the bucket is read with the same key."""
    s3 = boto3.client("s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id=key["AccessKeyId"],
                      aws_secret_access_key=key["SecretAccessKey"])
    with tempfile.TemporaryDirectory() as home:
        disk = pathlib.Path(home, "edited")
        for case in EDITED[:-1]:
            shutil.copytree(options.corpus / case, disk / case)
        (disk / "large").mkdir()
        subprocess.run([sys.executable, MAKE_CHECKPOINT, disk / "large/model.pt", "--bytes", "40000000", "--parameters", "24"],
                       check=True, stdout=subprocess.DEVNULL)
        files = {f"edited/{path.relative_to(disk)}": path for path in disk.rglob("*") if path.is_file()}
        before = {name: path.read_bytes() for name, path in files.items()}
        for name, data in before.items():
            s3.put_object(Bucket="bucket", Key=name, Body=data)

        def there():
            return {name: s3.get_object(Bucket="bucket", Key=name)["Body"].read() for name in files}

        def tare(*words):
            return subprocess.run([options.tare, *map(str, words), "--yes"], capture_output=True, text=True,
                                  env=variables_of(key, url, home))
        for case in EDITED:
            for place in (disk / case, f"s3://bucket/edited/{case}"):
                done = tare("edit", place, "scale=1024")
                if done.returncode != 0:
                    yield f"an edit: {done}"
        edited = {name: path.read_bytes() for name, path in files.items()}
        if edited == before or there() != edited:
            yield "edits in the bucket are others than on the disk"
        for case in EDITED:
            done = tare("undo", f"s3://bucket/edited/{case}")
            if done.returncode != 0:
                yield f"an undo: {done}"
        if there() != before:
            yield "undo does not bring back what was there"
        if s3.list_multipart_uploads(Bucket="bucket").get("Uploads"):
            yield "an upload is left"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--corpus", required=True, type=pathlib.Path)
    options = ask.parse_args()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    own = {"endpoint_url": url, "region_name": "us-east-1", "aws_access_key_id": "x", "aws_secret_access_key": "x"}
    s3 = boto3.client("s3", **own)
    s3.create_bucket(Bucket="bucket")
    for path in options.corpus.rglob("*"):
        if path.is_file():
            s3.put_object(Bucket="bucket", Key=path.relative_to(options.corpus).as_posix(), Body=path.read_bytes())
    iam = boto3.client("iam", **own)
    key, key_of_writer, key_of_taker = key_of(iam, "reader", MAY_READ), key_of(iam, "writer", MAY_WRITE), key_of(iam, "taker", MAY_TAKE)
    role = role_of(iam, "lab", MAY_READ)
    judge = urllib.request.Request(f"{url}/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"})
    urllib.request.urlopen(judge)  # from now on each request needs a signature, and a right
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
                   "AWS_REGION": "us-east-1"}
    command = [sys.executable, str(CHECKS), "--tare", options.tare, "--corpus", str(options.corpus), "--endpoint", url]
    right = subprocess.run(command, env=environment).returncode
    environment["AWS_SECRET_ACCESS_KEY"] += "x"
    refused = subprocess.run([options.tare, "inspect", "s3://bucket/torch"], capture_output=True, text=True,
                             env={**environment, "AWS_ENDPOINT_URL": url})
    if refused.returncode != 3 or "403" not in refused.stderr:
        print(f"FAILED a wrong secret: {refused}")
        right = 1
    short = [*what_falls_short_of_edits(options, url, key_of_writer), *what_falls_short_of_roles(options, url, key_of_taker, role)]
    for failure in short:
        print(f"FAILED {failure}")
        right = 1
    sys.exit(right)


if __name__ == "__main__":
    main()
