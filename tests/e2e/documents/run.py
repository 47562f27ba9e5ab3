"""Runs the command blocks of documents:   run.py [--check] BUILD ROOT WORK DOCUMENT...

A document is a path in the sources (docs/symbols.md). With --check nothing is run: names of commands and their options are held
against what the programs say, in blocks and in the text. Without, each block is run (blocks.py says by which marks), in the
order of the document, and what it prints is compared in shape with what is shown (shape.py). For each document there may be a file
DOCUMENT.sh beside this one, in a folder of its own (docs-symbols.sh for docs/symbols.md): what the reader is expected to
have, made in a shell that is the desk's. Lines that it writes to the file $WORDS, as `CMD=./app`, say what stands for words; BEGIN is a command that waits, and has been
typed before.

Words that stand for something else in all documents: CODE, and each code of pairing, is what `heapcast pair` printed last; each
token is what `heapcast serve` printed last. --for 30s is made --for 2s, and `curl --no-buffer` ends after 2 s. The prompts `desk$` and `$` are one shell, `board$` is
another one, with the agent in its folder.
"""
import os
import re
import subprocess
import sys
import time

from blocks import blocks_of, spoken_of
from options import Known
from sessions import Failed, Shell, waits
from shape import difference

# What is never run: (how a command begins, why).
NEVER = [(re.compile(pattern), why) for pattern, why in (
    (r"sudo |apt(-get)? |systemctl ", "needs root, and changes the machine"),
    (r"deploy/install-packages", "installs packages"),
    (r"(deploy/(quickstart|package|board|sysroots|source-tarball)|cmake|tests/run|tests/machines|tests/bench|ninja|npm)\b",
     "builds for minutes"),
    (r"(buildah|podman|docker|kubectl|helm)\b", "needs a container engine"),
    (r"(ssh|rsync)\b|scp (?!.* board:\S*$)", "goes to another machine"),
    (r"heapcast top --live|heapcast top .*--live", "needs a terminal; e2e.live has one"),
    (r"man ", "prints a page; e2e.man-pages renders it"),
)]
FIRST_WORDS = re.compile(
    r"^(heapcast|heapcast-agent|heapcast-collector|collector|agent|curl|gcc|g\+\+|cc|strip|objcopy|openssl|cat|cmake|sudo|export|cd"
    r"|grep|git|python3|ctest|systemctl|kubectl|buildah|podman|docker|scp|ssh|printf|echo|test|sed|patch|ps|tar|cp|mv|mkdir|kill|man|ls|jq|apt|qemu-\S+"
    r"|\(umask|for|[A-Z_]+=\S+|\./\S+|(deploy|tests|docs)/\S+)( |$)")
OTHERS = ("--privileged",)  # options of other people's programs
HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 60  # a command
CODE = re.compile(r"\b[A-Z2-7]{26}\b")
BUSY = "takes longer than a second"  # heapcast run had no time for its answer


