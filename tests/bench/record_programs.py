"""What tests/bench/record runs: programs that recorders are tuned for, and with --all others that are not friendly."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

SQL_EACH = """INSERT INTO reading(board, at, value) VALUES ('board-%(b)03d', %(n)d, %(n)d * 0.37);
SELECT board, max(value), count(*) FROM reading WHERE board = 'board-%(b)03d' AND at > %(n)d - 5000 GROUP BY board;
"""

SQL_OTHER_BEGIN = """CREATE TABLE board(id INTEGER PRIMARY KEY, name TEXT UNIQUE, place TEXT);
CREATE TABLE event(board INTEGER REFERENCES board(id), at INTEGER, kind TEXT, note TEXT);
CREATE INDEX event_kind ON event(kind, at);
CREATE INDEX event_board ON event(board, at) WHERE kind <> 'none';
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
	INSERT INTO board SELECT i, 'board-' || i, 'hall ' || i % 7 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
	INSERT INTO event SELECT i * 31 % 200 + 1, i, 'kind-' || i % 13, 'a note of event ' || hex(i * 77) FROM n;
"""
SQL_OTHER_EACH = """SELECT place, count(DISTINCT kind), group_concat(DISTINCT substr(note, 17, 4)) FROM event
	JOIN board ON board.id = board WHERE kind = 'kind-%(k)d' AND at > %(n)d %% 3000 GROUP BY place HAVING count(*) > 1;
SELECT name, json_group_array(json_object('at', at, 'note', upper(note))) FROM (SELECT name, at, note,
	row_number() OVER (PARTITION BY board ORDER BY at DESC) AS place FROM event JOIN board ON board.id = board
	WHERE board = %(b)d) WHERE place <= 5 GROUP BY name;
UPDATE event SET note = replace(note, 'event', 'moment %(n)d') WHERE board = %(b)d AND kind = 'kind-%(k)d';
"""

CXX = """#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
std::map<std::string, std::vector<int>> index_of(std::istream &in)
{
	std::map<std::string, std::vector<int>> found;
	std::regex word("([a-z]+)-([0-9]+)", std::regex::icase);
	for (std::string line; std::getline(in, line);)
		for (std::sregex_iterator i(line.begin(), line.end(), word), end; i != end; ++i)
			found[(*i)[1]].push_back(std::stoi((*i)[2]));
	return found;
}
int main()
{
	std::unordered_map<std::string, std::function<int(int)>> by_name{{"twice", [](int x) { return 2 * x; }}};
	auto all = std::make_shared<std::map<std::string, std::vector<int>>>(index_of(std::cin));
	for (auto &entry : *all)
		std::sort(entry.second.begin(), entry.second.end(), std::greater<>());
	std::cout << all->size() << by_name["twice"](21) << std::endl;
}
"""


class Program:
    """What is run.

    real: the goal of sampling holds for it
    raw: its stacks are too deep for heaptrack's second process
    make: what is to be called before; writes the files that the command names
    needs: a command that this takes, and where it is had
    """

    def __init__(self, name, what, command, stdin=None, env=None, real=True, raw=False, make=None, needs=None):
        self.name, self.what, self.command, self.stdin, self.env = name, what, command, stdin, env or {}
        self.real, self.raw, self.make, self.needs = real, raw, make, needs
        self.executable = os.path.realpath(shutil.which(command[0]) or command[0])

    def missing(self):
        """Why it can't be run; None: it can."""
        if not os.path.exists(self.executable):
            return "%s is not installed" % self.command[0]
        if self.needs and not shutil.which(self.needs[0]):
            return "%s is not installed (%s)" % self.needs
        return None


# --- Files that are made.


def make_sql(path, statements):
    with open(os.path.join(ROOT, "deploy/workload.sql")) as begin, open(path, "w") as out:
        out.write(begin.read().replace("300000", "30000"))
        for number in range(statements):
            out.write(SQL_EACH % {"b": number * 7 % 97, "n": number})


def make_other_sql(path, rounds):
    with open(path, "w") as out:
        out.write(SQL_OTHER_BEGIN)
        for number in range(rounds):
            out.write(SQL_OTHER_EACH % {"k": number * 5 % 13, "b": number * 7 % 200 + 1, "n": number})


def make_preprocessed(path, source):
    subprocess.run(["g++", "-std=c++17", "-E", source, "-o", path], check=True)


def make_work_preprocessed(path, folder):
    source = os.path.join(folder, "work.cc")
    with open(source, "w") as out:
        out.write(CXX)
    make_preprocessed(path, source)


def make_class(folder):
    subprocess.run(["javac", "-d", folder, os.path.join(HERE, "Work.java")], check=True)


# --- The programs. `part`: so many-th part of the work.


PYTHON_ENV = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def compiler():
    return subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()


def built(build, name, *arguments):
    return [os.path.join(build, "tests", name), *map(str, arguments)]


