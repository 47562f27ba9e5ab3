"""Work for python3: objects, strings, JSON, regular expressions, the same every time: work.py ROUNDS"""
import json
import re
import sys


class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(3)] if depth else []
        self.name = "node-%d-%s" % (depth, "x" * depth)

    def as_dict(self):
        return {"name": self.name, "children": [child.as_dict() for child in self.children]}


def words(text, seen):
    for word in re.split(r"[ ,.\":{}\[\]]+", text):
        seen[word] = seen.get(word, 0) + 1


def main():
    seen, length = {}, 0
    for number in range(int(sys.argv[1])):
        text = json.dumps({"number": number, "tree": Node(5).as_dict()}, sort_keys=True)
        words(text, seen)
        length += len(json.loads(text)["tree"]["children"]) + len("".join(sorted(seen)))
    print(length, len(seen))


main()