class Player:
    def __init__(self, document, build, root, work):
        self.document, self.build, self.root, self.work = document, build, root, work
        self.known = Known(os.path.join(build, "bin"), root)
        self.words, self.shells, self.code, self.token = {}, {}, "", ""
        self.without_attach = False
        self.faults, self.left_out, self.run_count, self.others = [], [], 0, 0

    def shell(self, prompt):
        name = "board" if prompt == "board" else (prompt or "desk")
        if name not in self.shells:
            folder = os.path.join(self.work, name)
            os.makedirs(folder, exist_ok=True)
            if name == "board":
                for source, to in (("bin/agent", "agent"), ("lib/libheapcast.so", "libheapcast.so")):
                    os.symlink(os.path.join(self.build, source), os.path.join(folder, to))
            self.shells[name] = Shell(name, folder, self.environment(folder), os.path.join(self.work, "typed"))
        return self.shells[name]

    def environment(self, folder):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HEAPCAST_") or k == "HEAPCAST_TEST_MARK"}
        return kept | {
            "PATH": f"{self.build}/bin:{kept['PATH']}", "HOME": folder, "BUILD": self.build, "ROOT": self.root,
            "WORDS": os.path.join(self.work, "words"), "WORK": self.work, "HEAPCAST_CONFIG": "", "HEAPCAST_INTERFACE": "lo",
            "HEAPCAST_SOCKET": f"{folder}/agent.sock", "HEAPCAST_KEYS": f"{folder}/keys", "HEAPCAST_PAIRS": f"{folder}/pairs", "NO_COLOR": "1", "COLUMNS": "80"}

    def prepare(self):
        self.shell("board")
        for name in ("prepare.sh", self.document.replace("/", "-").removesuffix(".md") + ".sh"):
            path = os.path.join(HERE, name)
            if not os.path.exists(path):
                continue
            status, out = self.shell("").run(f"set -eE; trap 'echo {name}: line $LINENO' ERR; . '{path}'; trap - ERR; set +eE", 60)
            if status:
                raise Failed(f"{name} ended with {status}: {out}")
        words = os.path.join(self.work, "words")
        if os.path.exists(words):
            with open(words, encoding="utf-8") as f:
                self.words = dict(line.rstrip("\n").split("=", 1) for line in f)
        begin = self.words.pop("BEGIN", None)
        if begin:
            self.look_at(self.shell("").start(begin, waits(begin), 60).printed())

    def typed(self, text):
        """A command as it is typed: with this run's own values."""
        text = re.sub(r"--for \d+[smh]\b", "--for 2s", text)
        text = re.sub(r"^curl --no-buffer", "timeout 2 curl --no-buffer", text)
        if self.token:
            text = re.sub(r"(Bearer |token=)[A-Z2-7]{26}\b", rf"\g<1>{self.token}", text).replace("$TOKEN", self.token)
        if self.code:
            text = CODE.sub(self.code, text)
            text = re.sub(r"\bCODE\b", self.code, text)
        for word, value in self.words.items():
            text = re.sub(rf"(?<![\w./-]){re.escape(word)}(?![\w-])", lambda _, v=value: v, text)
        return text

    def fault(self, line, what):
        self.faults.append(f"{self.document}:{line}: {what}")

    def look_at(self, printed):
        token = re.search(r"#token=([A-Z2-7]{26})\b", printed)
        if token:
            self.token = token[1]
        elif CODE.search(printed) and "pair" in printed:
            self.code = CODE.search(printed)[0]

    def left_out_why(self, text):
        if not FIRST_WORDS.match(text):
            raise Failed(f"'{text}' is no command; in front of the block, say <!-- no command: WHAT -->")
        for pattern, why in NEVER:
            if pattern.match(text):
                return why
        if re.match(r"(heapcast|agent|\./agent) attach\b", text):
            done = subprocess.run([f"{self.build}/bin/heapcast", "attach", "--check"], capture_output=True, text=True, check=False)
            if done.returncode:
                self.without_attach = True
                return "attaching is not permitted here: " + (done.stdout + done.stderr).strip().split("\n")[-1]
        if self.without_attach and re.search(r" (last|FILE)\b", text):
            return "it asks about what attaching would have recorded"
        return None

    def play(self, command, block):
        why = self.left_out_why(command.text)
        if why:
            self.left_out.append(f"{self.document}:{command.line}: {command.text.splitlines()[0]}: {why}")
            return
        shell, text = self.shell(command.prompt), self.typed(command.text)
        any_names = "any names" in block.comments
        hosts = [os.uname().nodename, "desk", "board"]
        part = "short" in block.comments
        ready = waits(text)
        if ready is not False:
            background = shell.start(text, ready, 60)
            self.look_at(background.printed())
            end = time.monotonic() + (60 if command.shown else 0)
            while True:
                wrong = difference(command.shown, background.printed().split("\n"), hosts, part or not command.shown, any_names)
                if not wrong or time.monotonic() > end:
                    break
                time.sleep(0.1)
            printed = background.printed()
        else:
            status, printed = shell.run(text, SECONDS)
            for _ in range(5):
                if BUSY not in printed or "Most in use" not in "\n".join(command.shown):
                    break
                status, printed = shell.run(text, SECONDS)
            # Agents take a moment to come: who sees none yet looks again.
            end = time.monotonic() + 20
            while (text == "heapcast list" and command.shown and time.monotonic() < end and
                   difference(command.shown, printed.split("\n"), hosts, part, any_names)):
                time.sleep(0.2)
                status, printed = shell.run(text, SECONDS)
            self.look_at(printed)
            if status not in (0, block.status, 124 if text.startswith("timeout ") else 0):
                self.fault(command.line, f"ends with {status}: {text}\n{printed[-1200:]}")
                return
            wrong = command.shown and difference(command.shown, printed.split("\n"), hosts, part, any_names)
        if wrong:
            self.fault(command.line, f"{text}\n  {wrong}\n--- it prints\n{printed[:3000]}")

    def play_block(self, block):
        if block.kind == "text":
            self.others += 1
        elif block.kind == "file":
            path = os.path.join(self.shell("").folder, block.comments["file"])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write("\n".join(block.lines) + "\n")
            self.others += 1
        elif "not run" in block.comments:
            self.left_out.append(f"{self.document}:{block.line}: {block.comments['not run']}")
        elif block.kind == "sql":
            self.run_count += 1
            for question in filter(str.strip, re.split(r";\n|;$|\n\n", "\n".join(block.lines))):
                status, printed = self.shell("").run(f"heapcast sql last - <<'END'\n{question};\nEND", SECONDS)
                if status:
                    self.fault(block.line, f"SQL: {question}\n{printed}")
        else:
            self.run_count += 1
            before = len(self.faults)
            for command in block.commands():
                try:
                    self.play(command, block)
                except Failed as e:
                    self.fault(command.line, str(e))
                if len(self.faults) > before:
                    return  # what follows in this block may hang on it

    def document_run(self):
        try:
            blocks = blocks_of(os.path.join(self.root, self.document), self.document)
            if any(block.kind in ("commands", "sql") and "not run" not in block.comments for block in blocks):
                self.prepare()
            for block in blocks:
                self.play_block(block)
        except (Failed, ValueError) as e:
            self.faults.append(f"{self.document}: {e}")
        finally:
            for shell in self.shells.values():
                try:
                    shell.end()
                except Failed as e:
                    self.faults.append(f"{self.document}: {e}")


