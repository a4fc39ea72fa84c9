#!/usr/bin/python3
"""Draws the two pictures that explain W and e: docs/pictures/window-sliding.svg and false-positive.svg.

usage: tools/pictures.py

They show no measurement. A test draws them again and compares, so change them here.
"""

import html
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/pictures"

STYLE = """
  text { font: 14px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .small { font-size: 12.5px; fill: #59636e }
  .in { fill: #ffffff; font-weight: 600; font-size: 12.5px }
  .axis { stroke: #8c959f; stroke-width: 1.2; fill: none }
  .line { stroke: #59636e; stroke-width: 1.5; fill: none; marker-end: url(#head) }
  .head { fill: #59636e }
  .window { fill: #ddf4ff; stroke: #0969da; stroke-width: 1.4 }
  .box { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.2 }
  .known { fill: #0969da }
  .gone { fill: none; stroke: #8c959f; stroke-width: 1.4; stroke-dasharray: 3 3 }
  .good { fill: #1a7f37 }
  .bad { fill: #bc4c00 }
  .warn { fill: #bc4c00; font-weight: 600 }
  .fine { fill: #1a7f37; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .small { fill: #b1bac4 }
    .in { fill: #0d1117 }
    .axis { stroke: #656c76 }
    .line { stroke: #9198a1 }
    .head { fill: #9198a1 }
    .window { fill: #0c2d6b; stroke: #4493f8 }
    .box { fill: #151b23; stroke: #656c76 }
    .known { fill: #4493f8 }
    .gone { stroke: #656c76 }
    .good { fill: #3fb950 }
    .bad { fill: #f0883e }
    .warn { fill: #f0883e }
    .fine { fill: #3fb950 }
  }
"""
HEAD = ('<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M 0 0 L 10 5 L 0 10 z"/></marker></defs>')


def picture(width, height, label, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img" aria-label="{html.escape(label)}">',
                      f"<!-- drawn by tools/pictures.py -->\n<style>{STYLE}</style>", HEAD, *parts, "</svg>\n"])


def text(x, y, words, kind="", anchor=""):
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{kind} x="{x:g}" y="{y:g}"{anchor}>{html.escape(words)}</text>'


def dot(x, y, name, kind):
    mark = f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="13"/>'
    return [mark, text(x, y + 4.5, name, "small" if kind == "gone" else "in", "middle")]


def window_sliding():
    """Three moments of the same stream: within W, a moment later, and after W."""
    left, unit, span = 40, 58, 5
    moments = [
        (5, "a", "a again, within W: a duplicate, nothing changes", "fine", "known"),
        (7, "e", "e is fresh: counted; a has been forgotten", "fine", "good"),
        (8, "a", "a again, later than W: nobody knows it any more. It counts again,", "warn", "bad"),
    ]
    more = {2: "or, if events carry their own time, it is late and reported. So choose W longer than any retry."}
    stream = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    parts = [text(16, 26, "The window slides: ids of the last W are remembered, and no others", "title")]
    for row, (now, name, says, kind, mark) in enumerate(moments):
        y = 86 + row * 116
        x_now = left + now * unit
        parts.append(f'<rect class="window" x="{x_now - span * unit + 20:g}" y="{y - 24}" '
                     f'width="{span * unit:g}" height="48" rx="6"/>')
        parts.append(text(x_now - span * unit + 28, y - 31, "W", "small"))
        parts.append(text(x_now + 12, y - 31, "now", "small", "end"))
        parts.append(f'<path class="axis" d="M {left - 24} {y} H {left + 9.4 * unit:g}"/>')
        seen = stream + ([(5, "a'")] if row > 0 else []) + ([(7, "e")] if row > 1 else [])
        for time, one in seen:
            if time >= now or one == "a'":
                continue
            parts += dot(left + time * unit, y, one, "known" if time > now - span + 0.3 else "gone")
        parts += dot(x_now, y, name, mark)
        parts.append(text(left - 24, y + 46, says, kind))
        if row in more:
            parts.append(text(left - 24, y + 66, more[row], "small"))
    return picture(660, 416, "The window slides over a stream of events", parts)


def box(x, y, width, height, lines, kind="box"):
    parts = [f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>']
    first = y + height / 2 - (len(lines) - 1) * 9 + 5
    for i, line in enumerate(lines):
        parts.append(text(x + width / 2, first + i * 18, line, "" if i == 0 else "small", "middle"))
    return parts


def false_positive():
    """The same road for three events; the third meets the fingerprint of another id."""
    rows = [
        ("order-41", "fresh", "9c 02 71", "not there", "counted", "total 41", "fine"),
        ("order-41", "a retry", "9c 02 71", "there", "a duplicate", "total 41", "fine"),
        ("order-97", "fresh", "9c 02 71", "there, of order-41", "taken for a duplicate", "total 41, not 42", "warn"),
    ]
    parts = [text(16, 26, "What a false positive does: one event is not counted. Nothing else goes wrong.", "title")]
    heads = [(88, "an event"), (272, "fingerprint of its id"), (452, "in the window?"), (642, "outcome")]
    parts += [text(x, 56, words, "small", "middle") for x, words in heads]
    for i, (name, state, print_, there, outcome, total, kind) in enumerate(rows):
        y = 68 + i * 72
        parts += box(16, y, 144, 52, [name, state])
        parts += box(212, y, 120, 52, [print_])
        parts += box(384, y, 136, 52, [there], "box" if there == "not there" else "window")
        parts.append(text(572, y + 23, outcome, kind))
        parts.append(text(572, y + 42, total, "small"))
        parts += [f'<path class="line" d="M {a} {y + 26} H {b}"/>' for a, b in ((160, 210), (332, 382), (520, 564))]
    y = 68 + 3 * 72 + 16
    parts.append(text(16, y, "Two ids share a fingerprint with probability e at most: one event in a million at "
                             "1e-6 (32 bits an id),", "small"))
    parts.append(text(16, y + 19, "one in a trillion at 1e-12 (57 bits an id). It never makes a total too "
                                  "high, and the number expected so far can be read.", "small"))
    return picture(760, y + 36, "What a false positive does", parts)


PICTURES = {"window-sliding.svg": window_sliding, "false-positive.svg": false_positive}


def main():
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
        print((FOLDER / name).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
