"""Sessions between agents and collectors, recorded and then played wrong (lib-mutated.sh is who calls this, and says what for).

run.py FOLDER BUILD SEED SECONDS [PLAYERS]

PLAYERS: only those whose name matches this, for whoever looks for a reason. FOLDER is empty and private; it runs in a network namespace of
its own. Prints what was done; ends with 1 and a reason at the first thing that is not as it should be. The seed decides what is said; when
it is said depends on the machine.
"""
import glob, os, re, shutil, socket, threading, time, traceback

from ask_http import ask_http, http_paths
from beside import COMMANDS, Beside, Memory, account, ask_command, streams_in
from play import Bait, Tunnel, play_agent, play_bytes, play_collector, say_datagram
from record import SCENES, Eavesdropper, record
from world import *


def gather(name, data, port, *options):
    return start(name, COLLECTOR, "gather", "--data", data, "--interface", "lo", "--listen", "127.0.0.1:%d" % port, "--memory-limit", "64M",
                 "--keep-for", "3m", *options)


def epoch(number, seconds, sessions, secret_raw, beside, eavesdropper):
    over.clear()
    plain, keyed = "%s/plain.%d" % (T, number), "%s/keyed.%d" % (T, number)
    logs = "gather-plain-%d" % number, "gather-keyed-%d" % number
    key = ["--key", T + "/key"]
    collectors = {logs[0]: gather(logs[0], plain, PLAIN, "--http", "127.0.0.1:%d" % HTTP_PORT, "--fetch-symbols"),
                  logs[1]: gather(logs[1], keyed, KEYED, *key)}
    wait_for("the collectors to listen", lambda: all("listening on" in said(n) or "Listening on" in said(n) for n in logs) or
             any(p.poll() is not None for p in collectors.values()))
    wait_for("HTTP", lambda: socket.socket().connect_ex(("127.0.0.1", HTTP_PORT)) == 0)
    paths = http_paths()
    memory = Memory({name: p.pid for name, p in collectors.items()})
    # One more agent, which takes orders from anybody here: what it records is whatever it was told to.
    ordered_end = "%s/ordered-%d.end" % (T, number)
    ordered = start("ordered-%d" % number, AGENT, "run", "--listen", "127.0.0.1:8160", "--announce", "--interface", "lo", "--policy", "count", "--linger", "3s",
                    "--send-symbols", "yes", "--gather-maps", "--", PROGRAMS + "rolling", "300", "300", ordered_end)
    # And one that dials, to nobody but spoilt collectors.
    dialled = socket.create_server(("127.0.0.1", DIALLED), backlog=16)
    dialled.settimeout(2)
    dialler = start("dialler-%d" % number, AGENT, "run", "--collector", "127.0.0.1:%d" % DIALLED, "--linger", "3s", "--output", T + "/dialler.heapcast", "--",
                    PROGRAMS + "rolling", "300", "300", ordered_end)
    for name, process in ("ordered", ordered), ("dialler", dialler):
        memory.seen[name] = []
        memory.pids[name] = process.pid
    true_streams, true_keyed = [], []
    bait = Bait(rng(number, "bait"), sessions)
    here = lambda: streams_in(plain)
    plays = {
        "agent 1": (0, lambda r: play_agent(r, sessions, lambda: PLAIN)),
        "agent 2": (0, lambda r: play_agent(r, sessions, lambda: PLAIN)),
        "agent 3": (0, lambda r: play_agent(r, sessions, lambda: PLAIN)),
        "agent 4": (0.05, lambda r: play_agent(r, sessions, lambda: PLAIN)),
        "agent with a true one's stream": (0.3, lambda r: true_streams and play_agent(r, sessions, lambda: PLAIN, true_streams[0])),
        "agent with the key": (0.1, lambda r: play_agent(r, sessions, lambda: Tunnel(KEYED))),
        "collector to one": (0.1, lambda r: true_streams and play_collector(r, sessions, lambda: 8150)),
        "collector to one that takes orders": (0.05, lambda r: play_collector(r, sessions, lambda: 8160)),
        "collector that is dialled": (0.05, lambda r: play_collector(r, sessions, lambda: dialled.accept()[0])),
        "collector with the key": (0.2, lambda r: true_keyed and play_collector(r, sessions, lambda: Tunnel(8151))),
        "bytes to a collector": (0.2, lambda r: play_bytes(r, secret_raw, KEYED, 1)),
        "bytes to an agent": (0.2, lambda r: true_keyed and play_bytes(r, secret_raw, 8151, 1)),
        "datagrams": (0.02, lambda r: say_datagram(r, eavesdropper, bait)),
        "HTTP 1": (0.02, lambda r: ask_http(r, paths, here())),
        "HTTP 2": (0.1, lambda r: ask_http(r, paths, here())),
        "commands": (0.3, lambda r: ask_command(r, r.choice((plain, plain, keyed)))),
    }
    threads = [threading.Thread(target=worker, args=(name, rng(number, name), pause, play), daemon=True) for name, (pause, play) in plays.items() if re.search(PLAYERS, name)]
    for t in threads:
        t.start()
    end, rounds = time.monotonic() + seconds, 0
    while rounds == 0 or time.monotonic() < end:
        both = [threading.Thread(target=worker_once, args=(lambda a=a: beside.run(*a),), daemon=True) for a in (
            ("true-plain", 8150, plain, logs[0], [], true_streams), ("true-keyed", 8151, keyed, logs[1], key, true_keyed))]
        for t in both:
            t.start()
        for t in both:
            while t.is_alive():
                t.join(1)
                for name, p in collectors.items():
                    if p.poll() is not None and not failure:
                        reports()
                        failure.append("%s ended with %s\n%s" % (name, p.returncode, said(name)[-3000:]))
                if failure:
                    raise SystemExit(1)
                reports()
        if failure:
            raise SystemExit(1)
        listed = http_paths()
        need(listed == paths, "the table of routes has changed")
        rounds += 1
    over.set()
    for t in threads:
        t.join(PATIENCE)
        need(not t.is_alive(), "a player hangs")
    open(ordered_end, "w").close()
    dialled.close()
    end_of(ordered, "ordered-%d" % number)
    end_of(dialler, "dialler-%d" % number)
    ledger, _ = account(None, T + "/dialler.heapcast")
    need(ledger["adds_up"], "the file beside spoilt collectors:", ledger)
    os.remove(T + "/dialler.heapcast")
    memory.join()
    print("%d s in all; %s" % (time.monotonic() - BEGUN, ", ".join("%d %s" % (n, what) for what, n in sorted(counts.items()))), flush=True)
    memory.check()
    for name, p in collectors.items():
        p.terminate()
        end_of(p, name)
    # And all of it once more, by one that begins.
    over.clear()
    r = rng(number, "afterwards")
    again = start("gather-again-%d" % number, COLLECTOR, "gather", "--data", plain, "--no-discovery", "--listen", "off", "--for", "2s", "127.0.0.1:1")
    streams = streams_in(plain)
    for stream in r.sample(streams, min(len(streams), 5 if seconds < 60 else 40)):
        shutil.rmtree("%s/streams/%s/columns" % (plain, stream), ignore_errors=True)
        for command in r.sample(COMMANDS[:-1], 3):
            question("command", *command, "--data", plain, stream, statuses=(0, 1, 2, 3)) # 2: what came at first can't be read
    end_of(again, "gather-again-%d" % number)
    kept = len(streams)
    for folder in (plain, keyed):
        shutil.rmtree(folder)
    for name in (*logs, "gather-again-%d" % number, "ordered-%d" % number, "dialler-%d" % number):
        for path in glob.glob("%s/%s.*" % (T, name)):
            os.remove(path)
    return kept


