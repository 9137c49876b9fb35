"""A stand-in for Azure's block blobs that can be written, from the published protocol: conditional Put Blob, blocks that are
sent or copied from a blob, block lists, metadata, leases, versions, Delete Blob."""
import base64
import calendar
import email.utils
import hashlib
import hmac
import pathlib
import re
import threading
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

from azure_container import ACCOUNT, BEARER, KEY, SAS, Container
from s3_writable import Content, Gone, Stored

MOST_COPIED = 100 << 20
OWN_LINES = re.compile(r"(x-ms-blob-(content-type|cache-control|content-disposition|content-encoding|content-language)|"
                       r"x-ms-meta-.*|x-ms-access-tier)$")


class WritableContainer(Container):
    """Of a Server whose folder it is filled with. `conditional`: keeps to If-Match and If-None-Match. `ahead`: seconds that its
    clock is ahead. `before`, `after`: as of WritableBucket. Blocks that nobody committed are in `blocks`, by blob."""

    lines_of_files = {"x-ms-blob-content-type": "a/b"}
    uploads = ()  # there are none that have a name

    def __init__(self, folder, *, conditional=True, versioned=False, **settings):
        super().__init__(**settings)
        self.conditional, self.versioned, self.ahead = conditional, versioned, 0
        self.before = self.after = lambda method, key, query: None
        self.lock = threading.RLock()
        self.objects, self.blocks, self.leased, self.kinds, self.tags = {}, {}, set(), {}, {}
        self.log, self.bytes_in, self.bytes_copied, self.bytes_out, self.changes = [], 0, 0, 0, 0
        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file():
                self.put(path.relative_to(folder).as_posix(), Content.of_file(path), "file", dict(self.lines_of_files))

    def now(self):
        return time.time() + self.ahead

    def put(self, key, content, kind, lines):
        self.changes += 1
        number = self.objects[key].number + 1 if key in self.objects else 1
        self.objects[key] = Stored(content, f'"0x8D{self.changes:013X}"', lines, number, self.now())
        if kind != "metadata":
            self.blocks.pop(key, None)  # whoever writes the blob sweeps away what was not committed
        return self.objects[key]

    def data(self, key):
        return self.objects[key].content.read()

    def __call__(self, request, method="GET"):
        request.date_time_string = lambda timestamp=None: email.utils.formatdate(self.now(), usegmt=True)
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = request.rfile.read(int(headers.get("content-length", "0")))
        path, _, query = request.path.partition("?")
        given = urllib.parse.parse_qsl(query, keep_blank_values=True)
        if not self.is_allowed(path, given, headers, method):
            self.refused.append(request.path)
            self.answer(request, *self.error(403, "AuthenticationFailed"))
            return True
        key, query = urllib.parse.unquote(path.removeprefix("/box").removeprefix("/")), dict(given)
        if not key:
            self.list(request, query)
            return True
        try:
            self.before(method, key, query)
            with self.lock:
                self.log.append((method, key, len(body)))
                answer = getattr(self, "on_" + method)(key, query, headers, body)
            self.after(method, key, query)
        except Gone:
            request.close_connection = True
            return True
        self.answer(request, *answer)
        return True

    def answer(self, request, status, body=b"", headers=None):
        headers = {name.replace("-", "_"): value for name, value in (headers or {}).items()}
        if request.command != "HEAD":
            return request.answer(status, body, **headers)
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()

    def error(self, status, code):
        return status, f"\ufeff<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}.</Message></Error>".encode()

    def described(self, key):
        stored = self.objects[key]
        lines = {name.replace("x-ms-blob-", ""): value for name, value in stored.lines.items()}
        tier = {} if "x-ms-access-tier" in lines else {"x-ms-access-tier": "Hot", "x-ms-access-tier-inferred": "true"}
        more = {"x-ms-tag-count": str(self.tags[key])} if key in self.tags else {}
        if self.versioned:
            more["x-ms-version-id"] = f"v{stored.number}"
        return {"ETag": stored.tag, "Last-Modified": email.utils.formatdate(stored.written, usegmt=True),
                "x-ms-blob-type": self.kinds.get(key, "BlockBlob"),
                "x-ms-lease-status": "locked" if key in self.leased else "unlocked", **lines, **tier, **more}

    def unmet(self, key, headers):
        """The answer to a request whose condition does not hold, or that somebody's lease forbids."""
        there = self.objects.get(key)
        if key in self.leased:
            return self.error(412, "LeaseIdMissing")
        if not self.conditional:
            return None
        if headers.get("if-none-match") == "*" and there:
            return self.error(409, "BlobAlreadyExists")
        if "if-match" in headers and (not there or headers["if-match"] != there.tag):
            return self.error(412, "ConditionNotMet")
        return None

    def on_HEAD(self, key, query, headers, body):
        if key not in self.objects:
            return 404, b""
        return 200, b"", {**self.described(key), "Content-Length": str(self.objects[key].content.size)}

    def on_GET(self, key, query, headers, body):
        if key not in self.objects:
            return self.error(404, "BlobNotFound")
        content = self.objects[key].content
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", headers["range"]).groups())
        if first >= content.size:
            return 416, b"", {"Content-Range": f"bytes */{content.size}"}
        data = content.part(first, min(last, content.size - 1) - first + 1).read()
        self.bytes_out += len(data)
        return 206, data, {**self.described(key), "Content-Range": f"bytes {first}-{first + len(data) - 1}/{content.size}"}

    def on_PUT(self, key, query, headers, body):
        self.bytes_in += len(body)
        if query.get("comp") == "block":
            return self.take_block(key, query["blockid"], headers, body)
        refused = self.unmet(key, headers)
        if refused:
            return refused
        own = {name: value for name, value in headers.items() if OWN_LINES.match(name)}
        if query.get("comp") == "metadata":
            stored = self.objects[key]
            lines = {name: value for name, value in stored.lines.items() if not name.startswith("x-ms-meta-")}
            self.put(key, stored.content, "metadata", {**lines, **{n: v for n, v in own.items() if n.startswith("x-ms-meta-")}})
            return 200, b"", self.told(key)
        if query.get("comp") == "blocklist":
            return self.commit(key, own, body)
        if headers.get("x-ms-blob-type") != "BlockBlob":
            return self.error(400, "MissingRequiredHeader")
        own.setdefault("x-ms-blob-content-type", headers.get("content-type", ""))
        self.put(key, Content.of(body), "whole", own)
        return 201, b"", self.told(key)

    def told(self, key):
        return {name: value for name, value in self.described(key).items() if name in ("ETag", "Last-Modified", "x-ms-version-id")}

    def take_block(self, key, block, headers, body):
        blocks = self.blocks.setdefault(key, {})
        if len(base64.b64decode(block, validate=True)) > 64 or any(len(other) != len(block) for other in blocks):
            return self.error(400, "InvalidBlobOrBlock")
        if "x-ms-copy-source" not in headers:
            blocks[block] = Content.of(body)
            return 201, b""
        source = self.source_of(headers)
        if source is None:
            return self.error(403, "CannotVerifyCopySource")
        stored = self.objects.get(source)
        if not stored:
            return self.error(404, "CannotVerifyCopySource")
        if headers.get("x-ms-source-if-match", stored.tag) != stored.tag:
            return self.error(412, "SourceConditionNotMet")
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", headers["x-ms-source-range"]).groups())
        if body or last >= stored.content.size or last - first + 1 > MOST_COPIED:
            return self.error(400, "InvalidInput")
        blocks[block] = stored.content.part(first, last - first + 1)
        self.bytes_copied += blocks[block].size
        return 201, b""

    def source_of(self, headers):
        """-> the blob that a block is copied from; None where nothing shows that it may be read."""
        parts = urllib.parse.urlsplit(headers["x-ms-copy-source"])
        key = urllib.parse.unquote(parts.path).removeprefix("/box/")
        given = dict(urllib.parse.parse_qsl(parts.query))
        if self.holder == "nobody":
            return key
        if self.holder == "token":
            return key if headers.get("x-ms-copy-source-authorization") == f"Bearer {BEARER}" else None
        if self.holder == "sas":
            return key if set(urllib.parse.parse_qsl(SAS)) <= set(given.items()) else None
        if given.get("sr") != "b" or "r" not in given.get("sp", "") or not given.get("sv", "") >= "2018-11-09":
            return None
        if calendar.timegm(time.strptime(given["se"], "%Y-%m-%dT%H:%M:%SZ")) < time.time():
            return None
        text = "\n".join([given["sp"], "", given["se"], f"/blob/{ACCOUNT}/box/{key}", "", "", "", given["sv"], "b", "", "", "", "", "", ""])
        right = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        return key if given["sig"] == right else None

    def commit(self, key, own, body):
        blocks, content = self.blocks.get(key, {}), Content()
        for block in ElementTree.fromstring(body):
            if block.tag != "Uncommitted" or block.text not in blocks:
                return self.error(400, "InvalidBlockList")
            content += blocks[block.text]
        self.put(key, content, "blocks", own)
        return 201, b"", self.told(key)

    def on_DELETE(self, key, query, headers, body):
        if not self.objects.pop(key, None):
            return self.error(404, "BlobNotFound")
        return 202, b""

    def tag(self, key):
        return self.objects[key].tag

    def entries(self, request, prefix):
        return {key: stored.content.size for key, stored in self.objects.items() if key.startswith(prefix)}
