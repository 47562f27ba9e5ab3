"""What all parts share: where things are, processes, what may not happen.

A sanitizer's report goes to a file of its own, which is looked for again and again. The first thing that is not as it should be ends it all.
"""
import collections, glob, hashlib, os, random, shutil, subprocess, sys, threading, time, traceback

from wire import Mutator, Schema

T, BUILD, SEED, SECONDS = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
PLAYERS = sys.argv[5] if len(sys.argv) > 5 else "."
ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../..")
AGENT, COLLECTOR, PROGRAMS = BUILD + "/bin/agent", BUILD + "/bin/collector", BUILD + "/tests/e2e-"
PATIENCE = 120  # seconds for anything: a busy machine, and the sanitizers
EPOCH = 600     # so long a collector lives
BEGUN = time.monotonic()
PLAIN, KEYED, DIALLED, HTTP_PORT = 43600, 43601, 43602, 8190
KEY = hashlib.sha256(b"a key of mutated sessions").digest()
DISCOVERY = ("127.255.255.255", 43513)

mutator = Mutator(Schema(ROOT + "/proto/heapcast.proto"))
failure = []
over = threading.Event() # of an epoch, or because something went wrong
counts = collections.Counter()
last = collections.defaultdict(lambda: collections.deque(maxlen=200)) # what was said, for whoever looks for the reason
ENVIRONMENT = dict(os.environ, HEAPCAST_CONFIG="")
ENVIRONMENT.pop("LD_PRELOAD", None)


def remember(what, data):
    last[what.split()[0]].append((time.time(), what, data))


def fail(*why):
    if not failure:
        failure.append(" ".join(str(w) for w in why))
    over.set()
    raise SystemExit(1)


def need(ok, *why):
    if not ok:
        fail(*why)


def rng(*what):
    return random.Random("/".join([SEED] + [str(w) for w in what]))


def environment(name):
    """A report of a sanitizer goes to a file of its own; what is set free is not kept long, so that memory can be watched."""
    log = "log_path=%s/report.%s:" % (T, name)
    return dict(ENVIRONMENT, ASAN_OPTIONS=log + "exitcode=88:quarantine_size_mb=8:malloc_context_size=12:handle_abort=1",
                UBSAN_OPTIONS=log + "print_stacktrace=1", TSAN_OPTIONS=log + "exitcode=88", LSAN_OPTIONS="exitcode=88")


def start(name, *argv, **more):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=open("%s/%s.out" % (T, name), "a"), stderr=open("%s/%s.err" % (T, name), "a"),
                            cwd=T, env=environment(name), **more)


def said(name):
    return "".join(open("%s/%s.%s" % (T, name, end), errors="replace").read() for end in ("out", "err"))


def wait_for(what, done, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not done():
        need(time.monotonic() < end, "waited", seconds, "s for", what)
        if failure:
            raise SystemExit(1)
        time.sleep(0.05)


def end_of(process, name, status=0, seconds=PATIENCE):
    try:
        got = process.wait(seconds)
    except subprocess.TimeoutExpired:
        if shutil.which("gdb"): # for whoever looks for the reason
            with open("%s/%s.err" % (T, name), "a") as f:
                subprocess.run(["gdb", "-batch", "-ex", "thread apply all bt 20", "-p", str(process.pid)], stdout=f, stderr=f, timeout=PATIENCE)
        fail(name, "did not end within", seconds, "s")
    reports()
    need(status is None or got == status, name, "ended with", got, "\n" + said(name)[-2000:])
    return got


def reports():
    for path in glob.glob(T + "/report.*"):
        fail("a sanitizer says:\n" + open(path, errors="replace").read()[:6000])


def question(name, *argv, statuses=(0, 1, 3), seconds=PATIENCE):
    try:
        p = subprocess.run([COLLECTOR, *argv], capture_output=True, timeout=seconds, cwd=T, env=environment(name))
    except subprocess.TimeoutExpired:
        fail("no answer within", seconds, "s:", *argv)
    reports()
    need(p.returncode in statuses, "status", p.returncode, "of", argv, p.stderr[-2000:].decode(errors="replace"))
    return p


def worker(name, r, pause, play):
    """Plays until it is over."""
    try:
        while not over.is_set():
            try:
                play(r)
            except OSError: # nobody there, or not any more
                counts["not connected: " + name] += 1
                time.sleep(0.1)
            over.wait(pause)
    except SystemExit:
        pass
    except BaseException:
        if not failure:
            failure.append("%s of the test itself:\n%s" % (name, traceback.format_exc()))
        over.set()


def worker_once(play):
    try:
        play()
    except (OSError, SystemExit):
        pass
    except BaseException:
        if not failure:
            failure.append("of the test itself:\n" + traceback.format_exc())
        over.set()
