"""Services that give keys of Amazon's for a while, from their published protocols: to containers, to machines, to who
signed on, and to who takes a role."""
import hashlib
import json
import re
import urllib.parse

from http_servers import Server, signature
from s3_bucket import KEY, SECRET, TOKEN

SERVICE_KEYS = {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": "2036-01-01T00:00:00Z"}
PROCESS_KEYS = {"Version": 1, "AccessKeyId": KEY, "SecretAccessKey": SECRET, "SessionToken": TOKEN}
SIGN_ON_KEYS = {"roleCredentials": {"accessKeyId": KEY, "secretAccessKey": SECRET, "sessionToken": TOKEN, "expiration": 1}}
SIGN_ON = """[default]
sso_session = lab
sso_account_id = 123456789012
sso_role_name = Reader
[sso-session lab]
sso_start_url = https://lab.awsapps.com/start
sso_region = eu-west-1
"""


def cached_token(expires, token="sso-t0ken"):
    return json.dumps({"startUrl": "https://lab.awsapps.com/start", "region": "eu-west-1", "accessToken": token, "expiresAt": expires})


def token_file(session):
    """Where the aws command keeps the token of a session, or of a start URL."""
    return f".aws/sso/cache/{hashlib.sha1(session.encode()).hexdigest()}.json"


class Service:
    """The behaviour of a Server, which does not answer for others: `answers` by method and path -> headers that must be
    there, and the body."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []
        self.server = Server(".", self)
        self.url = self.server.url

    def __call__(self, request, method="GET"):
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.asked.append((method, request.path))
        wanted, body = self.answers.get((method, request.path), (None, b""))
        allowed = wanted is not None and all(headers.get(name) == value for name, value in wanted.items())
        request.answer(200 if allowed else 403, body if isinstance(body, bytes) else json.dumps(body).encode())
        return True


def machine(role="reader", keys=SERVICE_KEYS):
    folder, token = "/latest/meta-data/iam/security-credentials/", {"x-aws-ec2-metadata-token": "m3ta"}
    return Service({("PUT", "/latest/api/token"): ({"x-aws-ec2-metadata-token-ttl-seconds": "300"}, b"m3ta"),
                    ("GET", folder): (token, role.encode()), ("GET", folder + role): (token, keys)})


def container():
    return Service({("GET", "/keys"): ({"authorization": "c0ntainer"}, SERVICE_KEYS)})


def portal():
    return Service({("GET", "/federation/credentials?account_id=123456789012&role_name=Reader"):
                    ({"x-amz-sso_bearer_token": "sso-t0ken"}, SIGN_ON_KEYS)})


ROLE = "arn:aws:iam::123456789012:role/reader"
#: Who may take the role with keys.
TAKER, TAKERS_SECRET = "AKTAKER", "t4ker/+"
TAKERS_KEYS = f"aws_access_key_id = {TAKER}\naws_secret_access_key = {TAKERS_SECRET}\n"
VOUCHED = "eyJ.w3b.identity"
GIVEN = """<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{0}Result><AssumedRoleUser><Arn>{1}</Arn></AssumedRoleUser>
<Credentials><AccessKeyId>{2}</AccessKeyId><SecretAccessKey>{3}</SecretAccessKey><SessionToken>{4}</SessionToken>
<Expiration>2036-01-01T00:00:00Z</Expiration></Credentials></{0}Result></{0}Response>"""


class Roles:
    """The behaviour of a Server that is STS: gives keys to TAKER, who signs, and to whoever has VOUCHED. `external`: what
    the role's owner wants to be told, too."""

    def __init__(self, external=None, region="us-east-1"):
        self.external, self.region, self.asked, self.refused = external, region, [], []
        self.server = Server(".", self)
        self.url = self.server.url

    def __call__(self, request, method="GET"):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        form = dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))
        self.asked.append(form["Action"])
        why_not = self.refusal(request, method, form, body)
        if why_not:
            self.refused.append(why_not)
            request.answer(403, f"<ErrorResponse><Error><Code>{why_not}</Code></Error></ErrorResponse>".encode())
        else:
            request.answer(200, GIVEN.format(form["Action"], ROLE, KEY, SECRET, TOKEN).encode())
        return True

    def refusal(self, request, method, form, body):
        wanted = {"Version": "2011-06-15", "RoleArn": ROLE} | ({"ExternalId": self.external} if self.external else {})
        if method != "POST" or request.path != "/" or any(form.get(name) != value for name, value in wanted.items()):
            return "ValidationError"
        if not re.fullmatch(r"[\w+=,.@-]{2,64}", form["RoleSessionName"]):
            return "InvalidSession"
        if form["Action"] == "AssumeRoleWithWebIdentity":
            is_bare = "Authorization" not in request.headers
            return "" if form["WebIdentityToken"] == VOUCHED and is_bare else "InvalidIdentityToken"
        headers = {name.lower(): value for name, value in request.headers.items()}
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)",
                             headers.get("authorization", ""))
        if not found:
            return "MissingAuthenticationToken"
        key, scope, signed, given = found.groups()
        is_of_body = headers["x-amz-content-sha256"] == hashlib.sha256(body).hexdigest()
        right = signature(method, request.path, headers, signed.split(";"), TAKERS_SECRET, headers["x-amz-date"], scope)
        is_there = scope.split("/")[1:3] == [self.region, "sts"]
        return "" if (key, given) == (TAKER, right) and is_of_body and is_there else "SignatureDoesNotMatch"
