"""A stand-in for S3 that can be written, from its published protocol: conditional PUT, multipart uploads with parts that
are copied, versions, DELETE. Objects are kept as runs of files and of bytes, so that large ones cost nothing."""
import email.utils
import hashlib
import pathlib
import re
import threading
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

from s3_bucket import LIST_OF_GOOGLES, Bucket

LEAST_PART = 5 << 20
OWN_LINES = re.compile(r"(content-type|cache-control|content-disposition|content-encoding|content-language|expires|"
                       r"x-amz-meta-.*|x-amz-storage-class|x-amz-server-side-encryption.*)$")


class Content:
    """Bytes as runs: (a path or bytes, offset, size)."""

    def __init__(self, runs=()):
        self.runs = [run for run in runs if run[2]]
        self.size = sum(run[2] for run in self.runs)

    @classmethod
    def of(cls, data):
        return cls([(data, 0, len(data))])

    @classmethod
    def of_file(cls, path):
        size = pathlib.Path(path).stat().st_size
        return cls([(pathlib.Path(path), 0, size)]) if size > 64 << 20 else cls.of(pathlib.Path(path).read_bytes())

    def part(self, first, size):
        runs, at = [], 0
        for source, offset, length in self.runs:
            begin, end = max(first, at), min(first + size, at + length)
            if begin < end:
                runs.append((source, offset + begin - at, end - begin))
            at += length
        return Content(runs)

    def __add__(self, other):
        return Content(self.runs + other.runs)

    def read(self):
        pieces = []
        for source, offset, size in self.runs:
            if isinstance(source, bytes):
                pieces.append(source[offset:offset + size])
            else:
                with source.open("rb") as file:
                    file.seek(offset)
                    pieces.append(file.read(size))
        return b"".join(pieces)


class Stored:
    def __init__(self, content, tag, lines=None, number=1, written=0.0):
        self.content, self.tag, self.lines, self.number, self.written = content, tag, lines or {}, number, written


class Gone(Exception):
    """Nobody is answered."""


