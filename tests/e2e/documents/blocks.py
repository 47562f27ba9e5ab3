"""The blocks of a document: what is set in by four blanks, or stands between fences.

In front of a block may stand a comment, on lines of its own:

    <!-- not run: REASON -->      commands that a test can't run; their names and options are checked
    <!-- no command: WHAT -->     a drawing, a formula, an answer that is shown alone
    <!-- file: NAME -->           the block is written to this file, for the commands behind it
    <!-- ends with 1: REASON -->  one of its commands ends with this exit status
    <!-- short: REASON -->        of what it prints, a part is shown: lines that are left out are no fault
    <!-- any names: REASON -->    what follows the numbers of a row (a call site) may differ

A block of which a line has a prompt (`$ `, `desk$ `, `board$ `) is a session: each prompt is a shell of its own, and what
follows a command is what it prints. One that begins with `select` or `with` is SQL. All others without a comment are commands,
a line each. A line that begins with # is a remark. A command goes on behind a backslash, or while a quote is open.
"""
import os
import re
from dataclasses import dataclass, field

COMMENT = re.compile(r"<!-- *(not run|no command|file|ends with \d+|short|any names): *(.*?) *-->", re.S)
MARK = re.compile(r"^(\S+) \| (.*) \| (not run|no command|file|ends with \d+|short|any names): *(.*)$")
PROMPT = re.compile(r"^([a-z]*)\$ +(.*)$")
SQL = re.compile(r"^(select|with)\b")


def marks():
    """Marks of blocks whose document is to have no comments, a line each: DOCUMENT | FIRST LINE OF THE BLOCK | KIND: TEXT."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "marks"), encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f if line.strip() and not line.startswith("#")]
    for line in lines:
        if not MARK.match(line):
            raise ValueError(f"tests/e2e/documents/marks: what is '{line}'?")
    return [MARK.match(line).groups() for line in lines]


MARKS = marks()


@dataclass
class Command:
    line: int
    prompt: str
    text: str
    shown: list = field(default_factory=list)  # lines of output


@dataclass
class Block:
    document: str
    line: int
    lines: list
    comments: dict  # of COMMENT: kind -> text

    @property
    def kind(self):
        if "no command" in self.comments:
            return "text"
        if "file" in self.comments:
            return "file"
        if any(SQL.match(line) for line in self.lines[:1]):
            return "sql"
        return "commands"

    @property
    def status(self):
        for kind in self.comments:
            if kind.startswith("ends with "):
                return int(kind.split()[-1])
        return 0

    def commands(self):
        """Its commands, with what is shown of their output."""
        session = any(PROMPT.match(line) for line in self.lines)
        found, open_text = [], None
        for number, line in enumerate(self.lines, self.line):
            if open_text is not None:
                open_text += "\n" + line
            else:
                prompt = PROMPT.match(line)
                if not line or line.lstrip().startswith("#"):
                    if found and found[-1].shown and not line:
                        found[-1].shown.append("")
                    continue
                if session and not prompt:
                    if not found:
                        raise ValueError(f"{self.document}:{number}: output stands in front of every command")
                    found[-1].shown.append(line)
                    continue
                found.append(Command(number, prompt[1] if prompt else "", ""))
                open_text = prompt[2] if prompt else line
            if goes_on(open_text):
                continue
            found[-1].text, open_text = open_text, None
        if open_text is not None:
            raise ValueError(f"{self.document}:{self.line}: the last command goes on, and nothing follows")
        return found


def goes_on(text):
    """Whether a command is not whole: a backslash at its end, an open quote, a here-document."""
    if text.endswith("\\"):
        return True
    if re.match(r"^(for|while|if) ", text):
        return not re.search(r"(^|[\n;&] *)(done|fi)$", text)
    here = re.search(r"<<'?(\w+)'?", text)
    if here:
        return "\n" not in text or text.rsplit("\n", 1)[1] != here[1]
    quote, i = "", 0
    while i < len(text):
        c = text[i]
        if c == "\\" and quote != "'":
            i += 1
        elif c in "'\"" and quote in ("", c):
            quote = "" if quote else c
        elif c == "#" and not quote and (i == 0 or text[i - 1] in " \t\n"):
            end = text.find("\n", i)
            i = len(text) if end < 0 else end
        i += 1
    return quote != ""


def parts_of(block):
    """SQL and commands that stand in one block, parted by an empty line."""
    if {"no command", "file", "not run"} & set(block.comments):
        return [block]
    parts, begin = [], 0
    for i in range(1, len(block.lines)):
        if not block.lines[i - 1] and bool(SQL.match(block.lines[begin])) != bool(SQL.match(block.lines[i])):
            parts.append(Block(block.document, block.line + begin, block.lines[begin:i], block.comments))
            begin = i
    return parts + [Block(block.document, block.line + begin, block.lines[begin:], block.comments)]


def blocks_of(path, name):
    """All blocks of a document, in their order, with the marks of the file `marks` that are meant for them."""
    found = plain_blocks_of(path, name)
    for document, first, kind, text in MARKS:
        if document == name:
            marked = [block for block in found if block.lines[0] == first]
            if not marked:
                raise ValueError(f"tests/e2e/documents/marks: no block of {document} begins with '{first}'")
            for block in marked:
                block.comments[kind] = text
    return found


def plain_blocks_of(path, name):
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    found, comments, i = [], {}, 0
    while i < len(lines):
        if lines[i].startswith("<!--"):
            end = next(n for n in range(i, len(lines)) if "-->" in lines[n])
            text = re.sub(r"\s+", " ", " ".join(lines[i:end + 1]))
            known = COMMENT.fullmatch(text)
            if known:
                comments[known[1]] = known[2]
            i = end + 1
        elif lines[i].startswith("```"):
            end = next(n for n in range(i + 1, len(lines)) if lines[n].startswith("```"))
            found.append(Block(name, i + 2, lines[i + 1:end], comments))
            comments, i = {}, end + 1
        elif lines[i].startswith("    ") and (i == 0 or not lines[i - 1].strip()):
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            body = [line[4:].rstrip() for line in lines[i:end]]
            while not body[-1]:
                body.pop()
            found += parts_of(Block(name, i + 1, body, comments))
            comments, i = {}, end
        else:
            if lines[i].strip():
                comments = {}
            i += 1
    return found


def spoken_of(path):
    """What stands between backquotes in the text outside of blocks, as (line, text)."""
    found, fenced = [], False
    with open(path, encoding="utf-8") as f:
        text = f.read()
    kept = []
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        kept.append("" if fenced or line.startswith(("    ", "```")) else line)
    text = "\n".join(kept)
    for match in re.finditer(r"`([^`]+)`", text):
        found.append((text.count("\n", 0, match.start()) + 1, re.sub(r"\s+", " ", match[1])))
    return found
