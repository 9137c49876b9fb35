"""A stand-in for S3, from its published protocol: GetObject by ranges, ListObjectsV2, signatures (version 4); and for Google's
Cloud Storage, which speaks that protocol, too, and lists by one of its own."""
import base64
import json
import re
import urllib.parse
from xml.sax.saxutils import escape

from http_servers import signature

KEY, SECRET, TOKEN = "AKIDTARE", "s3cr3t/+key", "session+token"
KEEPER = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}
ANYBODY = {}
LIST_OF_GOOGLES = "/storage/v1/b/bucket/o"
GOOGLER = {"GOOGLE_OAUTH_ACCESS_TOKEN": "ya29.token"}


class Bucket:
    """The behaviour of a Server: its folder is a bucket by the name of "bucket".

    `credentials`: whose requests are answered, KEEPER's, GOOGLER's or ANYBODY's. `lists`: whether they may list, or the status for those who ask. `page`: how many
    entries a page has. `host`: where the bucket is in the host's name; else it is in the path. `answers_pages`: what is
    sent instead of a listing, by the number of the page. `is_google`: signatures have Google's names.
    """

    def __init__(self, *, region="us-east-1", credentials=KEEPER, lists=True, page=1000, host=None,
                 requester_pays=False, has_session=True, answers_pages=None, is_google=False):
        self.region, self.credentials, self.lists, self.page = region, credentials, lists, page
        self.host, self.requester_pays, self.answers_pages = host, requester_pays, answers_pages
        self.algorithm, self.own_prefix = ("GOOG4", "x-goog-") if is_google else ("AWS4", "x-amz-")
        self.signed = {"host", self.own_prefix + "date"} | ({"x-amz-security-token"} if has_session else set())
        self.listings, self.refused = [], []

    def __call__(self, request):
        headers = {name.lower(): value for name, value in request.headers.items()}
        refusal = self.refusal(request, headers)
        if refusal:
            status, code, more = refusal
            self.refused.append(code)
            request.answer(status, f"<Error><Code>{code}</Code></Error>".encode(), **more)
            return True
        path, _, query = request.path.partition("?")
        if path == LIST_OF_GOOGLES:
            self.list_as_google(request, dict(urllib.parse.parse_qsl(query, keep_blank_values=True)))
            return True
        key = urllib.parse.unquote(path.removeprefix("/") if self.host else path.removeprefix("/bucket").removeprefix("/"))
        if key:
            request.serve("/" + key)
        else:
            self.list(request, dict(urllib.parse.parse_qsl(query, keep_blank_values=True)))
        return True

    def refusal(self, request, headers):
        if self.host and headers["host"].split(":")[0] != self.host:
            return 404, "NoSuchBucket", {}
        if self.credentials is KEEPER:
            found = re.fullmatch(self.algorithm + r"-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)",
                                 headers.get("authorization", ""))
            if not found:
                return 403, "AccessDenied", {}
            key, scope, signed, given = found.groups()
            if scope.split("/")[1] != self.region:
                return 400, "AuthorizationHeaderMalformed", {"x_amz_bucket_region": self.region}
            right = signature(request.command, request.path, headers, signed.split(";"), SECRET,
                              headers[self.own_prefix + "date"], scope, self.algorithm, self.own_prefix)
            is_whole = self.signed <= set(signed.split(";"))
            if key != KEY or given != right or not is_whole or headers.get("x-amz-security-token", TOKEN) != TOKEN:
                return 403, "SignatureDoesNotMatch", {}
            if self.requester_pays and "x-amz-request-payer" not in signed.split(";"):
                return 403, "AccessDenied", {}
        if self.credentials is GOOGLER and headers.get("authorization") != "Bearer ya29.token":
            return 401, "AuthenticationRequired", {}
        if self.lists is not True and ("list-type=" in request.path or request.path.startswith(LIST_OF_GOOGLES)):
            return self.lists or 403, "AccessDenied", {}
        return None

    def sizes(self, request, prefix):
        """-> bytes by key, of those at least that begin so."""
        return {path.relative_to(request.folder).as_posix(): path.stat().st_size
                for path in (request.folder / prefix.rpartition("/")[0]).rglob("*") if path.is_file()}

    def tag(self, key):
        """-> the ETag that the object has, as its header has it."""
        return '"1"'

    def list(self, request, query):
        self.listings.append(query)
        if self.answers_pages:
            return request.answer(200, self.answers_pages(len(self.listings)))
        assert query["list-type"] == "2" and query["encoding-type"] == "url", query
        prefix = query["prefix"]
        sizes = self.sizes(request, prefix)
        page, following = self.page_of(sizes, prefix, query.get("delimiter"), query.get("continuation-token", ""))
        more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
        request.answer(200, f"""<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix>{spelt(prefix)}</Prefix>
<KeyCount>{len(page)}</KeyCount><MaxKeys>{self.page}</MaxKeys><IsTruncated>{str(bool(more)).lower()}</IsTruncated>{more}
<EncodingType>url</EncodingType>{"".join(element(entry, sizes, self.tag) for entry in page)}</ListBucketResult>""".encode())


    def page_of(self, sizes, prefix, delimiter, token):
        """-> keys, and what folders end with, up to the page's end; what the next page is asked for with, or nothing."""
        after = base64.b64decode(token).decode()
        entries = set()
        for key in sizes:
            if key.startswith(prefix):
                end = key.find(delimiter, len(prefix)) if delimiter else -1
                entries.add(key if end < 0 else key[:end + 1])
        left = sorted((entry for entry in entries if entry > after), key=str.encode)
        page = left[:self.page]
        return page, base64.b64encode(page[-1].encode()).decode() if len(left) > len(page) else ""

    def list_as_google(self, request, query):
        """Google's JSON API, which takes tokens, and no HMAC keys."""
        self.listings.append(query)
        if self.answers_pages:
            return request.answer(200, self.answers_pages(len(self.listings)))
        assert query["fields"] == "nextPageToken,prefixes,items(name,size,md5Hash)", query
        sizes = self.sizes(request, query["prefix"])
        page, following = self.page_of(sizes, query["prefix"], query.get("delimiter"), query.get("pageToken", ""))
        told = {"nextPageToken": following, "prefixes": [entry for entry in page if entry.endswith("/")],
                "items": [{"name": entry, "size": str(sizes[entry]), **self.sum_of(entry)} for entry in page if not entry.endswith("/")]}
        request.answer(200, json.dumps({name: value for name, value in told.items() if value}).encode())

    def sum_of(self, key):
        """Objects that were composed have an ETag that is none."""
        tag = self.tag(key).strip('"')
        return {"md5Hash": base64.b64encode(bytes.fromhex(tag)).decode()} if re.fullmatch("[0-9a-f]{32}", tag) else {}


def spelt(key):
    return escape(urllib.parse.quote_plus(key, safe="/*"))


def element(entry, sizes, tag):
    if entry.endswith("/"):
        return f"<CommonPrefixes><Prefix>{spelt(entry)}</Prefix></CommonPrefixes>"
    return f"""<Contents><Key>{spelt(entry)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>
<ETag>{escape(tag(entry), {chr(34): "&quot;"})}</ETag><Size>{sizes[entry]}</Size><StorageClass>STANDARD</StorageClass></Contents>"""
