"""Work for python3: what programs do all day, the same every time."""
import json
import re
import sys


class Node:
    def __init__(self, depth):
        self.children = [Node(depth - 1) for _ in range(3)] if depth else []
        self.name = "node-%d-%s" % (depth, "x" * depth)

    def count(self):
        return 1 + sum(child.count() for child in self.children)


def words(rounds):
    seen = {}
    for i in range(rounds):
        for word in re.split(r"[ ,.]+", "the quick brown fox, the lazy dog. %d" % i):
            seen[word] = seen.get(word, 0) + 1
    return seen


def main():
    seen = words(3000)
    text = json.dumps({"tree": Node(6).count(), "words": seen}, sort_keys=True)
    again = json.loads(text)
    print(again["tree"], len(again["words"]), again["words"]["fox"], len(text))
    sys.exit(7)


main()
