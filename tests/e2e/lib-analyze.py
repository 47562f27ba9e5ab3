#!/usr/bin/env python3
"""What `collector analyze` must find, said a second time: after the rules of the scripts that ClickHouse has for such profiles,
but for names: they are folded, and rules see them without parameters.

    make N FILE [shuffled]   a profile of N stacks as large servers have it
    narrow FILE              fails where a line is wider than 80 columns (characters)
    odd FILE                 lines that are hard to read, and names that are hard to shorten
    check FILE JSON          FILE, read as those scripts do, three times, against what `collector analyze --json FILE` wrote; prints the
                             seconds that each of the three took
"""
import functools, json, random, re, sys, time
from collections import defaultdict

BEGINS = """prof_ imalloc ialloc irallocx arena_ tcache_ large_malloc large_palloc chunk_alloc huge_malloc huge_palloc je_malloc
je_calloc je_realloc je_rallocx je_mallocx je_posix_memalign je_aligned_alloc malloc_default calloc""".split()
HOLDS = ("operator new", "__libcpp_operator_new", "__libc_malloc", "__libc_calloc", "_int_malloc", "posix_memalign",
         "aligned_alloc", "do_rallocx", "do_mallocx", "mi_malloc", "mi_calloc", "__cxx_global_var_init",
         "__cxa_thread_atexit_impl", "DB::Memory<", "Memory::newImpl", "Allocator<false", "Allocator<true", "allocNoTrack",
         "PODArrayBase::realloc", "PODArrayBase::alloc", "CRYPTO_malloc", "std::__detail::_Hash_node", "std::_Rb_tree",
         "std::vector<", "std::string::", "std::__1::", "DB::PODArrayBase")
LEADS = ("0000", "_start", "__libc_start", "__GI___clone", "start_thread", "clone3", "ThreadPoolImpl", "ThreadFromGlobalPool",
         "std::__1::__function", "std::__1::__invoke", "decltype", "void std::__1::__function",
         "std::__1::__packaged_task_function", "DB::ThreadPool", "DB::GlobalThreadPool", "DB::threadFunction", "BaseDaemon",
         "SignalListener", "Poco::ThreadImpl::runnableEntry", "Poco::PooledThread::run", "main", "DB::Server::run",
         "Poco::Util::Application::run")
MB = 1024 * 1024


def is_noise(frame):
    frame = bare(frame)
    return any(frame.startswith(p) for p in BEGINS) or any(s in frame for s in HOLDS)


def leads(frame):
    frame = bare(frame)
    return any(frame.startswith(p) for p in LEADS) or frame.startswith("(")


OPENS, CLOSES = "<([{", ">)]}"
SIGNS = re.compile(r"operator(?:<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|\(\)|\[\]|<|>| new\[\]| delete\[\])")


def operator_at(name, i):
    """Where the operator's name that begins there ends; i: none begins."""
    m = SIGNS.match(name, i) if not i or not (name[i - 1].isalnum() and name[i - 1].isascii() or name[i - 1] in "_$" or name[i - 1] > "\x7f") else None
    return m.end() if m else i


def closed_at(name, i):
    """Behind the bracket that closes the one at i; None: nothing does."""
    stack = []
    while i < len(name):
        if (end := operator_at(name, i)) > i:
            i = end
            continue
        if name[i] in OPENS:
            if len(stack) == 64:
                return None
            stack.append(name[i])
        elif name[i] in CLOSES and not (name[i] == ">" and i and name[i - 1] == "-"):
            if not stack or OPENS.index(stack.pop()) != CLOSES.index(name[i]):
                return None
            if not stack:
                return i + 1
        i += 1
    return None


def begin_of(name):
    """Behind the type of the result."""
    i = start = 0
    while i < len(name):
        end = operator_at(name, i)
        if end > i:
            i = end + (name[end:end + 1] == " ")
        elif name.startswith("operator ", i) or (name[i] == "(" and not name.startswith("(anonymous", i)):
            return start
        elif name[i] in "<({[" and (end := closed_at(name, i)):
            i = end
        else:
            i += 1
            if name[i - 1] == " ":
                start = i
    return 0


