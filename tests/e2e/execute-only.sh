#!/bin/bash
# A program and a library whose code may be executed and not read (PF_R is missing in their segments, as with lld's
# --execute-only). They run, and stacks through them are whole, by their tables alone. (Not every processor keeps to it;
# unit.unwind.unreadable shows that nobody reads such code.)
. "$(dirname "$0")/lib.sh"
need python3
python3 - "$TARGETS/dlopener" "$TARGETS/plugin1.so" <<'END'
import os, struct, sys
for path in sys.argv[1:]:
    data = bytearray(open(path, "rb").read())
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    at, = struct.unpack_from(order + ("Q" if wide else "I"), data, 32 if wide else 28)
    size, count = struct.unpack_from(order + "HH", data, 54 if wide else 42)
    changed = 0
    for i in range(count):
        kind, = struct.unpack_from(order + "I", data, at + i * size)
        flags, = struct.unpack_from(order + "I", data, at + i * size + (4 if wide else 24))
        if kind == 1 and flags == 5 and i:
            struct.pack_into(order + "I", data, at + i * size + (4 if wide else 24), 1)
            changed += 1
    new = os.path.basename(path)
    open(new, "wb").write(data)
    os.chmod(new, 0o755)
    if changed != 1:
        sys.exit(77)
END

"$AGENT" run --quiet --output only.heapcast -- ./dlopener 10 ./plugin1.so >said
"$COLLECTOR" ledger --json only.heapcast >ledger.json
assert_contains "the ledger" ledger.json '"lost":0,' '"orphan_frees":0,'
"$COLLECTOR" export --format json --with-stacks only.heapcast >only.json
python3 - <<'END' >&3
import json
chains = [[f.get("function", f["name"]) for f in json.loads(line)["backtrace"]] for line in open("only.json")]
mine = [c for c in chains if c[0] == "plugin_work"]
assert len(mine) == 30, len(mine)
assert all(c[1] == "main" and c[-1] == "_start" for c in mine), mine[0]
print(len(mine), "whole chains")
END
