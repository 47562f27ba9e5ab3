"""Requests by HTTP, built from the table of routes."""
import http.client, json, re, urllib.parse

from play import Line
from wire import spoilt_raw
from world import *

VALUES = ["", "0", "1", "-1", "4096", "4K", "1e3", "99999999999999999999", "9223372036854775807", "18446744073709551615", "50%", "-5%", "100%", "%",
          "1e11", "1e9", "nan", "inf", "0x10", "only_leaked", "only_temporary", "true", "false", "last", "malloc", ".*", "(", "[a-", "(a+)+$", "main",
          "size", "dsc", "'", "\"", "%00", "%ff%fe", "<b>", "../../etc/passwd", "a" * 3000, "stack", "function", "time", "leaked", "peak", "csv", "json"]
STATEMENTS = ["SELECT count(*) FROM allocations", "SELECT * FROM stacks", "SELECT * FROM allocations LIMIT 100000", "SELECT", "", "PRAGMA user_version",
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 100000) SELECT max(i) FROM n", "DROP TABLE allocations",
              "SELECT sum(size), max(born), min(died) FROM allocations GROUP BY stack", "SELECT * FROM maps", "SELECT hex(zeroblob(1e6))"]


def request(r, paths, streams):
    path, methods = r.choice(paths)
    method = r.choice(sorted(methods))
    id_ = r.choice(streams) if streams and r.randrange(4) else r.choice(("last", "0", "f", "snapshot:x", "%00", "..", "z" * 100))
    path_ = path.replace("{id}", id_[:r.choice((32, 32, 32, 6, 1))]).replace("{number}", r.choice(("0", "1", "2", "99999999999", "-1", "x")))
    query = []
    for name, values in methods[method]:
        if r.randrange(max(2, len(methods[method]) // 3)) == 0:
            value = r.choice(values) if values and r.randrange(3) else r.choice(VALUES)
            if name in ("statement", "query", "sql"):
                value = r.choice(STATEMENTS)
            query.append(name + "=" + (value if r.randrange(6) == 0 else urllib.parse.quote(value)))
    if r.randrange(20) == 0:
        query += [r.choice(VALUES) + "=" + r.choice(VALUES)] * r.choice((1, 2, 100))
    if query:
        path_ += "?" + "&".join(query)
    body = b""
    if method == "post":
        what = r.choice(({"action": r.choice(("stop", "start", "mode", "snapshot", "mark", "x")), "text": r.choice(VALUES), "mode": r.choice(VALUES)},
                         {"statement": r.choice(STATEMENTS)}, {"name": r.choice(VALUES)}, [], {"action": {"a": [1] * 50}}, r.choice(STATEMENTS)))
        body = (what if isinstance(what, str) else json.dumps(what)).encode()
        body = spoilt_raw(r, body) if r.randrange(5) == 0 else body
    head = "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n" % (method.upper(), path_)
    if body:
        head += "Content-Type: %s\r\nContent-Length: %d\r\n" % (r.choice(("application/json", "text/plain", "application/x-www-form-urlencoded")), len(body))
    if r.randrange(3) == 0:
        head += r.choice(("Accept-Encoding: gzip\r\n", "Connection: close\r\n", "X: " + "y" * 5000 + "\r\n", "Range: bytes=0-10\r\n", "If-None-Match: *\r\n"))
    data = head.encode("latin-1", "replace") + b"\r\n" + body
    return data if r.randrange(6) else spoilt_raw(r, data)


def ask_http(r, paths, streams):
    data = b"".join(request(r, paths, streams) for _ in range(r.choice((1, 1, 1, 1, 2, 5))))
    remember("http", data)
    line = Line(r, HTTP_PORT)
    line.say(data)
    whole = lambda heard: heard.endswith(b"0\r\n\r\n") or (b"\r\n\r\n" in heard and b"ontent-" in heard and complete(heard))
    line.hear(r.choice((0, 0.3, 1, 5)), whole)
    heard = bytes(line.heard)
    need(not heard or heard.startswith(b"HTTP/1."), "HTTP says", heard[:200])
    if heard:
        counts["HTTP " + heard[9:12].decode(errors="replace")] += 1
        if heard[9:10] == b"5" and counts["faults told"] < 20:
            counts["faults told"] += 1
            print("  %r: %r" % (data[:300], heard.split(b"\r\n\r\n", 1)[1][:300]))
        # One answer, and all of it: what calls itself JSON is.
        if complete(heard) and b"content-type: application/json" in heard.lower().split(b"\r\n\r\n")[0] and heard.count(b"HTTP/1.") == 1:
            body = heard.split(b"\r\n\r\n", 1)[1]
            if body:
                try:
                    json.loads(body)
                except ValueError as e:
                    fail("this is no JSON (%s): %r... for %r" % (e, body[:300], data[:600]))
                counts["JSON"] += 1
    line.close()


def complete(heard):
    head, _, body = bytes(heard).partition(b"\r\n\r\n")
    m = re.search(rb"content-length: *(\d+)", head.lower())
    return bool(m) and len(body) == int(m[1])


def http_paths():
    c = http.client.HTTPConnection("127.0.0.1", HTTP_PORT, timeout=PATIENCE)
    c.request("GET", "/openapi.json")
    described = json.loads(c.getresponse().read())
    paths = []
    for path, operations in described["paths"].items():
        methods = {}
        for method, operation in operations.items():
            if method not in ("get", "post", "head"):
                continue
            named = []
            for p in operation.get("parameters", ()):
                while "$ref" in p:
                    at = described
                    for part in p["$ref"].lstrip("#/").split("/"):
                        at = at[part]
                    p = at
                named.append((p["name"], [str(v) for v in p.get("schema", {}).get("enum", ())]))
            methods[method] = named
        paths.append((path, methods))
    need(len(paths) > 30, "the table of routes has", len(paths))
    return paths