class WritableBucket(Bucket):
    """Of a Server whose folder it is filled with. `versioned`: keeps old versions, and names them. `conditional`: keeps to
    If-Match and If-None-Match. `prefix`: nothing else may be seen. `ahead`: seconds that its clock is ahead. `before`, `after`: called with the method, the
    key and the query when a request comes, and when it is done; may raise Gone, and then nobody is answered."""

    lines_of_files = {"content-type": "a/b"}

    def __init__(self, folder, *, versioned=False, conditional=True, prefix="", **settings):
        super().__init__(**settings)
        self.versioned, self.conditional, self.prefix, self.ahead = versioned, conditional, prefix, 0
        self.hides_tags = False
        self.before = self.after = lambda method, key, query: None
        self.lock = threading.RLock()
        self.objects, self.uploads, self.old = {}, {}, {}
        self.log, self.bytes_in, self.bytes_copied, self.bytes_out = [], 0, 0, 0
        for path in pathlib.Path(folder).rglob("*"):
            if path.is_file():
                self.put(path.relative_to(folder).as_posix(), Content.of_file(path), "file", dict(self.lines_of_files))

    def now(self):
        return time.time() + self.ahead

    def put(self, key, content, kind, lines):
        before = self.objects.get(key)
        number = before.number + 1 if before else 1
        if before:
            self.old[key, before.number] = before
        if kind == "whole":
            tag = hashlib.md5(content.read()).hexdigest()
        else:
            tag = hashlib.md5(repr((key, number, kind)).encode()).hexdigest() + "-1"
        self.objects[key] = Stored(content, f'"{tag}"', lines, number, self.now())
        return self.objects[key]

    def data(self, key):
        return self.objects[key].content.read()

    def sizes(self, request, prefix):
        return {key: stored.content.size for key, stored in self.objects.items()}

    def tag(self, key):
        return self.objects[key].tag

    def __call__(self, request, method="GET"):
        request.date_time_string = lambda timestamp=None: email.utils.formatdate(self.now(), usegmt=True)
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = request.rfile.read(int(headers.get("content-length", "0")))
        refusal = self.refusal(request, headers)
        if not refusal and self.own_prefix + "date" in headers and hashlib.sha256(body).hexdigest() != headers[self.own_prefix + "content-sha256"]:
            refusal = 400, "XAmzContentSHA256Mismatch", {}
        if refusal:
            status, code, more = refusal
            self.refused.append(code)
            self.answer(request, status, f"<Error><Code>{code}</Code></Error>".encode(), **more)
            return True
        path, _, query = request.path.partition("?")
        is_googles = path == LIST_OF_GOOGLES
        key = "" if is_googles else urllib.parse.unquote(path.removeprefix("/bucket").removeprefix("/"))
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if not (key or query.get("prefix", "")).startswith(self.prefix):
            self.answer(request, 403, b"<Error><Code>AccessDenied</Code></Error>")
            return True
        if not key:
            (self.list_as_google if is_googles else self.list)(request, query)
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
        self.answer(request, *answer[:2], **(answer[2] if len(answer) > 2 else {}))
        return True

    def answer(self, request, status, body=b"", **headers):
        if request.command != "HEAD":
            return request.answer(status, body, **headers)
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()

    def described(self, stored):
        lines = {name.replace("-", "_"): value for name, value in stored.lines.items()}
        version = {"x_amz_version_id": f"v{stored.number}"} if self.versioned else {}
        return {"ETag": stored.tag, "Last_Modified": email.utils.formatdate(stored.written, usegmt=True), **lines, **version}

    def error(self, status, code):
        return status, f"<Error><Code>{code}</Code><Message>{code}.</Message></Error>".encode()

    def unmet(self, key, headers):
        """The answer to a request whose condition does not hold."""
        if not self.conditional:
            return None
        there = self.objects.get(key)
        if headers.get("if-none-match") == "*" and there:
            return self.error(412, "PreconditionFailed")
        if "if-match" in headers and not there:
            return self.error(404, "NoSuchKey")
        if "if-match" in headers and headers["if-match"] != there.tag:
            return self.error(412, "PreconditionFailed")
        return None

    def own_lines(self, headers):
        return {name: value for name, value in headers.items() if OWN_LINES.match(name)}

    def on_HEAD(self, key, query, headers, body):
        stored = self.objects.get(key)
        if not stored:
            return 404, b""
        return 200, b"", {**self.described(stored), "Content_Length": str(stored.content.size)}

    def on_GET(self, key, query, headers, body):
        stored = self.objects.get(key)
        if not stored:
            return self.error(404, "NoSuchKey")
        if "tagging" in query:
            return self.error(403, "AccessDenied") if self.hides_tags else (200, b"<Tagging><TagSet/></Tagging>")
        first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", headers["range"]).groups())
        size = stored.content.size
        if first >= size:
            return 416, b"", {"Content_Range": f"bytes */{size}"}
        data = stored.content.part(first, min(last, size - 1) - first + 1).read()
        self.bytes_out += len(data)
        return 206, data, {**self.described(stored), "Content_Range": f"bytes {first}-{first + len(data) - 1}/{size}"}

    def on_PUT(self, key, query, headers, body):
        self.bytes_in += len(body)
        if "uploadId" in query:
            return self.take_part(key, query, headers, body)
        refused = self.unmet(key, headers)
        if refused:
            return refused
        stored = self.put(key, Content.of(body), "whole", self.own_lines(headers))
        return 200, b"", {name: value for name, value in self.described(stored).items() if name[0] in "Ex"}

    def take_part(self, key, query, headers, body):
        upload = self.uploads.get(query["uploadId"])
        if not upload or upload["key"] != key:
            return self.error(404, "NoSuchUpload")
        if "x-amz-copy-source" not in headers:
            content = Content.of(body)
        else:
            source = urllib.parse.unquote(headers["x-amz-copy-source"]).removeprefix("/bucket/")
            stored = self.objects[source]
            if headers["x-amz-copy-source-if-match"] != stored.tag:
                return self.error(412, "PreconditionFailed")
            first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", headers["x-amz-copy-source-range"]).groups())
            if last >= stored.content.size:
                return self.error(416, "InvalidRange")
            content = stored.content.part(first, last - first + 1)
            self.bytes_copied += content.size
        tag = f'"part-{query["partNumber"]}-{content.size}"'
        upload["parts"][int(query["partNumber"])] = (tag, content)
        copied = f"<CopyPartResult><ETag>{tag.replace(chr(34), '&quot;')}</ETag></CopyPartResult>".encode()
        return (200, copied) if "x-amz-copy-source" in headers else (200, b"", {"ETag": tag})

    def on_POST(self, key, query, headers, body):
        if "uploads" in query:
            name = f"upload/{len(self.uploads)}+{time.time()}"
            self.uploads[name] = {"key": key, "parts": {}, "lines": self.own_lines(headers)}
            return 200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode()
        upload = self.uploads.get(query["uploadId"])
        if not upload:
            return self.error(404, "NoSuchUpload")
        refused = self.unmet(key, headers)
        if refused:
            return refused
        space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
        content, listed = Content(), ElementTree.fromstring(body).findall(space + "Part")
        for part in listed:
            tag, piece = upload["parts"][int(part.find(space + "PartNumber").text)]
            if tag != part.find(space + "ETag").text:
                return self.error(400, "InvalidPart")
            if piece.size < LEAST_PART and part is not listed[-1]:
                return self.error(400, "EntityTooSmall")
            content += piece
        del self.uploads[query["uploadId"]]
        stored = self.put(key, content, query["uploadId"], upload["lines"])
        told = f"<CompleteMultipartUploadResult><ETag>{stored.tag.replace(chr(34), '&quot;')}</ETag></CompleteMultipartUploadResult>"
        return 200, told.encode(), {"x_amz_version_id": f"v{stored.number}"} if self.versioned else {}

    def on_DELETE(self, key, query, headers, body):
        if "uploadId" in query:
            return (204, b"") if self.uploads.pop(query["uploadId"], None) else self.error(404, "NoSuchUpload")
        self.objects.pop(key, None)
        return 204, b""