def friendly(build, folder, part):
    """What is run without --all."""

    def churn(depth):
        return Program("churn-%d" % depth, "a malloc or free each, stacks of %d frames" % depth,
                       built(build, "bench-churn", 4000000 // part, depth), real=False, raw=depth >= 40)

    def containers(threads):
        return Program("containers-%d" % threads, "C++ containers, strings, exceptions; %d threads" % threads,
                       built(build, "bench-containers", 600 // threads // part, threads))

    level = "-fsyntax-only" if part > 1 else "-O2"
    sql, cxx = os.path.join(folder, "work.sql"), os.path.join(folder, "work.ii")
    return [
        churn(5), churn(20), churn(60), containers(2), containers(8),
        Program("sqlite3", "a table and %d statements" % (30000 // part), ["/usr/bin/sqlite3", ":memory:"], stdin=sql,
                make=lambda: make_sql(sql, 15000 // part)),
        Program("python3", "objects, JSON, regular expressions",
                ["/usr/bin/python3", os.path.join(HERE, "work.py"), str(300 // part)], env=PYTHON_ENV),
        Program("lua5.4", "tables, closures, strings",
                ["/usr/bin/lua5.4", os.path.join(HERE, "work.lua"), str(240 // part)]),
        Program("cc1plus", "<regex>, <map>, <iostream> and others, %s" % level,
                [compiler(), "-quiet", "-fpreprocessed", level, cxx, "-o", os.devnull],
                make=lambda: make_work_preprocessed(cxx, folder)),
    ]


def unfriendly_loops(build, part):
    """Stacks that change at each event, or that are changed; threads."""

    def rise(depth, stacks, events):
        return Program("rise-%d-%d" % (depth, stacks), "all the way up and down between events, %d to %d frames%s, "
                       "%s stacks" % (depth - 4, depth, ", of which heaptrack keeps 64" if depth > 64 else "",
                                      format(stacks, ",")),
                       built(build, "bench-rise", events // part, depth, stacks), real=False)

    def deep(name, what, work, rounds, *threads):
        return Program(name, what, built(build, "bench-deep", work, rounds // part, *threads), real=False)

    return [
        rise(20, 15, 2000000), rise(20, 15000, 1000000), rise(60, 15, 800000), rise(60, 15000, 500000),
        rise(200, 15, 250000), rise(200, 15000, 200000),
        deep("deep-json", "a parser by recursive descent, a tree of maps and vectors", "json", 600),
        deep("deep-regex", "std::regex on lines", "regex", 120000),
        deep("deep-visit", "std::function, std::variant and shared_ptr, recursive", "visit", 1000),
        deep("maps-2", "std::map<string, vector>; 2 threads", "maps", 1500, 2),
        deep("containers-other", "C++: list, deque, set, multimap, priority_queue", "containers", 2000),
        Program("fibers-300", "another stack at each event (swapcontext), 300 fibers",
                built(build, "bench-fibers", 240000 // part, 300), real=False),
        Program("threads-64", "64 threads that free each other's blocks",
                built(build, "bench-threads", 64, 12000 // part, 64), real=False),
        Program("threads-short", "%s threads of 50 events each, 8 at once" % format(10000 // part, ","),
                built(build, "bench-threads", 10000 // part, 50, 8), real=False),
    ]


def unfriendly_programs(folder, part):
    """Real programs, with other work than in friendly()."""
    sql, cxx = os.path.join(folder, "other.sql"), os.path.join(folder, "templates.ii")
    return [
        Program("sqlite3-other", "indexes, joins, aggregates, windows, JSON", ["/usr/bin/sqlite3", ":memory:"],
                stdin=sql, make=lambda: make_other_sql(sql, 1500 // part)),
        Program("python3-other", "XML, syntax trees, decimals, generators",
                ["/usr/bin/python3", os.path.join(HERE, "other.py"), str(50 // part)], env=PYTHON_ENV),
        Program("lua5.4-other", "patterns, coroutines, closures, errors",
                ["/usr/bin/lua5.4", os.path.join(HERE, "other.lua"), str(2400 // part)]),
        Program("cc1plus-other", "templates, -O0",
                [compiler(), "-quiet", "-fpreprocessed", "-O0", cxx, "-o", os.devnull],
                make=lambda: make_preprocessed(cxx, os.path.join(HERE, "templates.cc"))),
        Program("node", "buffers, hashes, compression, scripts", ["node", os.path.join(HERE, "work.mjs"),
                str(100 // part)]),
        Program("java", "compression, buffers, loading and compiling of code; 2 threads",
                ["java", "-Xmx256m", "-cp", folder, "Work", str(300 // part)],
                make=lambda: make_class(folder), needs=("javac", "default-jdk-headless")),
    ]


def choose(build, folder, part, everything, names):
    """Those whose name begins with one of `names`, of the friendly ones (`everything`: of all). A name that is none of
    these is looked for in all."""
    few = friendly(build, folder, part)
    many = few + unfriendly_loops(build, part) + unfriendly_programs(folder, part)
    chosen, pool = [], many if everything else few
    for name in names:
        found = [p for p in pool if p.name.startswith(name)] or [p for p in many if p.name.startswith(name)]
        if not found:
            raise ValueError("no program begins with %s; there are: %s" % (name, ", ".join(p.name for p in many)))
        chosen += [p for p in found if p not in chosen]
    return chosen if names else pool
