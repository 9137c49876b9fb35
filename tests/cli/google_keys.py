"""Services that give tokens of Google's for an hour, from their published protocols: to the account of a key's file, to who
signed on with gcloud, and to a machine."""
import base64
import hashlib
import json
import random
import time
import urllib.parse

from http_servers import Server
from s3_bucket import GOOGLER

TOKEN = GOOGLER["GOOGLE_OAUTH_ACCESS_TOKEN"]
SCOPES = {"https://www.googleapis.com/auth/devstorage.read_write", "https://www.googleapis.com/auth/devstorage.full_control"}
ACCOUNT, KEY_NAME = "tare@lab.iam.gserviceaccount.com", 'k1 "\\\n\x01é'  # no name that Google gives, and a text of JSON
REFRESHED = {"client_id": "id.apps", "client_secret": "cl13nt/+ secret", "refresh_token": "1//r3fresh"}
PUBLIC_EXPONENT = 65537
#: DER of "SHA-256, and its 32 bytes", as RSASSA-PKCS1-v1_5 has it.
SHA256_HEAD = bytes.fromhex("3031300d060960864801650304020105000420")


def is_prime(number):
    """By Miller and Rabin."""
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(24):
        power = pow(random.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def prime(bits):
    while True:
        number = random.getrandbits(bits) | 3 << bits - 2 | 1
        if number % PUBLIC_EXPONENT != 1 and is_prime(number):
            return number


def der(tag, contents):
    size = len(contents)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + contents


def integer(number):
    return der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


class RsaKey:
    """A key of nobody's, made for one run of the tests: `pem` is PKCS #8, as Google writes it into files."""

    def __init__(self, bits=1024):
        p, q = prime(bits // 2), prime(bits // 2)
        self.modulus = p * q
        private = pow(PUBLIC_EXPONENT, -1, (p - 1) * (q - 1))
        numbers = (0, self.modulus, PUBLIC_EXPONENT, private, p, q, private % (p - 1), private % (q - 1), pow(q, -1, p))
        rsa = der(0x30, b"".join(map(integer, numbers)))
        kind = der(0x30, bytes.fromhex("06092a864886f70d010101") + b"\x05\x00")
        text = base64.encodebytes(der(0x30, integer(0) + kind + der(0x04, rsa))).decode()
        self.pem = f"-----BEGIN PRIVATE KEY-----\n{text}-----END PRIVATE KEY-----\n"

    def has_signed(self, signature, text):
        size = (self.modulus.bit_length() + 7) // 8
        wanted = SHA256_HEAD + hashlib.sha256(text).digest()
        block = b"\x00\x01" + b"\xff" * (size - len(wanted) - 3) + b"\x00" + wanted
        return len(signature) == size and pow(int.from_bytes(signature, "big"), PUBLIC_EXPONENT, self.modulus) == int.from_bytes(block, "big")


def decoded(part):
    assert not set(part) & set("=+/"), part
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class Tokens:
    """The behaviour of a Server: gives TOKEN to whoever asks as a service account with `key`, as who signed on, or as the
    machine. `gives`: what it answers instead of a token."""

    def __init__(self, key, gives=None):
        self.key, self.gives, self.asked, self.refused = key, gives, [], []
        self.server = Server(".", self)
        self.url = self.server.url

    def __call__(self, request, method="GET"):
        self.asked.append((method, request.path))
        why_not = self.machine(request) if method == "GET" else self.grant(request)
        if why_not:
            self.refused.append(why_not)
            request.answer(400, json.dumps({"error": "invalid_grant", "error_description": why_not}).encode())
        elif self.gives is not None:
            request.answer(*self.gives)
        else:
            request.answer(200, json.dumps({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}).encode())
        return True

    def machine(self, request):
        is_it = request.path == "/computeMetadata/v1/instance/service-accounts/default/token"
        return "" if is_it and request.headers.get("Metadata-Flavor") == "Google" else "no metadata"

    def grant(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        form = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
        if request.headers["Content-Type"] != "application/x-www-form-urlencoded" or request.path != "/token":
            return "no form"
        if form.pop("grant_type") == "refresh_token":
            return "" if form == REFRESHED else f"another user: {form}"
        return self.assertion(form["assertion"])

    def assertion(self, text):
        signed, _, signature = text.rpartition(".")
        head, claims = (json.loads(decoded(part)) for part in signed.split("."))
        now = time.time()
        for what, holds in (("algorithm", head == {"alg": "RS256", "typ": "JWT", "kid": KEY_NAME}),
                            ("signature", self.key.has_signed(decoded(signature), signed.encode())),
                            ("account", claims["iss"] == ACCOUNT), ("audience", claims["aud"] == f"{self.url}/token"),
                            ("scope", claims["scope"] in SCOPES),
                            ("time", now - 60 < claims["iat"] <= now + 1 and 0 < claims["exp"] - claims["iat"] <= 3600)):
            if not holds:
                return what
        return ""


def account_file(key, tokens):
    return json.dumps({"type": "service_account", "project_id": "lab", "private_key_id": KEY_NAME, "private_key": key.pem,
                       "client_email": ACCOUNT, "token_uri": f"{tokens.url}/token", "universe_domain": "googleapis.com"}, indent=2)


def user_file(tokens):
    return json.dumps({"type": "authorized_user", **REFRESHED, "token_uri": f"{tokens.url}/token"}, indent=2)
