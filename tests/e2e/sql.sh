#!/bin/bash
# collector sql, of a program whose heap is known, recorded in full, sampled and culled. The sums are the program's own
# and those of report, top, leaks, timeline and histogram. Conditions of SQL are filters of every other command, and
# filters can be said as conditions. A statement that would write, reach a file, never end or need too much is refused
# with a message, and the server lives on.
. "$(dirname "$0")/lib.sh"
need python3 curl

mkdir "$T/temporary"
export TMPDIR=$T/temporary
"$AGENT" run --quiet --output "$T/full.heapcast" -- "$BUILD/targets/sampled" >"$T/truth.txt"
"$AGENT" run --quiet --mode sample=32K --output "$T/sampled.heapcast" -- "$BUILD/targets/sampled" >/dev/null
"$AGENT" run --quiet --short-lived 10s --output "$T/culled.heapcast" -- "$BUILD/targets/sampled" >/dev/null
"$AGENT" run --quiet --output "$T/marks.heapcast" -- "$BUILD/targets/marks" >/dev/null
"$AGENT" run --quiet --gather-maps=100ms --output "$T/maps.heapcast" -- "$BUILD/targets/holes" >/dev/null

"$COLLECTOR" serve --http 127.0.0.1:18086 "$T"/{sampled,culled,marks,maps,full}.heapcast >"$T/serve.out" 2>"$T/serve.err" &
server=$!
wait_for 20 "the server" grep -q 18086 "$T/serve.out"

python3 - "$T" "$COLLECTOR" "$server" "$ROOT/docs/sql.md" <<'PYTHON' || fail "see above"
import csv, io, json, os, re, signal, subprocess, sys, time, urllib.error, urllib.parse, urllib.request
T, COLLECTOR, SERVER, MANUAL = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]

def run(*args, status=0, stdin=None):
    p = subprocess.run([COLLECTOR, *args], input=stdin, capture_output=True, text=True, timeout=100)
    assert p.returncode == status, (args, p.returncode, p.stderr[-500:], p.stdout[-500:])
    return p.stdout if status == 0 else p.stderr

def sql(name, text, *options):
    return json.loads(run("sql", "--json", *options, f"{T}/{name}.heapcast", text))["answers"][0]

BASE = "http://127.0.0.1:18086/data/"
ids = {}
for name in "full", "sampled", "marks", "maps", "culled":
    (row,) = sql(name, "select id from recording")
    ids[name] = row["id"]
def get(name, path, status=200, body=None, **parameters):
    url = BASE + ids[name] + "/" + path + ("?" + urllib.parse.urlencode(parameters) if parameters else "")
    request = urllib.request.Request(url, data=body.encode() if body is not None else None)
    try:
        answer = urllib.request.urlopen(request, timeout=100)
    except urllib.error.HTTPError as e:
        answer = e
    data = answer.read().decode()
    assert answer.status == status, (url, answer.status, data)
    return json.loads(data) if "json" in answer.headers["content-type"] else data

def one(name, text): # of the server: it need not read the recording each time
    (row,) = get(name, "sql", body=text)["rows"]
    return tuple(row.values())

def ask(command, name, *options):
    return json.loads(run(command, "--json", *options, f"{T}/{name}.heapcast"))

def same(what, expected, got):
    assert expected == got, f"{what}: expected {expected}, got {got}"

def near(what, expected, got, by=1):
    assert abs(expected - got) <= by, f"{what}: expected {expected}, got {got}"

# ---- the program's own truth ----
truth = {}
for line in open(f"{T}/truth.txt"):
    site, *numbers = line.split()
    truth[site] = tuple(map(int, numbers))
rows = sql("full", "select function, sum(bytes) b, count(*) n, sum(bytes * leaked) lb, sum(leaked) ln from allocations group by function")
got = {r["function"]: (r["b"], r["n"], r["lb"], r["ln"]) for r in rows}
for site, numbers in truth.items():
    same(site, numbers, got[site])

# ---- the other commands ----
def totals(name):
    report = ask("report", name)
    b, n, be, ne, lb, ln = one(name, "select sum(bytes), sum(blocks), bytes_error(size, bytes), blocks_error(size, bytes), "
                               "sum(bytes * leaked), sum(blocks * leaked) from allocations")
    cb, cn, kinds = one(name, "select coalesce(sum(bytes), 0), coalesce(sum(blocks), 0), count(*) from culled")
    near("allocated bytes", report["allocated"]["bytes"], b + cb)
    near("allocated blocks", report["allocated"]["blocks"], n + cn)
    near("leaked bytes", report["leaked"]["bytes"], lb)
    near("leaked blocks", report["leaked"]["blocks"], ln)
    near("error of bytes", report["allocated"].get("bytes_error", 0), be, 0.001 * be)
    near("error of blocks", report["allocated"].get("blocks_error", 0), ne, 0.001 * ne)
    fb, fn = one(name, "select sum(temporary_bytes), sum(temporary_blocks) from stacks")
    stacks = len(sql(name, "select stack from stacks"))
    near("temporary bytes", report["temporary"]["bytes"], fb, stacks)
    return report, kinds