def folded(name, i, to, kept):
    out = ""
    while i < to:
        if (end := operator_at(name, i)) > i:
            out, i = out + name[i:end], end
            if name[i:i + 2] == " <":
                out, i = out + " ", i + 1
            continue
        end = closed_at(name, i) if name[i] in "<({[" else None
        if not end or end > to:
            out, i = out + name[i], i + 1
        elif name[i] == "<":
            out, i = out + ("<...>" if len(name[i:end].encode()) > kept else name[i:end]), end
        elif name.startswith("(anonymous namespace)", i):
            out, i = out + name[i:end], end
        elif name[i] == "(":
            i = end
            while i < to and (m := re.compile(" const| &").match(name, i)):
                i = m.end()
        elif name[i] == "{":
            out, i = out + "{" + folded(name, i + 1, end - 1, kept) + "}", end
        else:
            i = end
    return out


@functools.cache
def bare(frame, kept=1 << 30):
    """Without parameters, as rules see it (names of Rust do not occur in these profiles)."""
    if frame[:1] == "[" or not re.search("[<(]", frame):
        s = frame
    else:
        s = folded(frame, 0 if frame[:1] in "<[" else begin_of(frame), len(frame), kept)
    return s.rstrip(" ") or frame


def label(frame):
    return bare(frame, 40)[:120]


def read(path):
    traces = []
    for line in open(path, encoding="utf-8").read().splitlines():
        parts = line.strip().rsplit(" ", 1)
        if len(parts) == 2:
            try:
                traces.append((int(parts[1]), parts[0]))
            except ValueError:
                pass
    return traces


def split(stack):
    return [f for f in stack.split(";") if f]


def summary(path):
    traces = read(path)
    total = sum(v for v, _ in traces)
    traces.sort(reverse=True)
    top = []
    for v, stack in traces[:25]:
        frames = split(stack)
        tail = ([f for f in frames if not is_noise(f)] or frames)[-4:]
        top.append((v, " <- ".join(label(f) for f in reversed(tail))[:120], [(f, is_noise(f)) for f in reversed(frames)]))
    return total, len(traces), top


def heaviest(sums):
    return sorted(sums.items(), key=lambda x: -x[1])[:25]


def outermost(path):
    sums = defaultdict(int)
    for v, stack in read(path):
        frames = split(stack)
        asked = next((f for f in reversed(frames) if not is_noise(f)), frames[0] if frames else "(unknown)")
        sums[label(next((f for f in frames if not leads(f)), asked))] += v
    return heaviest(sums)


def innermost(path):
    leaf, caller = defaultdict(int), defaultdict(int)
    for v, stack in read(path):
        frames = split(stack)
        meaningful = []
        for f in reversed(frames):
            if not is_noise(f):
                meaningful.append(f)
                if len(meaningful) == 2:
                    break
        leaf[label(meaningful[0] if meaningful else frames[-1] if frames else "(unknown)")] += v
        if len(meaningful) == 2:
            caller[label(meaningful[1])] += v
    return heaviest(leaf), heaviest(caller)


def same(what, ours, theirs):
    if ours != theirs:
        first = next((p for p in zip(ours, theirs) if p[0] != p[1]), (len(ours), len(theirs)))
        sys.exit(f"{what} differs: collector says {first[0]}, the rules {first[1]}")


def check(path, ours):
    ours = json.load(open(ours))
    seconds = []
    for question in (summary, outermost, innermost):
        begun = time.monotonic()
        answer = question(path)
        seconds.append(time.monotonic() - begun)
        if question is summary:
            total, count, top = answer
            same("total", [ours["total"]], [total])
            same("stack traces", [ours["stack_traces"]], [count])
            same("top", [(t["value"], t["brief"], [(f["name"], f["noise"]) for f in t["frames"]]) for t in ours["top"]], top)
        elif question is outermost:
            same("outermost", functions(ours, "outermost"), answer)
        else:
            same("innermost", functions(ours, "innermost"), answer[0])
            same("callers", functions(ours, "callers"), answer[1])
    assert abs(sum(s["percent"] for s in ours["subsystems"]) - 100) < 0.01 or not total
    assert sum(s["value"] for s in ours["subsystems"]) == total
    assert sum(s["traces"] for s in ours["subsystems"]) == count
    print(*(f"{s:.3f}" for s in seconds))


