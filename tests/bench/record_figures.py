"""What the figures of tests/bench/record say: medians, ratios, intervals, and the table of them."""
import math
import statistics

ROUNDS_MIN = 3  # below, there is no spread to speak of
SPREADS = ("wall", "cpu", "own")  # what is compared
BYTES = (("real programs", ("containers-2", "sqlite3", "python3", "lua5.4", "cc1plus"), 2.0),
         ("loops of random sizes", ("churn-5", "churn-20", "churn-60"), 5.0))
GOAL_SAMPLED = 2.0  # per cent
GOAL_SHARE_WALL, GOAL_MEAN_WALL, GOAL_MEAN_CPU = 0.20, 0.15, 0.15
CONFIDENCE = 0.95


def median_interval(values):
    """(low, median, high): the median, and an interval that covers the true one with CONFIDENCE. None: too few."""
    ordered, count = sorted(values), len(values)
    below, k = 0.0, 0  # the chance that at most k of them lie below the true median
    while k < count:
        below += math.comb(count, k) / 2 ** count
        if below > (1 - CONFIDENCE) / 2:
            break
        k += 1
    return (ordered[k - 1], statistics.median(ordered), ordered[count - k]) if k else None


def verdict(low, high):
    return "met" if high <= GOAL_SAMPLED else "missed" if low > GOAL_SAMPLED else "not shown"


def show_pairs(pairs):
    print("  sampled, over interposer, in %d pairs: goal %.0f %%" % (len(pairs), GOAL_SAMPLED))
    for label, key in (("wall", "wall"), ("the program's CPU", "own")):
        if key not in pairs[0]:
            continue
        interval = median_interval([pair[key] for pair in pairs])
        if interval:
            low, middle, high = interval
            print("    %-18s %+.2f %% [%+.2f..%+.2f]: %s" % (label, middle, low, high, verdict(low, high)))
        else:
            print("    %-18s not shown: too few pairs" % label)


# --- What the numbers say.


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


def values_of(samples, column, measure_name):
    return [s[measure_name] for s in samples[column]]


def spread(samples, column, name):
    low, _, high = quartiles(values_of(samples, column, name))
    return high - low


def median(samples, column, name):
    return statistics.median(values_of(samples, column, name))


def ratio(samples, name):
    """What full adds to what heaptrack adds, in each round: the quartiles of that; None: it can't be told."""
    theirs = median(samples, "heaptrack", name) - median(samples, "native", name)
    noise = spread(samples, "native", name) + spread(samples, "heaptrack", name)
    if len(samples["native"]) < ROUNDS_MIN or theirs <= noise:
        return None
    rounds = zip(*(values_of(samples, column, name) for column in ("native", "full", "heaptrack")))
    return quartiles([(full - native) / (heaptrack - native) for native, full, heaptrack in rounds
                      if heaptrack > native])


def above_interposer(samples, name):
    """Per cent that sampling adds to the interposer, and the noise of that."""
    base = median(samples, "interposer", name)
    noise = spread(samples, "interposer", name) + spread(samples, "sampled", name)
    return 100 * (median(samples, "sampled", name) / base - 1), 100 * noise / 2 / base


def summary(samples, events, notes):
    medians = {c: {k: median(samples, c, k) for k in ("wall", "all", "cpu", "own", "file")} for c in samples}
    spreads = {c: {k: spread(samples, c, k) / 2 for k in SPREADS} for c in samples}
    result = {"events": events, "samples": samples, "medians": medians, "half_quartile_distance": spreads,
              "goal_wall": GOAL_SHARE_WALL, "notes": notes}
    if "heaptrack" in samples and "full" in samples:
        for name in SPREADS:
            result["ratio_" + name] = ratio(samples, name)
    if "sampled" in samples and "interposer" in samples:
        result["sampled_over_interposer_percent"] = {k: above_interposer(samples, k) for k in SPREADS}
    return result


# --- The table.


def row(label, unit, columns, cell):
    """A line: what `cell` gives for each column, under its name."""
    cells = ["%*s" % (max(10, len(c) + 1), cell(c)) for c in columns]
    print("  %-16s %8s%s" % (label, unit, "".join(cells)))


def show_ratio(what, value, goal):
    if value is None:
        return "%s: not told: heaptrack adds less than the noise, or less than %d rounds" % (what, ROUNDS_MIN)
    low, now, high = value
    verdict = ", goal %.2f: %s" % (goal, "met" if now <= goal else "missed") if goal else ""
    return "%s %.2f [%.2f..%.2f]%s" % (what, now, low, high, verdict)


