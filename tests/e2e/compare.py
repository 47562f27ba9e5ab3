"""Holds a recording by probes in the kernel against one of the same work by preloading.

    compare.py full PRELOADED ATTACHED [WITHIN]
        The ten backtraces with the most bytes allocated, and those with the most never freed, are the same: call chain,
        bytes, blocks. WITHIN: they may differ by this share, for work that is not the same to the byte; then a chain may
        also have another rank, and count what lies under a stack that was cut and has its inner frames: what comes before the
        kernel knows how to walk a deep stack may be cut. Of all bytes 99 in 100 lie under the same chain. What differs is printed.

    compare.py sampled PRELOADED INTERVAL ATTACHED...
        Estimates for those ten backtraces and for all, of each sampled recording.

A sum of sampled blocks has the standard error sqrt(sum of y^2 (1 - p) / p), p = 1 - exp(-size / INTERVAL), which is taken
over what was truly allocated. Some 22 sums a recording are looked at: by chance one of a normal law is off by 4.5 standard
errors in 7,000 recordings. Estimates of few samples are skewed, so what has less than ten is left out.
"""
import collections
import csv
import math
import re
import subprocess
import sys
from os import environ

TOP = 10
CUT = "[truncated];"
FAR = 4.5
SAMPLES_LEAST = 10


def ask(recording, select):
    answer = subprocess.run([environ["COLLECTOR"], "sql", "--csv", recording, select], stdout=subprocess.PIPE, check=True)
    lines = answer.stdout.decode(errors="replace").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("# ")))  # since when it was watched


def chains(recording):
    """Backtrace number -> names, the outermost first."""
    found = collections.defaultdict(list)
    for row in ask(recording, "select stack, name from frames where module is null or module not like '%/libheapcast.so' "
                              "order by stack, position desc"):
        # A library has the name by which it was loaded there, and that of its file here.
        found[row["stack"]].append(re.sub(r"\.so[.0-9]*\+0x", ".so+0x", row["name"]))
    return {stack: ";".join(names) for stack, names in found.items()}


def sums(recording):
    """Call chain -> bytes and blocks allocated, bytes and blocks leaked."""
    names, found = chains(recording), collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in ask(recording, "select stack, sum(bytes) a, sum(blocks) b, sum(leaked * bytes) c, sum(leaked * blocks) d "
                              "from allocations group by stack"):
        total = found[names.get(row["stack"], "")]
        for i, key in enumerate("abcd"):
            total[i] += float(row[key])
    return found


def is_close(a, b, within):
    return all(abs(x - y) <= within * max(x, y) for x, y in zip(a, b))


def with_cut(chain, found):
    """What lies under a call chain, and under stacks that were cut and may be it."""
    same = [sums for other, sums in found.items() if other == chain or
            (other.startswith(CUT) and chain.endswith(other[len(CUT) - 1:]))]
    return [sum(sums[i] for sums in same) for i in range(4)]


def full(preloaded, attached, within):
    here, there = sums(preloaded), sums(attached)
    faults = 0
    for what, at in (("allocated", 0), ("leaked", 2)):
        first = sorted((chain for chain in here if here[chain][at]), key=lambda chain: (-here[chain][at], chain))[:TOP]
        for rank, chain in enumerate(first):
            a, b = here[chain][at:at + 2], there[chain][at:at + 2] if chain in there else [0, 0]
            if within and not is_close(a, b, within):
                b = with_cut(chain, there)[at:at + 2]
            better = sum(sums[at] > b[0] for sums in there.values())
            if is_close(a, b, within) and (within or better <= rank):
                continue
            faults += 1
            print("%s, rank %d: %d bytes in %d blocks; attached %d in %d, rank %d:\n    %s" %
                  (what, rank + 1, *a, *b, better + 1, chain))
        print("%s: %d of %d in %s chains compared" % (what, sum(here[c][at] for c in first),
              sum(v[at] for v in here.values()), len(first)))
        if len(first) < (TOP if what == "allocated" else 1):
            sys.exit("that was no work to compare")
    total = sum(v[0] for v in here.values())
    same = sum(min(here[c][0], there[c][0]) for c in here if c in there) / total
    print("%.2f %% of the bytes lie under the same chain" % (100 * same))
    faults += same < 1 - max(within, 0.01)
    differ = [c for c in set(here) | set(there) if here.get(c) != there.get(c)]
    print("%d chains, %d attached; %d differ" % (len(here), len(there), len(differ)))
    for chain in sorted(differ)[:8]:
        print("    %s, attached %s:\n        %s" % (here.get(chain), there.get(chain), chain[-300:]))
    return faults


def deviations(preloaded, interval, names):
    """Call chain -> what it is of bytes and of blocks, variances of both, samples to be expected, the most that one sample
    weighs of both; "": of all."""
    found = collections.defaultdict(lambda: [0.0] * 7)
    for row in ask(preloaded, "select stack, size, count(*) n from allocations group by stack, size"):
        size, count = max(int(row["size"]), 1), int(row["n"])
        p = 1 if size >= interval else 1 - math.exp(-size / interval)
        for chain in (names.get(row["stack"], "?"), ""):
            of = found[chain]
            of[0] += int(row["size"]) * count
            of[1] += count
            of[2] += size * size * count * (1 - p) / p
            of[3] += count * (1 - p) / p
            of[4] += count * p
            of[5] = max(of[5], size / p)
            of[6] = max(of[6], 1 / p)
    return found


def sampled(preloaded, interval, recordings):
    truth = deviations(preloaded, interval, chains(preloaded))
    first = sorted(truth, key=lambda chain: -truth[chain][0])[:TOP + 1]
    faults = looked = 0
    furthest = 0.0
    for recording in recordings:
        got = sums(recording)
        for chain in first:
            size, blocks, size_variance, blocks_variance, samples, size_most, blocks_most = truth[chain]
            if samples < SAMPLES_LEAST:
                continue
            estimate = [sum(v[i] for v in got.values()) for i in (0, 1)] if not chain else got.get(chain, [0, 0])
            for what, true, variance, most, value in (("bytes", size, size_variance, size_most, estimate[0]),
                                                      ("blocks", blocks, blocks_variance, blocks_most, estimate[1])):
                # Weights are whole bytes. A single sample of a small block among large ones is far from normal: one more or less
                # of them is by chance.
                off = max(abs(value - true) - 0.001 * true - most, 0) / math.sqrt(variance) if variance else abs(value - true)
                looked += 1
                furthest = max(furthest, off)
                if off > FAR:
                    faults += 1
                    print("%s: %.0f %s, %.1f standard errors off %.0f (%.0f samples):\n    %s" %
                          (recording, value, what, off, true, samples, chain or "all"))
    print("%d recordings, %d estimates, the furthest %.2f standard errors off" % (len(recordings), looked, furthest))
    if looked < 8 * len(recordings):
        sys.exit("too few samples to compare")
    return faults


if sys.argv[1] == "full":
    bad = full(sys.argv[2], sys.argv[3], float(sys.argv[4]) if len(sys.argv) > 4 else 0)
else:
    bad = sampled(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
sys.exit(1 if bad else 0)
