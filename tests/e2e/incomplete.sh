#!/bin/bash
# ctest: LABELS full
# What a recording does not hold is the first thing that each answer says, with how much: losses, a tail that nobody
# knows, a start that was missed. This holds for every command, every format, and every path of the REST API. If the
# recording is complete, none of them says such a thing.
. "$(dirname "$0")/lib.sh"
. "$TEST_SOURCE/lib-death.sh"
need taskset curl python3
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')

# Three threads at full speed beside an agent with little memory that may not make them wait, on one processor.
taskset -c "$cpu" "$AGENT" run --quiet --memory-limit 2M --policy count --output "$T/lost" -- "$WITNESS" "$T/truth" 3 _exit 60 || [ $? = 8 ]
"$AGENT" run --quiet --output "$T/whole" -- "$TARGETS/marks" >/dev/null
# The agent and its program are killed together: by SIGKILL, at the same time.
"$AGENT" run --quiet --output "$T/cut" -- "$WITNESS" "$T/truth2" 1 pause 60000 &
agent=$!
wait_for 20 "a part of the recording" bash -c "[ \$(stat -c %s '$T/cut') -gt 20000 ]"
kill -STOP "$agent"
# shellcheck disable=SC2046
kill -KILL "$agent" $(pgrep -P "$agent")
wait "$agent" || true

python3 - "$T" "$COLLECTOR" <<'PYTHON' || fail "see above"
import gzip, json, os, re, subprocess, sys, time, urllib.error, urllib.request
T, COLLECTOR = sys.argv[1:]

def run(*args, status=(0,)):
    p = subprocess.run([COLLECTOR, *args], capture_output=True, timeout=100, cwd=T)
    assert p.returncode in status, (args, p.returncode, p.stderr[-300:])
    return p.stdout, p.stderr.decode()

def need(ok, *what):
    if not ok:
        sys.exit(print("FAILED:", *what) or 1)

# ---- what the ledger says ----
ledger = {name: json.loads(run("ledger", "--json", f"{T}/{name}", status=(0, 1))[0]) for name in ("lost", "whole", "cut")}
lost, whole, cut = ledger["lost"], ledger["whole"], ledger["cut"]
print("lost:", lost.get("incomplete"))
print("cut: ", cut.get("incomplete"))
need(lost["adds_up"] and not lost["complete"] and lost["missing"]["lost_events"] == lost["lost"] - lost["missing"]["unfinished_events"] > 0, lost["missing"])
need(lost["missing"]["lost_bytes"] == lost["lost_bytes"] > 0, lost["missing"])
share = 100 * lost["missing"]["lost_events"] / lost["produced"]
said = re.match(r"Incomplete: ([0-9.]+) % of the events were lost \(([0-9,]+) of ([0-9,]+), with allocations of [0-9.]+ [KMG]iB\)\.$", lost["incomplete"])
need(said and abs(float(said[1]) - share) < 0.06, lost["incomplete"], share)
need([int(said[i].replace(",", "")) for i in (2, 3)] == [lost["missing"]["lost_events"], lost["produced"]], said.groups())
need(whole["adds_up"] and whole["complete"] and "incomplete" not in whole, whole["missing"])
need(cut["adds_up"] and not cut["complete"] and cut["missing"]["tail_unknown"], cut["missing"])
need(re.match(r"Incomplete: it breaks off at .* without an end, and what followed is not known", cut["incomplete"]), cut["incomplete"])
for name, status in (("lost", 1), ("whole", 0), ("cut", 1)):
    run("ledger", f"{T}/{name}", status=(status,))

# ---- commands, as text and as JSON ----
TEXT = [["report"], ["top"], ["leaks"], ["leaks", "--by", "backtrace"], ["temporary"], ["histogram"], ["timeline"], ["tree"], ["maps"], ["ledger"],
        ["analyze"], ["sql"]]
