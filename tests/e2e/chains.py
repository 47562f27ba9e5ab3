"""Holds a recording against the truth that its program has told (tests/targets/chains/chain.h).

    chains.py [--but REGEX] [--start CHAIN] TRUTH EXPORT OWN...
                                                    EXPORT: collector export --format json --with-stacks, OWN: the program's files, its
                                                    plugins included, REGEX: chains that the truth need not have,
                                                    CHAIN: what calls main, where that is not _start;*

Prints what differs; exit status 1 if anything does.
"""
import collections
import json
import re
import sys


def chain_of(backtrace, own):
    """Outermost first, without parameters; frames of libraries in a row are one star."""
    chain = []
    for frame in reversed(backtrace):
        if frame.get("library") in own:
            chain.append(re.sub(r"\(.*\)$", "", frame.get("function") or frame["address_s"]))
        elif not chain or chain[-1] != "*":
            chain.append("*")
    return ";".join(chain)


def complete(chain):
    """Whether a function of the program itself asked for the block."""
    return not chain.endswith("*") and chain != "_start"


def read_truth(path, start):
    truth = {"site": {}, "gone": {}}
    for line in open(path):
        kind, name, count, size, chain = line.split()
        chain = re.sub(r"^_start;\*", start, chain)
        if chain in truth[kind]:
            sys.exit("the truth names %s twice" % chain)
        truth[kind][chain] = (name, int(count), None if size == "-" else int(size))
    return truth


def read_export(path, own):
    found = {"site": collections.defaultdict(lambda: [0, 0]), "gone": collections.defaultdict(lambda: [0, 0])}

    def add(kind, backtrace, size):
        row = found[kind][chain_of(backtrace, own)]
        row[0] += 1
        row[1] += size

    for line in open(path):
        block = json.loads(line)
        add("site", block["backtrace"], block["size"])
        if "backtrace" in block.get("deallocation", {}):
            add("gone", block["deallocation"]["backtrace"], block["size"])
    return found


def differences(truth, found, but):
    for kind in truth:
        for chain, (name, count, size) in truth[kind].items():
            got = found[kind].get(chain, [0, 0])
            if got[0] != count or (size is not None and got[1] != size):
                yield "%s %s: %s blocks, %s bytes expected; %s, %s on record: %s" % (
                    kind, name, count, size, got[0], got[1], chain)
        for chain, got in sorted(found[kind].items()):
            if kind == "site" and complete(chain) and chain not in truth[kind] and not re.search(but, chain):
                yield "%s: %s blocks, %s bytes that the program does not know of: %s" % (kind, got[0], got[1], chain)


def main():
    arguments, options = sys.argv[1:], {"--but": "(?!)", "--start": "_start;*"}
    while arguments[0] in options:
        options[arguments[0]] = arguments[1]
        del arguments[:2]
    truth = read_truth(arguments[0], options["--start"])
    if not truth["site"]:
        sys.exit("%s tells no truth" % arguments[0])
    wrong = list(differences(truth, read_export(arguments[1], arguments[2:]), options["--but"]))
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
