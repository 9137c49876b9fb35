"""A stand-in for the Hugging Face Hub, from what its own library asks for: trees by pages, files by a redirect."""
import json
import re
import urllib.parse

TOKEN = "hf_token"


class Hub:
    """The behaviour of a Server: its folder is the repository me/runs, as a model and as a dataset's pull request. Only TOKEN
    is answered. `page`: how many entries a page has. `answers`: what is sent instead of a tree, and its Link. `lasts`: how often
    the way that it leads to is open."""

    def __init__(self, page=1000, answers=None, lasts=10**9):
        self.page, self.answers, self.lasts = page, answers, lasts
        self.leaked, self.ways = False, []

    def __call__(self, request):
        path, _, query = request.path.partition("?")
        path, query = urllib.parse.unquote(path), dict(urllib.parse.parse_qsl(query))
        authorization = request.headers.get("Authorization")
        if path.startswith("/cdn/"):
            self.leaked = self.leaked or authorization is not None
            self.ways[int(query["way"])] -= 1
            if self.ways[int(query["way"])] < 0:
                return request.answer(403) or True
            return request.serve(path.removeprefix("/cdn")) or True
        if authorization != f"Bearer {TOKEN}":
            return request.answer(401) or True
        repository = "(?:models/me/runs/tree/main|datasets/me/runs/tree/refs/pr/1)"
        if tree := re.fullmatch(f"/api/{repository}(?:/(.*))?", path):
            self.tree(request, tree[1] or "", query)
        elif file := re.fullmatch("/(?:me/runs/resolve/main|datasets/me/runs/resolve/refs/pr/1)/(.*)", path):
            if (request.folder / file[1]).is_file():
                port = request.headers["Host"].rpartition(":")[2]  # another host by its name, the same by its address
                self.ways.append(self.lasts)
                request.answer(302, Location=f"http://localhost:{port}/cdn/{urllib.parse.quote(file[1])}?way={len(self.ways) - 1}")
            else:
                request.answer(404)
        else:
            request.answer(404)
        return True

    def tree(self, request, folder, query):
        if self.answers:
            body, link = self.answers
            return request.answer(200, body, **({"Link": link} if link else {}))
        root = request.folder / folder
        if not root.is_dir():
            return request.answer(404)
        found = sorted(root.rglob("*") if query.get("recursive") == "true" else root.iterdir())
        begin = int(query.get("cursor", 0))
        entries = [{"type": "directory" if path.is_dir() else "file", "oid": "0" * 40,
                    "size": 0 if path.is_dir() else path.stat().st_size,
                    "path": path.relative_to(request.folder).as_posix()} for path in found[begin:begin + self.page]]
        more = {}
        if begin + self.page < len(found):
            base = f"http://{request.headers['Host']}{request.path.partition('?')[0]}"
            following = urllib.parse.urlencode({**query, "cursor": begin + self.page})
            more["Link"] = f'<{base}?{following}>; rel="next"'
        request.answer(200, json.dumps(entries).encode(), **more)