for name in ledger:
    line = ledger[name].get("incomplete")
    for command in TEXT if name != "cut" else [["report"], ["leaks"]]:
        more = ["select count(*) from allocations"] if command == ["sql"] else []
        out = run(*command, f"{T}/{name}", *more, status=(0, 1))[0].decode()
        first = out.split("\n")[0]
        need(first == line if line else "ncomplete" not in out.replace("and is complete", ""), command, name, first)
        if command == ["sql"]:
            continue
        answer = json.loads(run(*command, "--json", f"{T}/{name}", status=(0, 1))[0])
        need(answer.get("incomplete") == line and (not line or list(answer)[2] == "incomplete"), command, name, list(answer)[:3])
        need(command != ["report"] or (answer["ledger_adds_up"], answer["ledger_complete"]) == (True, not line), answer.keys())
    if name == "cut":
        continue
    out, err = run("sql", "--json", f"{T}/{name}", "select 1")
    need((json.loads(out).get("incomplete") or None) == (line or None) and "ncomplete" not in err, "sql --json", name, err)
    out, err = run("sql", "--csv", f"{T}/{name}", "select 1")
    need(out == b"1\r\n1\r\n" and (line or "ncomplete") in err if line else "ncomplete" not in err, "sql --csv", name, out, err)
    out = run("analyze", "--html", "-", f"{T}/{name}")[0].decode()
    need((line in out) if line else "ncomplete" not in out, "analyze --html", name)
for base, now in (("lost", "whole"), ("cut", "lost")):
    out = run("diff", "--base", f"{T}/{base}", f"{T}/{now}")[0].decode().split("\n")
    expected = [f"{side}: {ledger[n]['incomplete']}" for side, n in (("base", base), ("new", now)) if n != "whole"]
    need(out[:len(expected)] == expected, "diff", out[:3])
    answer = json.loads(run("diff", "--json", "--base", f"{T}/{base}", f"{T}/{now}")[0])
    need(answer.get("base_incomplete") == ledger[base].get("incomplete") and answer.get("incomplete") == ledger[now].get("incomplete"), "diff --json")

# ---- formats ----
BEARS = {"pprof", "heaptrack", "jemalloc", "gperftools", "massif", "callgraph", "csv", "speedscope"}
PLAIN = {"json", "collapsed", "replay"}
for name in ("lost", "whole"):
    line = ledger[name].get("incomplete")
    for form in BEARS | PLAIN:
        out, err = run("export", "--format", form, f"{T}/{name}")
        if form == "pprof":
            out = gzip.decompress(out)
        has = line.encode() in out if line else b"ncomplete" in out
        need(has == (bool(line) and form in BEARS), form, name)
        need(("ncomplete" in err) == (bool(line) and form in PLAIN), form, name, err)
        head = out.decode(errors="replace").splitlines()
        starts = {"csv": f"# {line}", "jemalloc": f"%warn {line}", "gperftools": f"%warn {line}"}.get(form)
        need(not line or not starts or head[0] == starts, form, head[0])
        need(form != "heaptrack" or not line or head[1] == f"# {line}", form, head[:2])
    for args in ([], ["--base", f"{T}/whole"]):
        svg = run("flamegraph", "--output", "-", *args, f"{T}/{name}")[0].decode()
        need(svg.count("Incomplete: ") == (2 if line else 0) and (not line or f"{line} -->" in svg), "flamegraph", name, svg.count("Incomplete: "))

# What other tools are warned by is no hindrance for our own reader.
open(f"{T}/gperftools", "wb").write(run("export", "--format", "gperftools", f"{T}/lost")[0])
need(lost["incomplete"] in run("import", "--output", f"{T}/imported", f"{T}/gperftools")[0].decode().replace("\n" + " " * 14, " "), "import")

# ---- the list ----
def store(name):
    os.makedirs(f"{T}/data/streams/{ledger[name]['id']}", exist_ok=True)
    os.link(f"{T}/{name}", f"{T}/data/streams/{ledger[name]['id']}/recording.heapcast")