def main():
    with open(os.open(T + "/key", os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(KEY.hex() + "\n")
    eavesdropper = Eavesdropper()
    recorded = {}
    threads = [threading.Thread(target=worker_once, args=(lambda a=(i, name, *scene): recorded.__setitem__(a[1], record(*a)),), daemon=True)
               for i, (name, scene) in enumerate(SCENES.items())]
    for i in range(0, len(threads), 4):
        for t in threads[i:i + 4]:
            t.start()
        for t in threads[i:i + 4]:
            t.join()
    if failure:
        raise SystemExit(1)
    secret_raw = [c for c in recorded.pop("secret") if c[0] and c[1]]
    sessions = [s for s in (recorded[name] for name in SCENES if name in recorded) if s.connections]
    for s in sessions:
        print("%d s: recorded %s: %s" % (time.monotonic() - BEGUN, s.name, ", ".join("%d frames of the agent, %d of the collector" % (len(a), len(c)) for a, c in s.connections)))
    need(len(sessions) >= len(SCENES) - 2 and secret_raw, "only", [s.name for s in sessions], "could be recorded")
    need(len(next(s for s in sessions if s.name == "resumed").connections) > 1, "nothing was resumed")
    beside = Beside()
    begun, number = time.monotonic(), 0
    while number == 0 or time.monotonic() - begun < SECONDS:
        left = SECONDS - (time.monotonic() - begun)
        kept = epoch(number, min(EPOCH, max(left, 1)), sessions, secret_raw, beside, eavesdropper)
        print("  %d streams were left, and read again; %d s" % (kept, time.monotonic() - BEGUN), flush=True)
        number += 1
    for what in () if PLAYERS != "." else ("agents", "collectors", "datagrams", "JSON", "true programs, whole", "heard by agents", "heard by collectors"):
        need(counts[what] > 0, "there were no", what)


try:
    main()
except SystemExit:
    pass
except BaseException:
    failure.append(traceback.format_exc())
over.set()
if failure:
    kept = "%s/mutated-%s" % (BUILD, re.sub(r"\W", "_", SEED))
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(kept)
    for when, what, data in (one for row in list(last.values()) for one in list(row)):
        with open("%s/%.3f %s" % (kept, when, re.sub(r"[^\w ]", "_", what)[:100]), "wb") as f:
            f.write(data)
    for path in glob.glob(T + "/*.err") + glob.glob(T + "/*.out") + glob.glob(T + "/report.*"):
        shutil.copy(path, kept)
    print("FAILED (seed %s; what was said last is in %s): %s" % (SEED, kept, failure[0]), flush=True)
    os._exit(1)
os._exit(0)
