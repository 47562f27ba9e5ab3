#!/bin/bash
# Every answer in JSON is what `json-schema` says: all commands that have --json are asked, in their forms, and each answer is validated.
# All begin alike, what is measured has its unit in its name or in the description, and docs/json.md has all of it.
. "$(dirname "$0")/lib.sh"
need python3
python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null || skip "python3 has no jsonschema"
"$AGENT" run --quiet --figures-interval 100ms --gather-maps=100ms --output new.heapcast -- "$TARGETS/holes" >holes.out
"$AGENT" run --quiet --mode sample=4K --output sampled.heapcast -- sort /etc/passwd >sort.out
"$AGENT" run --quiet --output old.heapcast -- sort /etc/passwd >sort.out
"$COLLECTOR" export --format collapsed --value allocated -o some.collapsed old.heapcast >export.out
start_collector
record sort /etc/passwd >sort.out
wait_collector
"$COLLECTOR" json-schema >schema.json

cat >check.py <<'PYTHON'
import json, re, subprocess, sys
import jsonschema

collector, data = sys.argv[1:3]
schema = json.load(open("schema.json"))
commands, parts = schema["commands"], schema["components"]["schemas"]
asked = set()

def ask(command, *arguments, status=(0,)):
    run = subprocess.run([collector, command, *arguments, "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    what = " ".join((command,) + arguments)
    assert run.returncode in status, (what, run.returncode, run.stderr)
    answer = json.loads(run.stdout)
    assert list(answer)[:2] == ["command", "schema"], (what, list(answer)[:4])
    assert answer["command"] == command and answer["schema"] == 1, what
    tried = []
    for form in commands[command]["anyOf"]:
        name = form["$ref"].rsplit("/", 1)[1]
        errors = list(jsonschema.Draft202012Validator(form | {"components": schema["components"]}).iter_errors(answer))
        if not errors:
            asked.add(name)
            break
        tried.append(errors)
    else:
        sys.exit(f"{what}: " + "; ".join(f"{e.json_path}: {e.message[:200]}" for errors in tried for e in errors))
    return answer

for name, part in parts.items():
    jsonschema.Draft202012Validator.check_schema(part)
for command in "report", "top", "leaks", "temporary", "timeline", "tree", "histogram", "ledger":
    for file in "old.heapcast", "new.heapcast", "sampled.heapcast":
        answer = ask(command, file, status=(0, 1) if command == "ledger" else (0,))
        assert answer["process"]["executable"].startswith("/"), command
ask("top", "--by", "backtrace", "--value", "peak", "old.heapcast")
ask("top", "--by", "function", "--at", "50%", "old.heapcast")
ask("leaks", "--by", "function", "old.heapcast")
ask("leaks", "--suppress", "none", "old.heapcast")
ask("timeline", "--by", "site", "old.heapcast")
ask("diff", "--base", "old.heapcast", "sampled.heapcast")
ask("maps", "new.heapcast")
rows = ask("sql", "old.heapcast", "select size, 'a' as text, null as unknown, 1.5 as part from allocations limit 3; select 1 as one")["answers"]
assert [len(r) for r in rows] == [3, 1] and rows[1] == [{"one": 1}], rows
assert ask("sql", "old.heapcast", "select 1 where 0")["answers"] == [[]]
assert len(ask("list", "--data", data)["streams"]) == 1
subprocess.run([collector, "tag", "--data", data, "site=berlin", "host=*"], check=True, stdout=subprocess.DEVNULL)
assert ask("tag", "--list", "--data", data)["rules"] == [{"number": 1, "tags": "site=berlin", "select": "host=*"}]
assert "site=berlin" in ask("list", "--data", data, "--select", "tag:site")["streams"][0]["tags"]

ask("analyze", "old.heapcast")
ask("analyze", "some.collapsed")
ask("analyze")
ask("analyze", "--format", "memtracer", "old.heapcast")
ask("analyze", "--format", "memtracer", "--stack-traces", "old.heapcast")
ask("strip", "-o", "stripped.heapcast", "--threshold", "1ms", "old.heapcast")
ask("pack", "-o", "packed.heapcast", "old.heapcast")
ask("import", "--data", "imported", "old.heapcast", "some.collapsed")
ask("import", "--output", "made.heapcast", "some.collapsed")
ask("extract", "--list", "new.heapcast", status=(0, 1))
ask("symbols", "list", "--data", data)
ask("symbols", "missing", "--data", data, status=(0, 1))
ask("snapshot", "list", "--data", data)

# No command has --json without a schema, but those that answer with files.
helped = lambda *what: subprocess.run([collector, "help", *what], check=True, capture_output=True, text=True).stdout
known = re.findall(r"^  (\w+)  ", helped().partition("Commands:")[2].partition("\n\n")[0], re.M)
assert {"list", "top", "gather"} < set(known), known
assert {c for c in known if "--json " in helped(c)} - set(commands) == {"export", "flamegraph"}, known

# What needs a fleet has its own tests: snapshot.sh, ctl.sh, fleet-compare.sh, fleet-top.sh.
of_fleets = {"answer_fleet_comparison", "answer_fleet_top", "answer_fleet_snapshot", "answer_snapshot_diff", "answer_snapshot_shown", "answer_orders"}
answers = {form["$ref"].rsplit("/", 1)[1] for forms in commands.values() for form in forms["anyOf"]}
assert answers - asked == of_fleets, sorted((answers - asked) ^ of_fleets)

# A number whose name says its unit has that unit, and one unit has one name.
ends = {"_ns": ("ns", "ns since the epoch"), "_bytes": ("bytes",), "_blocks": ("blocks",)}
for name, part in parts.items():
    for key, member in part["properties"].items():
        for end, units in ends.items():
            if key.endswith(end) and member.get("type") in ("integer", "number"):
                assert member.get("x-unit") in units, f"{name}.{key} is in {member.get('x-unit')}"
print(f"{len(asked)} kinds of answers")
PYTHON
python3 check.py "$COLLECTOR" "$T/data"

# A command whose answer is a file says so.
for command in flamegraph "export --format collapsed"; do
	# shellcheck disable=SC2086
	assert_status 2 "$COLLECTOR" $command --json old.heapcast >refused.out 2>refused.err
	assert_contains "$command --json" refused.err "it answers with a file, not with JSON"
	HEAPCAST_JSON=1 "$COLLECTOR" $command --force -o out.file old.heapcast >refused.out
done

"$ROOT/docs/json.update" --check "$COLLECTOR"
