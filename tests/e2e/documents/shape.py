"""Whether what a command printed has the shape of what a document shows.

Numbers with their units, times, ids, codes and absolute paths are the same as any other; so are bars, and how wide a table is.
Rows of one shape in a row count once. In a document, `...` stands for anything in a line, and alone for any lines.
"""
import re

UNITS = r"(?:[KMGT]i?B|B|%|ns|us|ms|s|min|h|d)"
STEPS = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"(?<![\w.])~?/[\w.+@-]+(?:/[\w.+@-]+)*/?"), "/path"),
    (re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{12,}\b"), "7"),
    (re.compile(r"\b\d+(?:\.\d+){3}\b"), "7"),
    (re.compile(r"\b0x[0-9a-f]+\b"), "7"),
    (re.compile(r"\b[A-Z2-7]{26}\b"), "7"),
    (re.compile(r"[\u2581-\u258f█]+"), "="),
    (re.compile(r"[-=─]{3,}"), "="),
    (re.compile(r"(?:\d+ (?:d|h|min|s)\b ?)+(?=[\s,;.)]|$)"), "7 "),
    (re.compile(r"(?<![\w.])[+-](?=\d)"), ""),
    (re.compile(r"(?<![A-Za-z\d.])\d(?:[\d,]*\d)?(?:\.\d+)?(?:[:T-]\d(?:[\d,.]*\d)?)*"), "7"),
    (re.compile(rf"7 ?{UNITS}\b|7 ?%"), "7"),
    (re.compile(r"\s+"), " "),
]


def shape(line):
    for pattern, to in STEPS:
        line = pattern.sub(to, line)
    return line.strip()


def shapes(lines, hosts, any_names):
    """Shapes of lines, without empty ones, those of equal rows once. Hosts: names that are any host's. With any_names, what follows
    the numbers of a row is one name."""
    found = []
    for line in lines:
        for host in hosts:
            line = re.sub(rf"(?<![\w/.-]){re.escape(host)}(?![\w/-])", "HOST", line)
        one = shape(line)
        if any_names:
            one = re.sub(r"^((?:7 ){2,}).+$", r"\1NAME", one)
        if one and (not found or found[-1] != one):
            found.append(one)
    return found


def fits(shown, line):
    return re.fullmatch(re.escape(shown).replace(r"\.\.\.", ".*"), line) is not None


def difference(shown, printed, hosts=(), part=False, any_names=False):
    """None, or what is shown and was not printed. With part, lines between those that are shown, and behind, are no fault."""
    if shown and shown[0][:1] in ("{", "["):  # JSON, which is shown in several lines
        shown, printed = ["".join(map(str.strip, shown))], ["".join(map(str.strip, printed))]
    want, got = shapes(shown, hosts, any_names), shapes(printed, hosts, any_names)
    # reach[i]: whether the first i of what was printed can be what has been shown so far
    reach = [True] + [part] * len(got)
    for line in want:
        if line == "...":
            first = reach.index(True)
            reach = [i >= first for i in range(len(got) + 1)]
            continue
        after = [False] * (len(got) + 1)
        for i, one in enumerate(got):
            if (reach[i] or (i and after[i])) and fits(line, one):
                after[i + 1] = True
        if not any(after):
            return f'no line like "{line}"'
        if part:
            first = after.index(True)
            after = [i >= first for i in range(len(got) + 1)]
        reach = after
    if reach[len(got)]:
        return None
    last = max(i for i, there in enumerate(reach) if there)
    return f'printed, and not shown: "{got[last]}"'
