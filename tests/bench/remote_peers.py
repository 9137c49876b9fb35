#!/usr/bin/env python3
"""What others need to tell the same of the same checkpoint behind a server that takes its time, as a table.

    remote_peers.py --tare BUILD/tools/tare [--bytes 400000000] [--latency 30] [--runs 3]

Run it with a Python that has torch, s3fs, awscli and huggingface_hub; a peer that is not there has no row. The stand-ins for S3
and the Hub are those of the tests, on the same machine: a network's bandwidth would cost whoever asks for more bytes more.
Seconds are of the whole command, with the time that it takes to start.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from http_servers import Server
from hub import TOKEN, Hub
from s3_bucket import KEEPER
from s3_writable import WritableBucket

LAYERS = 24
READ = "import torch; assert torch.load({0}, weights_only=True, map_location='cpu')['scaler']['scale'] == 65536"
EDIT = ("import torch; state = torch.load({0}, weights_only=True, map_location='cpu'); state['scaler']['scale'] = 4096.0; "
        "torch.save(state, {0})")
STREAMED = "import fsspec; file = fsspec.open('s3://bucket/model.pt').open(); " + READ.format("file")
HEADERS = ("from huggingface_hub import get_safetensors_metadata; "
           "assert len(get_safetensors_metadata('me/runs').files_metadata['model.safetensors'].tensors) == {0}")


class PeersBucket(WritableBucket):
    """One that also answers who asks for all of an object, or for all from a place on."""

    def on_GET(self, key, query, headers, body):
        if key not in self.objects:
            return super().on_GET(key, query, headers, body)
        last = self.objects[key].content.size - 1
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", "bytes=0-"))
        status, *rest = super().on_GET(key, query, {**headers, "range": f"bytes={wanted[1]}-{wanted[2] or last}"}, body)
        return (status if "range" in headers else 200, *rest)


class PeersHub(Hub):
    """One that also tells of a file without its bytes."""

    def __call__(self, request, method="GET"):
        if method != "HEAD":
            return super().__call__(request)
        file = request.folder / request.path.rpartition("/")[2]
        request.send_response(200 if file.is_file() else 404)
        for name, value in {"ETag": '"1"', "X-Repo-Commit": "0" * 40, "Content-Length": file.stat().st_size if file.is_file() else 0}.items():
            request.send_header(name, str(value))
        request.end_headers()
        return True


def write_safetensors(path, size):
    """A model whose weights are FP8, with a scale for each, all zeros but the scales."""
    header, at = {}, 0
    for layer in range(LAYERS):
        for name, kind, shape, length in (("weight", "F8_E4M3", [size // LAYERS], size // LAYERS), ("weight_scale", "F32", [1], 4)):
            header[f"model.layers.{layer}.mlp.up_proj.{name}"] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + length]}
            at += length
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for layer in range(LAYERS):
            file.seek(size // LAYERS, os.SEEK_CUR)
            file.write(b"\0\0\x80\x3f")


def cases(options, scratch):
    """-> what is asked for, by what, its commands, and whether of the Hub."""
    here = str(scratch / "copy.pt")
    python, aws = sys.executable, [str(pathlib.Path(sys.executable).parent / "aws"), "s3", "cp", "--quiet"]
    tare = [options.tare]
    tensors = 2 * LAYERS
    yield "scale", "tare inspect", [tare + ["inspect", "s3://bucket/model.pt"]], False
    yield "scale", "aws s3 cp, torch.load", [aws + ["s3://bucket/model.pt", here], [python, "-c", READ.format(repr(here))]], False
    yield "scale", "torch.load over s3fs", [[python, "-c", STREAMED]], False
    yield "edit", "tare edit", [tare + ["edit", "s3://bucket/model.pt", "scale=4096", "--yes"]], False
    yield "edit", "aws s3 cp, torch, aws s3 cp", [aws + ["s3://bucket/model.pt", here], [python, "-c", EDIT.format(repr(here))],
                                                  aws + [here, "s3://bucket/model.pt"]], False
    yield "safetensors", "tare inspect hf://", [tare + ["inspect", "hf://me/runs/model.safetensors"]], True
    yield "safetensors", "get_safetensors_metadata", [[python, "-c", HEADERS.format(tensors)]], True


def measured(options, folder, scratch, commands, is_hub):
    """-> seconds of each run; requests, bytes to and fro of the last one."""
    seconds = []
    for _ in range(options.runs):
        behaviour = PeersHub() if is_hub else PeersBucket(folder)
        server = Server(folder, behaviour, options.latency / 1000)
        own = {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN} if is_hub else \
            {**KEEPER, "AWS_ENDPOINT_URL": server.url, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
             "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}
        begin = time.perf_counter()
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": str(scratch), **own})
            if done.returncode != 0:
                return f"{command[0]}: {done.stderr.strip()[-300:]}"
        seconds.append(time.perf_counter() - begin)
        server.http.shutdown()
        sent = 0 if is_hub else behaviour.bytes_in
    return seconds, len(server.requests), server.sent, sent


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--tare", required=True)
    ask.add_argument("--bytes", type=int, default=400_000_000)
    ask.add_argument("--latency", type=int, default=30, help="milliseconds of each answer")
    ask.add_argument("--runs", type=int, default=3)
    options = ask.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
        folder, scratch = pathlib.Path(folder), pathlib.Path(scratch)
        subprocess.run([sys.executable, HERE / "make_checkpoint.py", folder / "model.pt", "--bytes", str(options.bytes),
                        "--parameters", "120"], check=True, stdout=subprocess.DEVNULL)
        write_safetensors(folder / "model.safetensors", options.bytes)
        print(f"{options.bytes:,} bytes, {options.latency} ms an answer, {options.runs} runs")
        print("what         by                            requests  bytes received   bytes sent  seconds (least to most)")
        for what, by, commands, is_hub in cases(options, scratch):
            told = measured(options, folder, scratch, commands, is_hub)
            if isinstance(told, str):
                print(f"{what:12} {by:28} not measured: {told}")
                continue
            seconds, requests, received, sent = told
            print(f"{what:12} {by:28} {requests:9} {received:15,} {sent:12,}  {statistics.median(seconds):6.2f} "
                  f"({min(seconds):.2f} to {max(seconds):.2f})", flush=True)


if __name__ == "__main__":
    main()