report, kinds = totals("full")
same("nothing is sampled", 0, one("full", "select bytes_error(size, bytes) from allocations")[0])
same("nothing is culled", 0, kinds)
report, kinds = totals("sampled")
assert report["allocated"]["bytes_error"] > 0
report, kinds = totals("culled")
assert kinds > 0 and report["culled"]["blocks"] == one("culled", "select sum(blocks) from culled")[0]

for name in "full", "sampled", "culled":
    top = ask("top", name, "--by", "backtrace", "--count", "100000")["groups"]
    stacks = sql(name, "select * from stacks where allocated_blocks > 0")
    same("groups", len(top), len(stacks))
    same("backtraces of " + name,
         sorted((g["allocated"]["bytes"], g["allocated"]["blocks"], g["leaked"]["bytes"], g["temporary"]["blocks"], g["function"] or "") for g in top),
         sorted((s["allocated_bytes"], s["allocated_blocks"], s["leaked_bytes"], s["temporary_blocks"], s["function"]) for s in stacks))
    sites = {g["function"]: g for g in ask("top", name, "--value", "leaked", "--count", "1000")["groups"]}
    for r in sql(name, "select function, sum(leaked_bytes) b, sum(leaked_blocks) n from stacks group by function having b > 0"):
        near("leaks of " + r["function"], sites[r["function"]]["value"]["bytes"], r["b"], 50)

timeline = ask("timeline", "full", "--count", "50")
rows = sql("full", "select * from timeline(50)")
same("timeline", timeline["allocated_size_last"], [r["bytes"] for r in rows])
same("allocations over time", timeline["allocations"], [r["allocations"] for r in rows])
at = rows[25]["start_ns"]
same("in use at a moment, in two ways",
     one("full", f"select count(*), sum(size) from allocations where birth_ns <= {at} and (death_ns is null or death_ns > {at})"),
     one("full", f"select count(*), sum(size) from allocations({at})"))
same("and as it was shown", rows[24]["blocks"], one("full", f"select count(*) from allocations({at - 1})")[0])
sizes = ask("histogram", "full")["sizes"]
for c in sizes:
    b = one("full", f"select count(*), coalesce(sum(size), 0) from allocations where size between {c['size_min']} and {c.get('size_max', 2**62)}")
    same(f"sizes from {c['size_min']}", (c["allocated"]["blocks"], c["allocated"]["bytes"]), b)

# ---- conditions beside filters ----
counts = lambda *options: ask("report", "full", *options)["allocated"]
conditions = {
    "size >= 4096": ["--size-min", "4096"],
    "thread = 1 and leaked": ["--thread", "1", "--lifetime", "only_leaked"],
    "through(stack, 'site_(page|wide)')": ["--function-regex", "site_(page|wide)"],
    "function = 'site_page'": ["--function-regex", "^site_page$"],
    "chain_length > 1": ["--chain-length-min", "2"],
    "freed_at_once = 1": ["--temporary", "yes"],
    "mmaped = 1": ["--mmaped", "yes"],
    "stack in (select stack from stacks where row_blocks > 1000)": ["--group-allocations-min", "1001"],
}
for condition, options in conditions.items():
    expected = counts(*options)
    same(condition, expected, counts("--where", condition))
    same(condition, (expected["blocks"], expected["bytes"]), one("full", f"select count(*), coalesce(sum(size), 0) from allocations where {condition}"))
    assert 0 < expected["blocks"] < report["allocated"]["blocks"], condition
same("a condition and a filter", counts("--size-min", "100", "--size-max", "200"), counts("--where", "size <= 200", "--size-min", "100"))
assert "no such column: nope" in run("top", f"{T}/full.heapcast", "--where", "nope = 1", status=2)

same("marks", [("NUMBER", 42), ("TEXT", "hello, ring")],
     [(r["kind"], r["value"] if r["kind"] == "NUMBER" else r["text"]) for r in sql("marks", "select * from marks where kind in ('NUMBER', 'TEXT')")])
same("marker", ask("report", "marks", "--marker", "42")["allocated"]["blocks"], one("marks", "select count(*) from allocations where marker = 42")[0])