def show_table(result, columns):
    medians, spreads, events = result["medians"], result["half_quartile_distance"], result["events"]
    print("%s: %s%s" % (result["program"], result["what"], "; %s events" % format(events, ",") if events else ""))
    row("", "", columns, lambda c: c)
    for label, key in (("the program", "wall"), ("until the tool", "all"), ("CPU", "cpu"), ("the program's", "own")):
        row(label, "s", columns, lambda c: "%.3f" % medians[c][key])
        if key in SPREADS:
            row("", "+-", columns, lambda c: "%.3f" % spreads[c][key])
    if events:
        for label, key in (("wall added", "wall"), ("CPU added", "cpu"), ("to the program's", "own")):
            row(label, "ns/event", columns, lambda c: "" if c == "native" else
                "%.1f" % ((medians[c][key] - medians["native"][key]) * 1e9 / events))
        row("to the tool's", "ns/event", columns, lambda c: "" if c == "native" else
            "%.1f" % (((medians[c]["cpu"] - medians[c]["own"]) - (medians["native"]["cpu"] - medians["native"]["own"]))
                      * 1e9 / events))
        row("file", "B/event", columns,
            lambda c: "%.2f" % (medians[c]["file"] / events) if medians[c]["file"] else "")
    if "ratio_wall" in result:
        print("  added, full : heaptrack   %s" % show_ratio("wall", result["ratio_wall"], result["goal_wall"]))
        print("                            %s" % show_ratio("CPU ", result["ratio_cpu"], None))
        print("                            %s" % show_ratio("the program's CPU", result["ratio_own"], None))
    if "sampled_over_interposer_percent" in result:
        parts = ["%s %+.1f %% (+- %.1f)" % (name, *result["sampled_over_interposer_percent"][key])
                 for name, key in (("wall", "wall"), ("CPU", "cpu"), ("the program's", "own"))]
        print("  sampled, over interposer  %s" % ", ".join(parts))


def bytes_an_event(results, names, column):
    """(mean, programs) over those of `names` that were run."""
    each = [r["medians"][column]["file"] / r["events"] for r in results
            if r["program"] in names and r.get("events") and column in r.get("medians", {})]
    return (statistics.mean(each), len(each)) if each else (None, 0)


def show_bytes(results):
    for what, names, goal in BYTES:
        ours, count = bytes_an_event(results, names, "full")
        theirs, _ = bytes_an_event(results, names, "heaptrack")
        if count:
            print("bytes an event, mean of %d %s: %.2f, goal %.1f: %s%s" %
                  (count, what, ours, goal, "met" if ours <= goal else "missed",
                   "; heaptrack's file %.2f" % theirs if theirs else ""))


def show(result, columns):
    if "medians" in result:
        show_table(result, columns)
    else:
        print("%s: %s" % (result["program"], result["what"]))
    if result["pairs"]:
        show_pairs(result["pairs"])
    for note in result.get("notes", []):
        print("  note: %s" % note)
    print(flush=True)


# --- The shares of all programs.


def added(result, column, name):
    return result["medians"][column][name] - result["medians"]["native"][name]


def share(result, name):
    """What full adds to what heaptrack adds: the median of the rounds or, of too few rounds, the ratio of the medians.
    None: heaptrack adds less than the runs differ."""
    told = result["ratio_" + name]
    if told:
        return told[1]
    theirs = added(result, "heaptrack", name)
    too_few = len(result["samples"]["native"]) < ROUNDS_MIN
    return added(result, "full", name) / theirs if too_few and theirs > 0 else None


def shares(results):
    """[{program, raw: heaptrack without its second process, wall and cpu: shares,
    ns: {name: {column: nanoseconds added an event}}}], the worst wall first."""
    found = []
    for result in results:
        if "ratio_wall" in result and result["events"]:
            found.append({"program": result["program"],
                          "raw": any(note.startswith("heaptrack: --raw") for note in result["notes"]),
                          "wall": share(result, "wall"), "cpu": share(result, "cpu"),
                          "ns": {name: {column: added(result, column, name) * 1e9 / result["events"]
                                        for column in ("full", "heaptrack")} for name in ("wall", "cpu")}})
    return sorted(found, key=lambda s: s["wall"] if s["wall"] is not None else -1, reverse=True)


def show_mean(found, what, name, goal):
    told = [s[name] for s in found if s[name] is not None]
    if told:
        mean = statistics.mean(told)
        print("  mean share of %s, %d programs: %.3f, goal %.2f: %s" %
              (what, len(told), mean, goal, "met" if mean <= goal else "missed"))


def show_shares(found):
    if not found:
        return
    print("\nshares of what heaptrack adds, the worst wall first")
    print("  %-18s %6s %6s   %10s %10s   %10s %10s" %
          ("", "wall", "CPU", "wall: ours", "heaptrack", "CPU: ours", "heaptrack"))
    for s in found:
        parts = ["%.2f" % s[name] if s[name] is not None else "?" for name in ("wall", "cpu")]
        print("  %-18s %6s %6s   %10.0f %10.0f   %10.0f %10.0f ns/event" %
              (s["program"] + "*" * s["raw"], *parts, *(s["ns"][name][column] for name in ("wall", "cpu")
                                       for column in ("full", "heaptrack"))))
    missed = [s["program"] for s in found if s["wall"] is not None and s["wall"] > GOAL_SHARE_WALL]
    print("  goal of each share of wall %.2f: %s" %
          (GOAL_SHARE_WALL, "missed by %d of %d" % (len(missed), len(found)) if missed else "met"))
    show_mean(found, "wall", "wall", GOAL_MEAN_WALL)
    show_mean(found, "CPU", "cpu", GOAL_MEAN_CPU)
    if any(s["raw"] for s in found):
        print("  *: heaptrack without its second process, whose CPU time is not counted then")
    if any(s["wall"] is None or s["cpu"] is None for s in found):
        print("  ?: heaptrack adds less than the runs differ among themselves")
