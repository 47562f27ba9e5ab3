"""Other work for python3: XML, syntax trees, decimals, collections, exceptions: other.py ROUNDS"""
import ast
import collections
import decimal
import sys
import xml.etree.ElementTree as ElementTree


def as_xml(round_number):
    root = ElementTree.Element("fleet", number=str(round_number))
    for number in range(60):
        board = ElementTree.SubElement(root, "board", name="board-%d" % number)
        for sensor in range(number % 5):
            ElementTree.SubElement(board, "sensor", unit="K").text = str(number * sensor * 0.37)
    return ElementTree.tostring(root, encoding="unicode")


def of_xml(text):
    sums = collections.defaultdict(decimal.Decimal)
    for board in ElementTree.fromstring(text).iter("board"):
        for sensor in board.findall("sensor"):
            sums[board.get("name")[-1]] += decimal.Decimal(sensor.text).quantize(decimal.Decimal("0.01"))
    return sums


class Rename(ast.NodeTransformer):
    def visit_Name(self, node):
        return ast.copy_location(ast.Name(id=node.id + "_", ctx=node.ctx), node)


def of_syntax(source):
    tree = ast.fix_missing_locations(Rename().visit(ast.parse(source)))
    names = collections.Counter(type(node).__name__ for node in ast.walk(tree))
    return names.most_common(3)[0][1] + len(ast.unparse(tree))


def permuted(items):
    """All orders of some, by generators that call themselves."""
    if not items:
        yield ()
    for place, item in enumerate(items):
        for rest in permuted(items[:place] + items[place + 1:]):
            yield (item,) + rest


def failing(depth):
    if not depth:
        raise ValueError("at the bottom")
    try:
        return failing(depth - 1)
    except ValueError as error:
        raise ValueError("at %d" % depth) from error


def main():
    with open(__file__, encoding="utf-8") as file:
        source = file.read()
    total, window = decimal.Decimal(0), collections.deque(maxlen=50)
    for number in range(int(sys.argv[1])):
        total += sum(of_xml(as_xml(number)).values()) + of_syntax(source)
        window.extend("".join(map(str, order)) for order in permuted((1, 2, 3, 4)))
        try:
            failing(12)
        except ValueError as error:
            total += len(str(error))
    print(total, len(window))


main()