# ---- forms ----
text = "select 1 as a, 'x,\"y\"' as b, null as c, 2.5 as d union all select 2, 'z', x'00ff', -1 order by a"
same("CSV", [["a", "b", "c", "d"], ["1", 'x,"y"', "", "2.5"], ["2", "z", "00ff", "-1"]], list(csv.reader(io.StringIO(run("sql", "--csv", f"{T}/full.heapcast", text)))))
same("JSON lines", [{"a": 1, "b": 'x,"y"', "c": None, "d": 2.5}, {"a": 2, "b": "z", "c": "00ff", "d": -1}],
     [json.loads(l) for l in run("sql", "--json-lines", f"{T}/full.heapcast", text).splitlines()])
same("table", ["a  b      c       d", "1  x,\"y\"        2.5", "2  z      00ff   -1"], run("sql", f"{T}/full.heapcast", text).splitlines())
nul = "select 'a' || char(0) || 'b' as a"
same("a NUL", [{"a": "a\0b"}], json.loads(run("sql", "--json", f"{T}/full.heapcast", nul))["answers"][0])
same("a NUL in a table", ["a", "a?b"], run("sql", f"{T}/full.heapcast", nul).splitlines())
open(f"{T}/two.sql", "w").write("-- two\nselect count(*) as n from threads;\n\nselect 7 as seven;\n")
same("a file", 2, len(json.loads(run("sql", "--json", "--file", f"{T}/two.sql", f"{T}/full.heapcast"))["answers"]))
same("standard input", [{"seven": 7}], json.loads(run("sql", "--json", f"{T}/full.heapcast", "-", stdin="select 7 as seven"))["answers"][0])
same("rows at most", 5, len(sql("full", "select id from allocations", "--count", "5")))
schema = run("sql", "--schema")
for table in re.findall(r"^(\w+)$", schema, re.M):
    if table != "functions":
        names = {r["name"] for r in sql("full", f"pragma table_xinfo({table})")}
        shown = set(re.findall(r"^    (\w+) +(?:INTEGER|TEXT|REAL|parameter)", re.search(rf"^{table}\n(.*?)(?:\n\n|\Z)", schema, re.M | re.S)[1], re.M))
        same("columns of " + table, names, shown)
assert len(sql("full", "select stack_text(stack) t from stacks where t regexp 'main;.*site_page(;|$)'")) >= 1

# ---- what the manual says is understood ----
manual = open(MANUAL).read()
statements = [b for b in re.findall(r"(?:^    .*\n)+", manual, re.M) if re.match(r"    (select|with)\b", b)]
assert len(statements) > 12, statements
for text in statements:
    get("full", "execute_script", body=text)
table = re.search(r"### Filtering lists\n(.*?)\n###", manual, re.S)[1]
items = [" ".join(item.split()) for item in re.split(r"^\* ", table, flags=re.M)[1:]]
said = [c for item in items if "(" in item.split("`: ")[0] for here in re.findall(r"`: (`.*`)$", item) for c in re.findall(r"`([^`]+)`", here)]
assert len(said) > 30, said
for text in said:
    if " where ...)" not in text:
        one("full", "select count(*) from allocations where " + re.sub(r"\b[natub]\b", "5", text))

# ---- refusals ----
for text, why in {
    "create table x(a)": "only read", "create view v as select 1": "only read", "drop table stacks": "", "insert into stacks values (1)": "",
    "delete from allocations": "", "update stacks set depth = 1": "", "attach '/tmp/x' as y": "ATTACH", "vacuum into '/tmp/x'": "",
    "pragma journal_mode = wal": "journal_mode", "pragma temp_store_directory = '/'": "temp_store_directory", "begin": "transaction",
    "select load_extension('/lib/x.so')": "load_extension", "select readfile('/etc/passwd')": "no such function", "selec": "syntax error",
    "create temp table x as select 1": "only read", "select 'a' regexp '('": "regular expression", "detach main": "", "analyze": "",
    "with t as (select 1) insert into stacks select * from t": "", "select * from elsewhere": "no such table",
    "explain insert into stacks values (1)": "",
}.items():
    error = run("sql", f"{T}/full.heapcast", text, status=2)
    assert why in error and error.startswith("collector sql: "), (text, error)
assert "line 3, column 2: no such column" in run("sql", f"{T}/full.heapcast", "select 1;\nselect\n nope", status=2)
said = run("sql", f"{T}/full.heapcast", "select 1;\nselect * from alocations", status=2)
assert "line 2, column 15: no such table: alocations; did you mean 'allocations'?" in said, said
said = run("sql", f"{T}/full.heapcast", "select thread_nam from allocations", status=2)
assert "line 1, column 8: no such column: thread_nam; did you mean 'thread_name'?" in said, said
assert "did you mean" not in run("sql", f"{T}/full.heapcast", "select * from elsewhere", status=2)
endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
begun = time.monotonic()
assert "not done after" in run("sql", "--timeout", "500ms", f"{T}/full.heapcast", endless, status=3)
assert time.monotonic() - begun < 90
huge = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000000) select x, randomblob(200) b from c order by b"
assert "temporary files" in run("sql", "--sql-temp", "20M", f"{T}/full.heapcast", huge, status=3)
assert "memory" in run("sql", "--sql-memory", "4M", f"{T}/full.heapcast", "select group_concat(b) from (" + huge + ")", status=3)
assert "memory" in run("sql", f"{T}/full.heapcast", "select 1 from " + ", ".join(["timeline(100000)"] * 60) + " limit 1", status=3)
nested = "'z'"
for level in range(10): # a gigabyte in one step
    nested = "max(" + ", ".join(f"printf('%.{900000 + 100 * level + i}c', 'a')" for i in range(95)) + f", {nested})"
