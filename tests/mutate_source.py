"""What tests/mutate can break in a source: its places, and the text with one of them broken."""
import bisect
import collections
import re
import zlib

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
    |(?P<text>(?:u8|[LuU])?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.X | re.S | re.M)
CLOSING = {"(": ")", "[": "]", "{": "}"}
NEIGHBOUR = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
             "&&": "||", "||": "&&"}
OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# a < b ? a : b is broken to a > b: a <= b would be the same.
CHOICE = re.compile(r"([\w.>\[\]-]+)\s*([<>]=?)\s*([\w.>\[\]-]+)\s*\?"
                    r"\s*(?:\1\s*:\s*\3|\3\s*:\s*\1)(?![\w.>\[-])")
TYPES = set("static const volatile struct union enum unsigned signed int char bool void double "
            "float long short size_t extern register typedef _Thread_local __thread _Alignas "
            "__attribute__ _Atomic".split())
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
ERROR = re.compile(r"-E[A-Z0-9]+|r|err_\w+\(.*\)|true|false", re.S)
# Texts for people, our own bugs, and hints for the processor.
UNTOUCHED = re.compile(r"assert|static_assert|_Static_assert|err_(?!get)\w+|sizeof|offsetof|"
                       "__builtin_prefetch")
# Functions that give as much memory as their arguments say.
ALLOCATES = re.compile(r"malloc|calloc|realloc|reallocarray|\w*_reserve")
# Statements that give memory back (the sanitizers' build of the tests sees leaks), and the above.
KEPT = re.compile(r"free|\w+_(free|done)|log_\w+|va_end|\w*assert|err_\w+|__builtin_prefetch")
HEADS = ("if", "switch", "while", "for")

Token = collections.namedtuple("Token", "kind text start end")
Place = collections.namedtuple("Place", "file function start end new lines before after change")


