"""Draws what tests/bench/fleet growth has measured."""
import json

WIDTH, HEIGHT, COLUMNS = 340, 240, 2
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 70, 34
ONE, ALL = False, True  # one collector, and several that share a data base
# A line: its label, of which collectors, what of the results, and what one of that is in the panel's unit.
PANELS = (
    ("CPU of a snapshot of all", "s", (("one collector's command", ONE, "snapshot_cpu", 1), ("all {} commands", ALL, "snapshot_cpu", 1))),
    ("CPU", "s a second", (("one collector", ONE, "cpu", 1), ("all {}", ALL, "cpu", 1), ("ClickHouse, 3 servers", ALL, "clickhouse_cpu", 1),
                           ("what plays the agents", ALL, "player_cpu", 1))),
    ("Memory", "MiB resident", (("one collector", ONE, "resident_kib", 1 / 1024), ("the largest of {}", ALL, "resident_kib", 1 / 1024),
                                ("the largest ClickHouse", ALL, "clickhouse_kib", 1 / 1024))),
    ("Questions about the fleet", "s", (("fleet: one collector", ONE, "fleet", 1), ("fleet --store", ALL, "fleet", 1),
                                        ("fleet --top --store", ALL, "top", 1), ("list --store", ALL, "list", 1))),
)
STYLE = """
  .page { fill: #ffffff } .text { fill: #24292f } .dim { fill: #57606a } .rule { stroke: #d0d7de }
  .line0 { stroke: #0072b2 } .dot0 { fill: #0072b2 } .line1 { stroke: #d55e00 } .dot1 { fill: #d55e00 }
  .line2 { stroke: #009e73 } .dot2 { fill: #009e73 } .line3 { stroke: #8250df } .dot3 { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #e6edf3 } .dim { fill: #9198a1 } .rule { stroke: #30363d }
    .line0 { stroke: #58a6ff } .dot0 { fill: #58a6ff } .line1 { stroke: #ffa657 } .dot1 { fill: #ffa657 }
    .line2 { stroke: #3fb950 } .dot2 { fill: #3fb950 } .line3 { stroke: #bc8cff } .dot3 { fill: #bc8cff }
  }
"""


def step_of(most):
    """A round distance of lines, so that there are three to six."""
    step = 1e-3
    while True:
        for factor in (1, 2, 5):
            if most / (step * factor) <= 5:
                return step * factor
        step *= 10


def number(value):
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def lines_of(series, results):
    """A label and its points; only those that were measured."""
    several = max(r["collectors"] for r in results)
    for label, shared, name, scale in series:
        points = [(r["agents"], r[name] * scale) for r in results if (r["collectors"] > 1) == shared]
        if points:
            yield label.format(several), points


def panel(title, unit, series, results, left, top):
    agents, lines = sorted({r["agents"] for r in results}), list(lines_of(series, results))
    most = max(value for _, points in lines for _, value in points)
    step = step_of(most)
    end = step * (int(most / step) + 1)
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    x = lambda n: left + LEFT + wide * n / max(agents)
    y = lambda v: top + TOP + high * (1 - v / end)
    out = [f'<text class="text" x="{left + 10}" y="{top + 18}" font-weight="600">{title}</text>',
           f'<text class="dim" x="{left + WIDTH - RIGHT}" y="{top + 18}" text-anchor="end">{unit}</text>']
    for i in range(int(end / step + 0.5) + 1):
        out.append(f'<line class="rule" x1="{x(0):.1f}" x2="{x(max(agents)):.1f}" y1="{y(i * step):.1f}" y2="{y(i * step):.1f}"/>'
                   f'<text class="dim" x="{x(0) - 6:.1f}" y="{y(i * step) + 4:.1f}" text-anchor="end">{number(i * step)}</text>')
    for n in agents:
        out.append(f'<text class="dim" x="{x(n):.1f}" y="{top + HEIGHT - BOTTOM + 16}" text-anchor="middle">{n:,}</text>')
    for i, (label, values) in enumerate(lines):
        points = [(x(n), y(value)) for n, value in values]
        out.append(f'<polyline class="line{i}" fill="none" stroke-width="2" points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in points)}"/>')
        out += [f'<circle class="dot{i}" cx="{px:.1f}" cy="{py:.1f}" r="3"/>' for px, py in points]
        at, under = left + 14 + i % 2 * WIDTH // 2, top + 36 + i // 2 * 15
        out.append(f'<circle class="dot{i}" cx="{at}" cy="{under - 4}" r="3"/><text class="text" x="{at + 8}" y="{under}">{label}</text>')
    return out


def draw(source, target):
    with open(source) as file:
        results = json.load(file)
    wide, high = COLUMNS * WIDTH, -(-len(PANELS) // COLUMNS) * HEIGHT + 18
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
           'font-family="system-ui, sans-serif" font-size="12">',
           "<title>What collectors take as their fleet grows</title>", f"<style>{STYLE}</style>", f'<rect class="page" width="{wide}" height="{high}"/>']
    for i, (title, unit, series) in enumerate(PANELS):
        out += panel(title, unit, series, results, i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT)
    out.append(f'<text class="dim" x="{wide / 2}" y="{high - 8}" text-anchor="middle">agents</text>')
    out.append("</svg>")
    with open(target, "w") as file:
        file.write("\n".join(out) + "\n")
