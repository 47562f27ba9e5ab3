"""What clickhouse-hour.sh measures:   clickhouse-hour.py AWAY_FROM AWAY_TO TWIN ALONE SAMPLES

TWIN and ALONE are what two equal programs (e2e-rounds) have printed. They ran at the same time, so whatever else the machine did
has slowed both, and a ratio of two windows shows what only one of them felt. The collector of TWIN shares its sums; that of ALONE
does not. AWAY_FROM and AWAY_TO are the seconds in which the shared store was away. SAMPLES are lines of seconds since the epoch and
bytes that an agent held which no collector had acknowledged. Prints figures; ends with 1, and says why, if they are too large.
"""
import statistics
import sys

CPU_MOST, LASTED_MOST = 1.10, 1.20

away_from, away_to = int(sys.argv[1]), int(sys.argv[2])


def lines(path):
    return [[int(x) for x in line.split()] for line in open(path)]


def is_away(second):
    """Windows during which it went or came are neither."""
    if away_from + 15 <= second <= away_to:
        return True
    return None if away_from <= second <= away_to + 15 else False


def pairs(twin, alone):
    """Windows that ended at about the same time."""
    theirs = {line[0]: line for line in alone}
    for line in twin:
        for shift in (0, 1, -1, 2, -2):
            other = theirs.get(line[0] + shift)
            if other:
                yield line, other
                break


def compare(what, column, most):
    ratio = {True: [], False: [], None: []}
    own = {True: [], False: [], None: []}
    for line, other in pairs(lines(sys.argv[3]), lines(sys.argv[4])):
        ratio[is_away(line[0])].append(line[column] / other[column])
        own[is_away(line[0])].append(line[column])
    assert len(ratio[True]) >= 5 and len(ratio[False]) >= 5, f"too few windows: {len(ratio[True])} away, {len(ratio[False])} there"
    change = statistics.median(ratio[True]) / statistics.median(ratio[False])
    print(f"{what} of a round: {statistics.median(own[False]) / 1000:.1f} us with the store, {statistics.median(own[True]) / 1000:.1f} "
          f"us without it ({len(own[False])} and {len(own[True])} windows); against its twin's {(change - 1) * 100:+.1f} %")
    return [] if change <= most else [f"{what} of a round is {change:.3f} times as long while the store is away, more than {most}"]


def held():
    by = {True: [], False: [], None: []}
    for second, held_bytes in lines(sys.argv[5]):
        by[is_away(second)].append(held_bytes)
    there, away = max(by[False]), max(by[True])
    print(f"most that an agent held: {there} bytes with the store, {away} without it ({len(by[True])} samples)")
    last = by[True][-len(by[True]) // 4:]
    print(f"median of these, in the last quarter: {statistics.median(last):.0f}, with the store {statistics.median(by[False]):.0f}")
    return [] if away <= 2 * there + 262144 else [f"an agent held {away} bytes while the store was away, and {there} before"]


wrong = compare("CPU time", 1, CPU_MOST) + compare("duration", 2, LASTED_MOST) + held()
for text in wrong:
    print(text)
sys.exit(bool(wrong))