class Source:
    """The places of one file, as .clang-format lays it out."""

    def __init__(self, name, text):
        self.name, self.text, self.places, self.seen = name, text, [], collections.Counter()
        self.line_ends = [m.end() for m in re.finditer("\n", text)]
        self.tokens = [Token(m.lastgroup, m.group(), m.start(), m.end())
                       for m in TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.choices = {m.start(2) for m in CHOICE.finditer(text)}
        self.pair, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in CLOSING:
                opened.append(i)
            elif token.text in CLOSING.values() and opened:
                self.pair[opened.pop()] = i
        opening = {closing: i for i, closing in self.pair.items()}
        for i in self.top(0, len(self.tokens)):
            if self.at(i) == "{" and self.at(i - 1) == ")":
                self.function = self.at(opening[i - 1] - 1)
                self.statements(i + 1, self.pair[i])

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def is_word(self, i):
        return i < len(self.tokens) and self.tokens[i].kind == "word"

    def odd(self, offset):
        """One of two, by chance: the same as long as the line stays."""
        before = self.text[self.text.rfind("\n", 0, offset) + 1:offset]
        return zlib.crc32((before + line_at(self.text, offset)).encode()) % 2

    def line(self, offset):
        return bisect.bisect_right(self.line_ends, offset) + 1

    def top(self, i, stop):
        """The tokens that no bracket between i and stop encloses."""
        while i < stop:
            yield i
            i = self.pair.get(i, i) + 1

    def statements(self, i, end):
        while i < end:
            word, after = self.at(i), self.pair.get(i + 1, end) + 1
            if word in ("{", "}", "else", "do", ";"):
                after = i + 1
            elif word in HEADS or self.at(i + 1) == "(" and self.at(after) == "{" and \
                    word != "return":
                self.span = (i, after - 1)
                self.head(i + 2, after - 1, word)
            elif self.at(i + 1) == "(" and self.at(after) == "}":
                pass  # a macro that stands for statements
            else:
                label = word in ("case", "default") or self.at(i + 1) == ":"
                end_text = ":" if label else ";"
                after = next(k for k in self.top(i, end) if self.at(k) == end_text) + 1
                if not label:
                    self.span = (i, after - 1)
                    self.simple(i, after - 1, word)
            i = after

    def head(self, first, closing, word):
        """What stands in the parentheses of if, for and their like."""
        parts = [k for k in range(first, closing) if self.at(k) == ";"]
        if word == "for" and len(parts) == 2:
            self.values(first, parts[0])
            self.expression(parts[0] + 1, parts[1])  # not the third: the loop would not end
        elif word in ("if", "switch", "while"):
            self.expression(first, closing)
        if word == "if":
            text = self.text[self.tokens[first].start:self.tokens[closing].start]
            self.add(first, closing, f"({text}) && 0", "if never")
            self.add(first, closing, f"({text}) || 1", "if always")

    def declares(self, i):
        return self.at(i) in TYPES or self.is_word(i) and (
            self.is_word(i + 1) or
            self.at(i + 1) == "*" and (self.is_word(i + 2) or self.at(i + 2) == "*"))

    def simple(self, i, stop, word):
        if word == "return":
            text = self.text[self.tokens[i].end:self.tokens[stop].start].strip()
            if ERROR.fullmatch(text):
                new = {"true": "false", "false": "true"}.get(text, "0")
                self.add(i + 1, stop, new, "return")
            if text == "0":  # mostly success; of errors, callers look at the sign
                self.add(i + 1, stop, "-1")
            else:
                self.expression(i + 1, stop)
        elif word in ("goto", "break", "continue", "static", "extern", "typedef"):
            pass
        elif self.declares(i):
            self.values(i, stop)
        elif not KEPT.fullmatch(word):
            steps = stop == i + 2  # i++: a loop would not end
            does = self.at(i + 1) == "(" or any(self.at(k) in ASSIGN for k in self.top(i, stop))
            if does and not steps:
                self.add(i, stop, "", "removed")
            self.expression(i, stop)

    def values(self, i, stop):
        """Of a declaration, what stands behind each =."""
        if not self.declares(i):
            return self.expression(i, stop)
        marks = [k for k in self.top(i, stop) if self.at(k) in ("=", ",")] + [stop]
        for a, b in zip(marks, marks[1:]):
            if self.at(a) == "=":
                self.expression(a + 1, b)

    def expression(self, i, stop):
        while i < stop:
            kind, text, start, _ = self.tokens[i]
            if text == "__builtin_expect":  # its second argument only says what is likely
                closing = self.pair[i + 1]
                comma = next(k for k in self.top(i + 2, closing) if self.at(k) == ",")
                self.expression(i + 2, comma)
                i = closing + 1
                continue
            if UNTOUCHED.fullmatch(text) and self.at(i + 1) == "(":
                i = self.pair.get(i + 1, i) + 1
                continue
            if kind == "word" and self.at(i + 1) == "(":
                other = re.sub(r"(?<![a-z])(f?)(min|max)(?![a-z])",
                               lambda m: m[1] + ("max" if m[2] == "min" else "min"), text)
                if other != text:
                    self.add(i, i + 1, other)
            elif kind == "number" and re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+)[uUlL]*", text):
                less = text.strip("xXuUlL0") and self.odd(start)
                if less or not self.only_asks_for_more(i):
                    self.add(i, i + 1, f"({text} {'-' if less else '+'} 1)")
            elif text in NEIGHBOUR:
                self.add(i, i + 1, (OPPOSITE if start in self.choices else NEIGHBOUR)[text])
            elif text == "!":
                self.add(i, i + 1, "")
            elif text == "[" and (self.is_word(i - 1) or self.at(i - 1) in ("]", ")")):
                last = self.pair[i]
                if self.is_word(last - 1):
                    self.add(last, last + 1, " + 1]" if self.odd(start) else " - 1]")
            i += 1

    def only_asks_for_more(self, i):
        """Would a greater number there mean more memory than before? No behaviour shows that."""
        return self.at(i - 1) not in ("-", "/", "%", ">>") and any(
            ALLOCATES.fullmatch(self.at(k)) and k + 1 < i < self.pair.get(k + 1, 0)
            for k in range(self.span[0], i))

    def add(self, i, stop, new, change=None):
        """Tokens from i to stop are replaced. Lines keep their numbers."""
        start, end = self.tokens[i].start, self.tokens[stop - 1].end
        old = self.text[start:end]
        new += "\n" * (old.count("\n") - new.count("\n"))
        change = change or f"{old} to {new.strip() or 'nothing'}"
        first, line, last = (self.line(self.tokens[k].start)
                             for k in (self.span[0], i, self.span[1]))
        self.seen[line, change] += 1
        if self.seen[line, change] > 1:
            change += f" #{self.seen[line, change]}"
        broken = self.text[:start] + new + self.text[end:]
        self.places.append(Place(self.name, self.function, start, end, new,
                                 sorted(range(first, last + 1),
                                        key=lambda n: (n != line, abs(n - line))),
                                 line_at(self.text, start), line_at(broken, start), change))

    def broken(self, place):
        return self.text[:place.start] + place.new + self.text[place.end:]


def line_at(text, offset):
    end = text.find("\n", offset)
    return " ".join(text[text.rfind("\n", 0, offset) + 1:end if end >= 0 else None].split())
