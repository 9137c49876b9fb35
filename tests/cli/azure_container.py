"""A stand-in for Azure's Blob Storage, from its published protocol: Get Blob by ranges, List Blobs, Shared Key, shared
access signatures, tokens."""
import base64
import hashlib
import hmac
import re
import urllib.parse
from xml.sax.saxutils import escape

ACCOUNT, KEY = "tareaccount", base64.b64encode(b"a key of Azure's, of any bytes\xff\x00").decode()
SAS, BEARER = "sv=2020-10-02&sp=rl&sig=s3cr3t%2Bsig%3D", "eyJ0.entra.id"
HOLDERS = {"key": {"AZURE_STORAGE_KEY": KEY}, "sas": {"AZURE_STORAGE_SAS_TOKEN": "?" + SAS},
           "token": {"AZURE_STORAGE_ACCESS_TOKEN": BEARER}, "nobody": {}}


#: What an entry is that is no blob: a folder with an entry of its own, and what is below a delimiter.
FOLDER, BELOW = -1, -2


class Container:
    """The behaviour of a Server: its folder is a container by the name of "box", in the account ACCOUNT.

    `holder`: whose requests are answered, of HOLDERS. `page`: how many entries a page has. `lists`: whether they may list.
    `has_folders`: whether folders are entries, too, as in accounts with a hierarchical namespace.
    """

    def __init__(self, *, holder="key", page=5000, lists=True, has_folders=False, answers_pages=None):
        self.holder, self.page, self.lists, self.has_folders = holder, page, lists, has_folders
        self.answers_pages = answers_pages
        self.listings, self.refused = [], []

    def __call__(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        path, _, query = request.path.partition("?")
        given = urllib.parse.parse_qsl(query, keep_blank_values=True)
        if not self.is_allowed(path, given, headers):
            self.refused.append(request.path)
            request.answer(403, b"<?xml version='1.0'?><Error><Code>AuthenticationFailed</Code></Error>")
            return True
        asked = dict(given)
        if asked.get("comp") == "list":
            self.list(request, asked)
        else:
            request.serve("/" + urllib.parse.unquote(path.removeprefix("/box/")))
        return True

    def is_allowed(self, path, given, headers, method="GET"):
        if headers.get("x-ms-version", "") < "2017-11-09":
            return False
        if not self.lists and dict(given).get("comp") == "list":
            return False
        authorization = headers.get("authorization", "")
        if self.holder == "nobody":
            return not authorization and "sig" not in dict(given)
        if self.holder == "token":
            return authorization == f"Bearer {BEARER}"
        if self.holder == "sas":
            return not authorization and set(urllib.parse.parse_qsl(SAS)) <= set(given)
        standard = ["content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
                    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]
        own = sorted(name for name in headers if name.startswith("x-ms-"))
        signed = {name: "" if (name, value) == ("content-length", "0") else value for name, value in headers.items()}
        lines = [method, *(signed.get(name, "") for name in standard), *(f"{name}:{headers[name]}" for name in own)]
        lines.append(f"/{ACCOUNT}{path}")
        lines += [f"{name}:{value}" for name, value in sorted(given)]
        right = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
        return "x-ms-date" in own and authorization == f"SharedKey {ACCOUNT}:{base64.b64encode(right).decode()}"

    def entries(self, request, prefix):
        """-> bytes by key, of those that begin so; FOLDER where one is a folder."""
        found = {}
        for path in (request.folder / prefix.rpartition("/")[0]).rglob("*"):
            key = path.relative_to(request.folder).as_posix()
            if key.startswith(prefix) and (path.is_file() or self.has_folders):
                found[key] = path.stat().st_size if path.is_file() else FOLDER
        return found

    def tag(self, key):
        """-> the ETag that the blob has, as its header has it; a list has it without quotes."""
        return '"1"'

    def list(self, request, query):
        self.listings.append(query)
        if self.answers_pages:
            return request.answer(200, self.answers_pages(len(self.listings)))
        assert query["restype"] == "container", query
        prefix, delimiter, marker = query.get("prefix", ""), query.get("delimiter"), query.get("marker", "")
        entries = {}
        for key, size in self.entries(request, prefix).items():
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            entries[key if end < 0 else key[:end + 1]] = size if end < 0 else BELOW
        left = sorted(entry for entry in entries if entry > marker)
        page = left[:self.page]
        more = page[-1] if len(left) > len(page) else ""
        blobs = "".join(element(entry, entries[entry], self.tag) for entry in page)
        body = f"""\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://x/" ContainerName="box">
<Prefix>{escape(prefix)}</Prefix><Blobs>{blobs}</Blobs><NextMarker>{escape(more)}</NextMarker></EnumerationResults>"""
        request.answer(200, body.encode())


def name_of(key):
    """Names that XML cannot hold are escaped."""
    if re.search(r"[\x00-\x1f]", key):
        return f'<Name Encoded="true">{urllib.parse.quote(key, safe="/")}</Name>'
    return f"<Name>{escape(key)}</Name>"


def element(key, size, tag):
    if size == BELOW:
        return f"<BlobPrefix>{name_of(key)}</BlobPrefix>"
    kind, size = ("directory", 0) if size == FOLDER else ("file", size)
    return f"""<Blob>{name_of(key)}<Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified><Etag>{tag(key).strip('"')}</Etag>
<ResourceType>{kind}</ResourceType><Content-Length>{size}</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>"""
