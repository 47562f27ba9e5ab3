"""What commands and options there are, as the programs themselves say (--help)."""
import os
import re
import shlex
import subprocess

OPTION = re.compile(r"^--([a-z][a-z0-9-]*)")
TWO_WORDS = {"agent"}  # `heapcast agent serve` is a command of its own
# Names that go on working, and that no help shows any more (docs/glossary.md, docs/short-lived.md).
FORMER = {"cull", "cull-pending", "cull-memory", "freed-at-once", "young"}


class Known:
    """Answers what is wrong with a command line, without running it."""

    def __init__(self, folder, root):
        self.folder, self.root, self.helps = folder, root, {}

    def options_of(self, *command):
        if command not in self.helps:
            done = subprocess.run([os.path.join(self.folder, command[0]), *command[1:], "--help"],
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
            options = None if done.returncode else set(re.findall(r"(?m)^ {2,6}(?:-\w, )?--([a-z0-9-]+)", done.stdout))
            if options is not None:
                options |= {"help"} | ({"version"} if len(command) == 1 else set())
                # what is taken without a line of its own: --reset in "usage", or an option in a sentence
                options |= set(re.findall(r"--([a-z][a-z0-9-]+)", done.stdout))
            self.helps[command] = options
        return self.helps[command]

    def all_options(self):
        found = set(FORMER)
        listed = subprocess.run([os.path.join(self.folder, "heapcast"), "--help"], capture_output=True, text=True, check=True)
        for name in re.findall(r"(?m)^  ([a-z]+)  +", listed.stdout):
            found |= self.options_of("heapcast", name) or set()
        for name in ("run", "serve", "attach", "ctl", "pair"):
            found |= self.options_of("agent", name) or set()
        return found

    def fault(self, text):
        """What is wrong with the names and options of a line, or None."""
        for part in split_pipes(text):
            try:
                words = shlex.split(part, comments=True)
            except ValueError as e:
                return f"{e}: {part}"
            while words and (re.match(r"^[A-Z_]+=", words[0]) or words[0] in ("sudo", "nice", "(", "then", "!")):
                words = words[1:]
            fault = self.fault_of(words) if words else None
            if fault:
                return fault
        return None

    def fault_of(self, words):
        program = words[0]
        if program in ("./agent", "agent", "collector", "heapcast", "heapcast-agent", "heapcast-collector"):
            program = program.removeprefix("./").removeprefix("heapcast-")
            return self.fault_of_ours(program, words[1:])
        if program.startswith(("deploy/", "tests/", "docs/")):
            return self.fault_of_script(program, words[1:])
        return None

    def fault_of_ours(self, program, words):
        if not words or words[0] in ("--version", "--help", "help", "--variables") or not re.match(r"^[a-z]", words[0]):
            return None
        command = [program, words[0]]
        if program == "heapcast" and words[0] in TWO_WORDS and len(words) > 1 and re.match(r"^[a-z]", words[1]):
            command, words = command + [words[1]], words[1:]
        known = self.options_of(*command)
        if known is None:
            return f"there is no command '{' '.join(command)}'"
        for word in words[1:]:
            if word == "--":
                break
            option = OPTION.match(word)
            if option and option[1] not in known | FORMER:
                return f"'{' '.join(command)}' has no option --{option[1]}"
        return None

    def fault_of_script(self, program, words):
        path = os.path.join(self.root, program)
        if not os.path.exists(path):
            return f"there is no {program} in these sources"
        if not os.access(path, os.X_OK):
            return None
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for word in words:
            option = OPTION.match(word)
            if option and f"--{option[1]}" not in text:
                return f"{program} has no option --{option[1]}"
        return None


def split_pipes(text):
    """Commands of a line: parted at | ; & && and at ends of lines, outside of quotes."""
    parts, quote, start, i = [], "", 0, 0
    text = text.replace("\\\n", " ")
    while i < len(text):
        c = text[i]
        if c == "\\" and quote != "'":
            i += 1
        elif c in "'\"" and quote in ("", c):
            quote = "" if quote else c
        elif not quote and c in "|;&\n":
            if not (c == "&" and text[i - 1] == ">"):
                parts.append(text[start:i])
                start = i + 1
        i += 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]
