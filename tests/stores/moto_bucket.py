#!/usr/bin/env python3
"""Puts real checkpoints into a bucket of moto, which checks signatures as IAM does, and asks tare of each.

    moto_bucket.py --tare TARE --corpus FOLDER

tests/stores/run.sh calls this with a Python that has moto. What the bucket gives must equal what the disk gives.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

CHECKS = pathlib.Path(__file__).resolve().parent.parent / "cli/object_stores.py"
MAY_READ = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"],
                                                     "Resource": "*"}]}


def key_of_reader(iam):
    iam.create_user(UserName="reader")
    iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=json.dumps(MAY_READ))
    return iam.create_access_key(UserName="reader")["AccessKey"]


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
    key = key_of_reader(boto3.client("iam", **own))
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
    sys.exit(right)


if __name__ == "__main__":
    main()