for name in ledger:
    store(name)
rows = {r.split()[0]: r for r in run("list", "--data", f"{T}/data")[0].decode().splitlines()[1:]}
listed = {r["id"]: r.get("incomplete") for r in json.loads(run("list", "--data", f"{T}/data", "--json")[0])["streams"]}
for name, said in ledger.items():
    need(rows[said["id"][:12]].endswith("*") == (name != "whole"), rows)
    need(listed[said["id"]] == said.get("incomplete"), listed)

# ---- REST ----
server = subprocess.Popen([COLLECTOR, "serve", "--http", "127.0.0.1:18091", *(f"{T}/{n}" for n in ledger)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
def get(path):
    with urllib.request.urlopen(f"http://127.0.0.1:18091{path}", timeout=60) as answer:
        return answer.headers, answer.read()
for _ in range(400):
    try:
        api = json.loads(get("/openapi.json")[1])
        break
    except urllib.error.URLError:
        time.sleep(0.05)
asked = 0
for path, methods in api["paths"].items():
    if "{id}" not in path or "get" not in methods or path.endswith("/live") or "security" in methods["get"]:
        continue
    need("Heapcast-Incomplete" in methods["get"]["responses"]["200"]["headers"], path)
    for name in ledger if path.endswith(("/report", "/diff")) else ("lost", "whole"):
        id, line = ledger[name]["id"], ledger[name].get("incomplete")
        url = path.replace("{id}", id).replace("{backtrace_id}", "1")
        base = line
        if path.endswith("/diff"):
            url += f"?base={ledger['cut']['id']}"
            base = f"base: {ledger['cut']['incomplete']}" + (f" new: {line}" if line else "")
        if path.endswith("/sql"):
            url += "?query=select%201"
        headers, body = get(url)
        asked += 1
        need(headers.get("Heapcast-Incomplete") == base, url, headers.get("Heapcast-Incomplete"))
        kind = headers["content-type"]
        if kind == "application/json" and body.lstrip()[:1] == b"{" and "_to_script" not in path:
            answer = json.loads(body)
            need(answer.get("incomplete") == base and (not base or list(answer)[0] == "incomplete"), url, list(answer)[:2])
        elif "svg" in kind or ("csv" in kind and not path.endswith("/sql")) or "ascii_tree" in path:
            need((line in body.decode()) if line else b"ncomplete" not in body, url)
headers, body = get(f"/data/{lost['id']}/sql?query=select%201&format=csv")
need(headers["Heapcast-Incomplete"] == lost["incomplete"] and body == b"1\r\n1\r\n", headers, body)
headers, body = get(f"/data/{whole['id']}/sql?query=select%20value%20from%20json_each('[1,2,3,4]')&format=csv&count=3")
need(headers["Heapcast-Incomplete"] == "Incomplete: the answer has more rows than 3 (count)." and body.count(b"\n") == 4, headers, body)
headers, body = get(f"/data/{lost['id']}/sql?query=select%20value%20from%20json_each('[1,2,3,4]')&format=csv&count=3")
need(headers["Heapcast-Incomplete"] == lost["incomplete"] + " Incomplete: the answer has more rows than 3 (count).", headers)
(list_of,) = [json.loads(get("/list")[1])]
need({r["id"]: r.get("incomplete") for r in list_of} == {l["id"]: l.get("incomplete") for l in ledger.values()}, list_of)
with urllib.request.urlopen(f"http://127.0.0.1:18091/data/{lost['id']}/live", timeout=60) as answer:
    need(answer.headers.get("Heapcast-Incomplete") == lost["incomplete"], answer.headers)
    events = answer.read().decode()
    need(json.loads(re.search(r"event: totals\ndata: (.*)", events)[1])["incomplete"] == lost["incomplete"], events)
server.terminate()
server.wait()
print(f"{asked} answers over HTTP, of {len(api['paths'])} paths")
PYTHON