assert "memory" in run("sql", "--sql-memory", "64M", f"{T}/full.heapcast", "select length(" + nested + ")", status=3)
p = subprocess.Popen([COLLECTOR, "sql", f"{T}/full.heapcast", endless], stdout=subprocess.DEVNULL,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(0.5)
p.send_signal(signal.SIGINT)
assert p.wait(90) == -signal.SIGINT

# ---- REST ----
question = "select function, sum(bytes) as b from allocations group by function order by function"
answer = get("full", "sql", query=question)
same("REST's rows", sql("full", question), answer["rows"])
same("its columns", (["function", "b"], False, len(answer["rows"])), (answer["columns"], answer["cut"], answer["row_count"]))
same("with ends of lines", answer, get("full", "sql", query=question.replace(" from", "\nfrom").replace(" group", "\r\ngroup")))
same("by POST", answer, get("full", "sql", body=question))
same("as CSV", run("sql", "--csv", f"{T}/full.heapcast", question), get("full", "sql", query=question, format="csv").replace("\r\n", "\n"))
same("cut", (3, True), (lambda a: (len(a["rows"]), a["cut"]))(get("full", "sql", query=question, count=3)))
assert "syntax error" in get("full", "sql", 400, query="selec")["error"]
assert "only read" in get("full", "sql", 400, query="create table a(b)")["error"]
assert get("full", "sql", 400)["parameter"] == "query"
assert "not done after" in get("full", "sql", 422, query=endless, timeout="0.5s")["error"]
assert "no parameter" in get("full", "sql", 400, query="select 1", size_min="1")["error"]
for condition, options in conditions.items():
    parameters = {o[2:].replace("-", "_"): v for o, v in zip(options[::2], options[1::2])}
    total = get("full", "allocations", count=0, **parameters)["total_count"]
    same("custom_filter " + condition, total, get("full", "allocations", count=0, custom_filter=condition)["total_count"])
    script = get("full", "allocation_filter_to_script", **parameters)
    same(script["code"], total, len(sql("full", script["prologue"] + script["code"].replace("select *", "select id"))))
    both = get("full", "allocation_filter_to_script", custom_filter=condition, size_min=50)
    same(both["code"], get("full", "allocations", count=0, custom_filter=condition, size_min=50)["total_count"],
         len(sql("full", both["code"].replace("select *", "select id"))))
assert "custom_filter" == get("full", "report", 400, custom_filter="1) or (1")["parameter"]
maps = get("maps", "maps", writable="only_true", size_min=4096)
script = get("maps", "map_filter_to_script", writable="only_true", size_min=4096)
same(script["code"], sorted(m["id"] for m in maps["maps"]), sorted(r["map"] for r in sql("maps", script["code"])))
assert maps["total_count"] > 3
(m,) = sql("maps", "select map, count(*) n from allocations where map is not null group by map order by n desc limit 1")
same("blocks of a map", get("maps", "allocations", count=0, from_map=m["map"])["total_count"], m["n"])
script = get("full", "execute_script", body="select 1 as a, 'b' as c;\nselect 2 as d")
same("a script", ("ok", ["a\tc", "1\tb", "d", "2"]), (script["status"], [o["value"] for o in script["output"] if o["kind"] == "println"]))
same("a NUL, too", "a\0b", get("full", "execute_script", body=nul)["output"][1]["value"])
script = get("full", "execute_script", body="select 1 as a;\nselect nope")
same("a script that fails", ("error", 2, 8, 2), (script["status"], script["line"], script["column"], len(script["output"])))
get("full", "execute_script", 405)
openapi = json.load(urllib.request.urlopen("http://127.0.0.1:18086/openapi.json"))
assert set(openapi["paths"]["/data/{id}/sql"]) == {"get", "post"} and set(openapi["paths"]["/data/{id}/execute_script"]) == {"post"}
same("it lives on", report["allocated"], get("culled", "report")["allocated"])
os.kill(SERVER, 0)
PYTHON
kill -TERM "$server"
wait "$server" || fail "the server ended with $?"
[ -z "$(ls -A "$T/temporary")" ] || fail "temporary files were left: $(ls -A "$T/temporary")"
