"""What tests/mutate has found out: kept in a file for each commit or seed, and taken up again."""
import contextlib
import hashlib
import json
import os
import subprocess


def digest(content):
    return hashlib.sha256(content).hexdigest()


class Results:
    """key: [result, by what, digest of the broken file]. The file's first line is the digest of all
    that was tested."""

    def __init__(self, root, build, seed, kinds):
        self.root, self.build, self.kinds = root, build, "-".join(kinds)
        self.path, self.file, self.found = build / f"results-{seed[:12]}-{self.kinds}", None, {}

    @staticmethod
    def read(path):
        head, *lines = path.read_text().splitlines() if path.exists() else [""]
        found = {}
        for line in lines:
            with contextlib.suppress(ValueError):  # one was cut off
                key, *result = json.loads(line)
                found[key] = result
        return head, found

    def go_on(self, head):
        """With what earlier runs found out on the same sources."""
        before, found = self.read(self.path)
        same = before == head
        self.file = open(self.path, "a" if same else "w", buffering=1)
        self.file.write("\n" if same else head + "\n")
        self.found = found if same else {}

    def take_again(self, head):
        """Takes what the last run found out in files that are still the same. Returns how many
        mutants are left out; None: there was no run."""
        paths = [p for p in self.build.glob(f"results-*-{self.kinds}") if self.read(p)[1]]
        if not paths:
            return None
        last = max(paths, key=lambda p: p.stat().st_mtime_ns)
        now, then, left_out = {}, {}, 0
        for key, (result, by, *known) in self.read(last)[1].items():
            name = key.split(" ")[0]
            if name not in now:
                path = self.root / name
                now[name] = digest(path.read_bytes()) if path.is_file() else ""
                then[name] = self.of_commit(last.name.split("-")[1], name)
            if (known[0] if known else then[name]) == now[name]:
                self.found[key] = [result, by, now[name]]
            else:
                left_out += result in ("caught", "survived")
        whole = self.path.with_name("new-" + self.path.name)  # no moment without results
        whole.write_text("".join(line + "\n" for line in [
            head, *(json.dumps([key, *found]) for key, found in self.found.items())]))
        os.replace(whole, self.path)
        self.file = open(self.path, "a", buffering=1)
        return left_out

    def of_commit(self, commit, name):
        """For results of runs that did not write down the file's digest."""
        shown = subprocess.run(["git", "-C", self.root, "show", f"{commit}:{name}"],
                               capture_output=True)
        return None if shown.returncode else digest(shown.stdout)

    def add(self, key, result, by, content):
        self.found[key] = [result, by, digest(content)]
        self.file.write(json.dumps([key, *self.found[key]]) + "\n")
