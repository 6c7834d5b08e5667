# SPDX-License-Identifier: MIT
"""The picture of ci/demo two-jobs: requests of the server above, the batch job below, for each mode."""

from .two_jobs import MODES, Mode

WIDTH, LEFT, TOP, LANE, GAP = 1000, 130, 34, 18, 6
SHOWN_REQUESTS = 6
COLOURS = {"request": "#c0392b", "ran": "#2e86c1", "held": "#d6dbdf"}
LEGEND = {"request": "request of the server", "ran": "batch job may run", "held": "batch job stopped"}


def text(x: float, y: float, words: str, extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{extra}>{words}</text>'


def bar(left: float, right: float, y: float, kind: str) -> str:
    """At least a pixel wide, so that a short request is seen."""
    width = max(right - left, 1)
    return f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{LANE}" fill="{COLOURS[kind]}"/>'


def lanes(mode: Mode, y: float, span: int) -> list[str]:
    requests = mode.requests()
    begin = requests[0][0]
    end = begin + span

    def x(clock: int) -> float:
        return LEFT + (min(max(clock, begin), end) - begin) * WIDTH / span

    parts = [text(LEFT - 8, y + LANE, MODES.get(mode.name, mode.name), ' text-anchor="end" font-weight="bold"')]
    parts += [bar(x(first), x(last), y, "request") for first, last in requests if first < end]
    if mode.kernels:
        y += LANE + GAP
        parts.append(bar(x(begin), x(end), y, "ran"))
        parts += [bar(x(first), x(last), y, "held") for first, last in mode.stops if last > begin and first < end]
    return parts


def axis(y: float, span: int) -> list[str]:
    """In millions of wave instructions."""
    parts = [f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#888"/>']
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 10**9) if span / 1e6 / step <= 12)
    for million in range(0, int(span / 1e6) + 1, step):
        x = LEFT + million * 1e6 * WIDTH / span
        parts.append(f'<line x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{y + 5}" stroke="#888"/>')
        parts.append(text(x, y + 18, f"{million} M", ' text-anchor="middle" fill="#555"'))
    parts.append(text(LEFT - 8, y + 18, "wave instructions", ' text-anchor="end" fill="#555"'))
    return parts


def svg(modes: list[Mode]) -> str:
    """All modes on one scale, each from its first measured request on."""
    shown = [mode for mode in modes if mode.requests()]
    span = max((mode.requests()[:SHOWN_REQUESTS][-1][1] - mode.requests()[0][0] for mode in shown), default=1)
    parts: list[str] = []
    for i, (kind, words) in enumerate(LEGEND.items()):
        parts += [bar(LEFT + 220 * i, LEFT + 220 * i + LANE, 8, kind), text(LEFT + 220 * i + 26, 22, words)]
    y = float(TOP + GAP)
    for mode in shown:
        parts += lanes(mode, y, span)
        y += (2 if mode.kernels else 1) * (LANE + GAP) + 2 * GAP
    parts += axis(y, span)
    body = "\n".join(parts)
    return (
        f'<!-- SPDX-License-Identifier: MIT -->\n<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 30}" height="{y + 30:.0f}"'
        f' font-family="sans-serif" font-size="13">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )
