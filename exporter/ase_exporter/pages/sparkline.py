"""Small lines for tables."""

from collections.abc import Sequence

WIDTH, HEIGHT = 460, 60
# Pixels above and below the line, so that its ends are not cut.
_MARGIN = 2


def sparkline(
    points: Sequence[tuple[float, float]], end: float, high: float, width: int = WIDTH, height: int = HEIGHT
) -> str:
    """Values from zero to `high` over places from 0 to `end`, as SVG. A NaN interrupts the line."""
    step, top = width / (end or 1.0), high or 1.0
    lines: list[list[str]] = [[]]
    for at, value in points:
        if value != value:
            lines.append([])
            continue
        share = min(max(value, 0.0) / top, 1.0)
        lines[-1].append(f"{at * step:.1f},{height - _MARGIN - (height - 2 * _MARGIN) * share:.1f}")
    drawn = "".join(
        f'<polyline points="{" ".join(line)}" fill="none" stroke="var(--series-1)" stroke-width="1.5"/>'
        for line in lines
        if line
    )
    return f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">{drawn}</svg>'