def functions(ours, key):
    return [(f["function"], f["value"]) for f in ours[key]["functions"]]


def make(n, path, shuffled):
    r = random.Random(7)
    words = """Merge Tree Part Query Pool Reader Hash Dictionary Aggregator Column Block Storage Cache Buffer Session Pipeline Index
    Sorting Join Log Thread Task File Segment Backup Arena Mark""".split()
    long = "<std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>, DB::HashTable<unsigned long>>"

    def name(i):
        scope = r.choice(["DB::", "DB::", "std::__1::", "Poco::", "app::(anonymous namespace)::", ""])
        arguments = r.choice(["", "int", "unsigned long, char const*", "DB::Block const&"])
        return f"{scope}{''.join(r.sample(words, 2))}{r.choice(['', '', '<unsigned long>', long])}::{r.choice(words).lower()}{i}({arguments})"

    middle = [name(i) for i in range(6000)]
    outer = [["clone3", "start_thread", "ThreadPoolImpl<std::thread>::worker()"], ["_start", "__libc_start_main", "main"],
             ["clone3", "start_thread", "Poco::ThreadImpl::runnableEntry(void*)"]]
    inner = [["operator new(unsigned long)", "je_malloc_default", "imalloc", "prof_alloc_prep"],
             ["Allocator<false, false>::alloc(unsigned long)", "je_malloc"],
             ["DB::PODArrayBase<8ul>::realloc", "do_rallocx", "je_rallocx_default"],
             ["std::vector<int>::reserve", "operator new(unsigned long)"], []]
    trunks = [r.choices(middle, k=r.randint(3, 10)) for _ in range(3000)]
    lines = [";".join(r.choice(outer) + r.choice(trunks) + r.choices(middle, k=r.randint(2, 8)) + r.choice(inner)) for _ in range(n)]
    if not shuffled:
        lines.sort()
    with open(path, "w") as out:
        for line in lines:
            out.write(f"{line} {int(r.paretovariate(0.7) * 64) // 16 * 16}\n")


def odd(path):
    r = random.Random(3)
    frames = ["main", "mainly", "(x)", "a b", "{anon}::f(int)", "(anonymous namespace)::g(int)::h", "A<" + "x" * 39 + ">::f",
              "A<" + "\u00e9" * 40 + ">::f(q)", "B<<" + "y" * 45 + ">>", "<" * 50, "x<y", "operator new[](unsigned long)",
              "foo<bar<baz" + "z" * 60 + ">>::m(a<b>)", "std::vector<int>", "\u00fcn\u00efcode" * 20, "calloc", "e" * 200, "0000beef",
              "decltype(foo)", "f(a)(b)", ""]
    values = ["1", "5", "5", "5", "1_000", "+7", "007", "12.5", "abc", "", "_1", "1_", "1__0", " 9", "9 ", "-0", "0", "0x10"]
    lines = []
    for _ in range(3000):
        stack = ";".join(r.choice(frames) for _ in range(r.randint(0, 9)))
        value = r.choice(values + [str(r.randint(0, 10**7))] * 8)
        lines.append(r.choice(["", "", "  ", "\t"]) + stack + r.choice([" ", " ", "  ", "\t", " \t"]) + value + r.choice(["", "", "\r", " "]))
    lines += ["nospace", "; 17", " 5", "", "x 99999999", "y 99999999", "x;z 99999999", "x y 99999999"]
    with open(path, "w", newline="", encoding="utf-8") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), sys.argv[3], len(sys.argv) > 4)
    elif sys.argv[1] == "odd":
        odd(sys.argv[2])
    elif sys.argv[1] == "narrow":
        for line in open(sys.argv[2], encoding="utf-8"):
            if len(line.rstrip("\n")) > 80 and not line.startswith("  collector analyze "):
                sys.exit(f"{sys.argv[2]}: wider than 80 columns: {line}")
    else:
        check(sys.argv[2], sys.argv[3])
