"""Draws what tests/bench/fleet growth has measured."""
import json

WIDTH, HEIGHT, COLUMNS = 340, 210, 2
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 40, 34
PANELS = (
    ("Snapshot of all agents", "s", (("from the order until it is stored", "snapshot", 1), ("CPU of the command", "snapshot_cpu", 1))),
    ("CPU of the collector", "s a second", (("", "cpu", 1),)),
    ("Memory of the collector", "MiB resident", (("", "resident_kib", 1 / 1024),)),
    ("Questions about the fleet", "s", (("heapcast list", "list", 1), ("heapcast fleet", "fleet", 1))),
)
STYLE = """
  .page { fill: #ffffff } .text { fill: #24292f } .dim { fill: #57606a } .rule { stroke: #d0d7de }
  .line0 { stroke: #0072b2 } .dot0 { fill: #0072b2 } .line1 { stroke: #d55e00 } .dot1 { fill: #d55e00 }
  .goal { stroke: #57606a }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #e6edf3 } .dim { fill: #9198a1 } .rule { stroke: #30363d }
    .line0 { stroke: #58a6ff } .dot0 { fill: #58a6ff } .line1 { stroke: #ffa657 } .dot1 { fill: #ffa657 }
    .goal { stroke: #9198a1 }
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


def panel(title, unit, series, results, left, top):
    agents = [r["agents"] for r in results]
    most = max(max(r[name] * scale for r in results) for _, name, scale in series)
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
    for i, (label, name, scale) in enumerate(series):
        points = [(x(r["agents"]), y(r[name] * scale)) for r in results]
        out.append(f'<polyline class="line{i}" fill="none" stroke-width="2" points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in points)}"/>')
        out += [f'<circle class="dot{i}" cx="{px:.1f}" cy="{py:.1f}" r="3"/>' for px, py in points]
        if label:
            out.append(f'<circle class="dot{i}" cx="{left + LEFT + 8}" cy="{top + TOP + 4 + 15 * i}" r="3"/>'
                       f'<text class="text" x="{left + LEFT + 16}" y="{top + TOP + 8 + 15 * i}">{label}</text>')
    return out


def draw(source, target):
    with open(source) as file:
        results = json.load(file)
    wide, high = COLUMNS * WIDTH, -(-len(PANELS) // COLUMNS) * HEIGHT + 18
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
           'font-family="system-ui, sans-serif" font-size="12">',
           "<title>What a collector takes as its fleet grows</title>", f"<style>{STYLE}</style>", f'<rect class="page" width="{wide}" height="{high}"/>']
    for i, (title, unit, series) in enumerate(PANELS):
        out += panel(title, unit, series, results, i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT)
    out.append(f'<text class="dim" x="{wide / 2}" y="{high - 8}" text-anchor="middle">agents at one collector</text>')
    out.append("</svg>")
    with open(target, "w") as file:
        file.write("\n".join(out) + "\n")