def anchors_of(path):
    """The places that a link can name: headings, as GitHub writes them."""
    with open(path, encoding="utf-8") as f:
        headings = re.findall(r"(?m)^#+ +(.*)$", f.read())
    return {re.sub(r"[^\w -]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", h).lower()).replace(" ", "-") for h in headings}


def broken_links(path, document):
    """Links to files that are not in the sources, or to headings that are not in them."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for match in re.finditer(r"\]\(([^)#: ]*)(?:#([^): ]+))?\)", text):
        to = os.path.join(os.path.dirname(path), match[1]) if match[1] else path
        line = text.count("\n", 0, match.start()) + 1
        if not os.path.exists(to):
            yield f"{document}:{line}: the link {match[1]} leads nowhere"
        elif match[2] and to.endswith(".md") and match[2] not in anchors_of(to):
            yield f"{document}:{line}: {match[1]} has no heading #{match[2]}"


def check(document, known, root, every):
    """Names and options, in blocks and between backquotes; links."""
    path = os.path.join(root, document)
    faults = list(broken_links(path, document))
    for block in blocks_of(path, document):
        if block.kind != "commands":
            continue
        try:
            for command in block.commands():
                wrong = known.fault(command.text)
                if wrong:
                    faults.append(f"{document}:{command.line}: {wrong}")
        except ValueError as e:
            faults.append(str(e))
    for line, text in spoken_of(path):
        wrong = None
        if re.match(r"^(heapcast|\./agent|agent|collector) [a-z]", text) and not re.match(r"^agent (was|is) ", text):
            wrong = known.fault(text)
        elif re.match(r"^--[a-z][a-z0-9-]*", text) and text not in OTHERS:
            option = re.match(r"^--([a-z0-9-]+)", text)[1]
            if option not in every and not subprocess.run(
                    ["grep", "-rqF", "-e", f"--{option}", "deploy", "tests", "collector/page", "CMakeLists.txt"],
                    cwd=root, check=False).returncode == 0:
                wrong = f"no command has an option --{option}"
        if wrong:
            faults.append(f"{document}:{line}: {wrong}")
    return faults


def main(arguments):
    only_check = arguments[:1] == ["--check"]
    build, root, work, *documents = arguments[only_check:]
    faults = []
    if only_check:
        known = Known(os.path.join(build, "bin"), root)
        every = known.all_options()
        for document in documents:
            faults += check(document, known, root, every)
        print(f"{len(documents)} documents: commands and options of {len(faults)} lines are wrong")
    for document in [] if only_check else documents:
        began = time.monotonic()
        player = Player(document, build, root, os.path.join(work, document.replace("/", "-")))
        os.makedirs(player.work, exist_ok=True)
        player.document_run()
        faults += player.faults
        print(f"{document}: {player.run_count} blocks run, {len(player.left_out)} not run, {player.others} are no commands; "
              f"{time.monotonic() - began:.1f} s")
        for reason in player.left_out:
            print(f"  not run: {reason}")
    for fault in faults:
        print(f"WRONG {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
