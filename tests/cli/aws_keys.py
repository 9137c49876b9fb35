"""Services that give keys of Amazon's for a while, from their published protocols: to containers, to machines, and to who
signed on."""
import json

from http_servers import Server
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


def cached_token(expires):
    return json.dumps({"startUrl": "https://lab.awsapps.com/start", "region": "eu-west-1", "accessToken": "sso-t0ken",
                       "expiresAt": expires})


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
