/* chart.js - pictures drawn as SVG: areas, lines, bars, a gauge.
 *
 * A chart is drawn anew at each sample, in the pixels that it has: a few hundred elements a second
 * are nothing, and text stays crisp at every width. Colours are classes, so that the style sheet
 * decides for light and dark. All text goes through textContent. */

const SVG = "http://www.w3.org/2000/svg";

export function element(name, attributes = {}, text = null) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
}

/* An empty picture that fills the box: { svg, width, height }, or null while the box has no
 * size. */
function canvas(box) {
    const width = Math.floor(box.clientWidth);
    const height = Math.floor(box.clientHeight);
    if (width < 40 || height < 20) return null;
    const svg =
        element("svg", {viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true"});
    return {svg, width, height};
}

/* Keeps what a pointer has put into the box beside the picture. */
function show(box, svg) {
    const old = box.querySelector("svg");
    if (old === null)
        box.prepend(svg);
    else
        old.replaceWith(svg);
}

/* A number at or above x that four lines divide into round ones. */
export function roundUp(x) {
    if (!(x > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(x));
    const step =
        [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((one) => one * power >= x * 0.999999);
    return step * power;
}

function grid(svg, {left, top, right, bottom}, highest, label, lines) {
    for (let i = 0; i <= lines; i++) {
        const y = Math.round(bottom - (bottom - top) * i / lines) + 0.5;
        svg.append(
            element("line", {x1: left, x2: right, y1: y, y2: y, class: i ? "grid" : "base"}));
        if (i > 0) {
            svg.append(element(
                "text", {x: left - 8, y: y + 4, class: "tick end"}, label(highest * i / lines)));
        }
    }
}

/* The times below a chart of the last span_ms. */
function times(svg, {left, right, bottom}, span_ms, parts) {
    for (let i = 0; i <= parts; i++) {
        const seconds = span_ms * i / parts / 1000;
        const ago = seconds % 60 === 0 ? `${seconds / 60} min ago` : `${seconds} s ago`;
        const side = i === 0 ? "end" : i === parts ? "" : "middle";
        svg.append(element("text",
            {x: right - (right - left) * i / parts, y: bottom + 17, class: `tick ${side}`},
            i === 0 ? "now" : ago));
    }
}

/* How much time a chart shows: as little as holds the samples, so that a page just opened is not
 * empty. */
function spanOf(entries) {
    const length =
        entries.length === 0 ? 0 : entries[entries.length - 1].time_ms - entries[0].time_ms;
    return [60000, 120000, 300000].find((span) => length <= span) ?? 300000;
}

/* Entries without a gap between them, and within the span. */
function runs(entries, from) {
    const found = [[]];
    for (const entry of entries) {
        if (entry.sample === null)
            found.push([]);
        else if (entry.time_ms >= from)
            found[found.length - 1].push(entry);
    }
    return found.filter((run) => run.length > 0);
}

/* Areas on top of each other. series: [{ name, of(sample) }]. Returns how to find what is at
 * an x. */
export function drawAreas(box, entries, series, label) {
    const span_ms = spanOf(entries);
    const made = canvas(box);
    if (made === null) return null;
    const {svg, width, height} = made;
    const area = {left: 52, top: 10, right: width - 4, bottom: height - 26};
    const now = entries.length === 0 ? 0 : entries[entries.length - 1].time_ms;
    const from = now - span_ms;
    const all = runs(entries, from);
    const stacked = (sample) => series.reduce((at, one) => at + (one.of(sample) || 0), 0);
    const highest = roundUp(Math.max(...all.flat().map((entry) => stacked(entry.sample)), 4));
    const x = (time) => area.left + (area.right - area.left) * (time - from) / span_ms;
    const y = (value) => area.bottom - (area.bottom - area.top) * value / highest;
    grid(svg, area, highest, label, 4);
    times(svg, area, span_ms, width < 460 ? 1 : span_ms === 300000 ? 5 : 4);
    for (const run of all) {
        let below = run.map(() => 0);
        for (const one of series) {
            const above = run.map((entry, i) => below[i] + (one.of(entry.sample) || 0));
            svg.append(band(run, below, above, x, y, one.name));
            below = above;
        }
    }
    show(box, svg);
    return {
        area,
        height,
        x,
        at: (pixel) =>
            nearest(all.flat(), from + span_ms * (pixel - area.left) / (area.right - area.left))
    };
}

function band(run, below, above, x, y, name) {
    const point = (entry, value) => `${x(entry.time_ms).toFixed(1)},${y(value).toFixed(1)}`;
    /* One sample alone is as wide as a second, or it would not be seen. */
    const first = run.length === 1 ? [{time_ms: run[0].time_ms - 1000}] : [];
    const there =
        [...first, ...run].map((entry, i) => point(entry, above[Math.max(i - first.length, 0)]));
    const back =
        [...first, ...run].map((entry, i) => point(entry, below[Math.max(i - first.length, 0)]));
    return element(
        "polygon", {points: [...there, ...back.reverse()].join(" "), class: `fill-${name}`});
}

function nearest(entries, time) {
    let found = null;
    for (const entry of entries) {
        if (found === null || Math.abs(entry.time_ms - time) < Math.abs(found.time_ms - time))
            found = entry;
    }
    return found !== null && Math.abs(found.time_ms - time) < 5000 ? found : null;
}

/* Lines. series: [{ name, of(sample) }]; label turns a value into text. The scale begins at 0. */
export function drawLines(box, entries, series, {label, round}) {
    const span_ms = spanOf(entries);
    const made = canvas(box);
    if (made === null) return;
    const {svg, width, height} = made;
    const area = {left: 66, top: 8, right: width - 6, bottom: height - 8};
    const now = entries.length === 0 ? 0 : entries[entries.length - 1].time_ms;
    const from = now - span_ms;
    const all = runs(entries, from);
    const values = all.flat().flatMap((entry) => series.map((one) => one.of(entry.sample) || 0));
    const highest = round(Math.max(...values, 0));
    grid(svg, area, highest, label, 2);
    for (const run of all) {
        for (const one of series) {
            const points = run.map((entry) => {
                const x = area.left + (area.right - area.left) * (entry.time_ms - from) / span_ms;
                const y =
                    area.bottom - (area.bottom - area.top) * (one.of(entry.sample) || 0) / highest;
                return `${x.toFixed(1)},${y.toFixed(1)}`;
            });
            if (points.length > 1) {
                svg.append(
                    element("polyline", {points: points.join(" "), class: `line-${one.name}`}));
            }
            const [cx, cy] = points[points.length - 1].split(",");
            svg.append(element("circle", {cx, cy, r: 2.5, class: `dot-${one.name}`}));
        }
    }
    show(box, svg);
}

/* Bars side by side. bars: [{ share: 0 to 1, below: whether under 0, label }]. */
export function drawBars(box, bars, {ticks}) {
    const made = canvas(box);
    if (made === null) return null;
    const {svg, width, height} = made;
    const area = {left: 52, top: 10, right: width - 4, bottom: height - 26};
    grid(svg, area, 1, (share) => ticks[Math.round(share * 4) - 1] ?? "", 4);
    const step = (area.right - area.left) / Math.max(bars.length, 1);
    const gap = Math.min(3, step * 0.25);
    const places = Math.max(1, Math.ceil(bars.length / Math.max(2, Math.floor(width / 90))));
    const wide = Math.min(step - gap, 56);
    bars.forEach((bar, i) => {
        const tall = Math.max(bar.share * (area.bottom - area.top), bar.share > 0 ? 1 : 0);
        const x = area.left + step * i;
        svg.append(element("rect", {
            x: (x + gap / 2).toFixed(1),
            y: (area.bottom - tall).toFixed(1),
            width: wide.toFixed(1),
            height: tall.toFixed(1),
            rx: Math.min(2, step / 8),
            class: bar.below ? "bar below" :
                bar.last     ? "bar last" :
                               "bar"
        }));
        if ((bars.length - 1 - i) % places === 0) {
            /* A name in the middle of the last bar would not fit beside the edge. */
            const end = x + wide / 2 > area.right - 24;
            svg.append(element("text", {
                x: end ? area.right : x + wide / 2,
                y: area.bottom + 17,
                class: end ? "tick end" : "tick middle"
            },
                bar.label));
        }
    });
    show(box, svg);
    return {area, at: (pixel) => Math.floor((pixel - area.left) / step), step};
}

/* A number against its target, on a scale of powers of ten. */
export function drawGauge(box, now, target, label) {
    const made = canvas(box);
    if (made === null) return;
    const {svg, width} = made;
    const middle = Math.log10(target);
    const [low, high] = [Math.floor(middle - 4), Math.min(0, Math.ceil(middle + 2))];
    const [left, right, y] = [14, width - 14, 44];
    const x = (power) => left + (right - left) * (power - low) / (high - low);
    const at = now > 0 ? Math.min(Math.max(Math.log10(now), low), high) : low;
    svg.append(
        element("rect", {x: left, y, width: right - left, height: 10, rx: 5, class: "track"}));
    svg.append(element("rect",
        {x: x(middle), y, width: right - x(middle), height: 10, rx: 5, class: "track-over"}));
    svg.append(element("rect", {
        x: left,
        y,
        width: Math.max(x(at) - left, 5),
        height: 10,
        rx: 5,
        class: now > target ? "track-now over" : "track-now"
    }));
    svg.append(
        element("line", {x1: x(middle), x2: x(middle), y1: y - 8, y2: y + 18, class: "target"}));
    svg.append(element(
        "text", {x: x(middle), y: y - 14, class: "tick middle strong"}, `target ${label(target)}`));
    svg.append(element("circle", {
        cx: Math.max(x(at), left + 5),
        cy: y + 5,
        r: 8,
        class: now > target ? "needle over" : "needle"
    }));
    const edge = x(at) < 60 ? "" : x(at) > width - 60 ? "end" : "middle";
    svg.append(element("text", {
        x: edge === ""     ? left :
            edge === "end" ? right :
                             x(at),
        y: y + 34,
        class: `tick ${edge} strong`
    },
        `now ${label(now)}`));
    show(box, svg);
}

/* The ids of a window by their age, as they drift from now, at the right, to where they are
 * forgotten. An area is as large as its ids are many. */
export function drawAges(box, ages, window_ms, label) {
    const made = canvas(box);
    if (made === null) return;
    const {svg, width, height} = made;
    const [left, right, top, bottom] = [1, width - 1, 4, height - 24];
    const x = (age) => right - (right - left) * Math.min(age / window_ms, 1);
    const dense = (one) => Number(one.ids) / Math.max(one.to_ms - one.from_ms, 1000);
    const highest = Math.max(...ages.map(dense), Number.MIN_VALUE);
    svg.append(
        element("line", {x1: left, x2: right, y1: bottom + 0.5, y2: bottom + 0.5, class: "base"}));
    svg.append(element("line", {x1: left, x2: left, y1: top, y2: bottom, class: "brink"}));
    for (const one of ages.filter(({ids}) => ids !== "0")) {
        const tall = Math.max((bottom - top) * dense(one) / highest, 2);
        const wide = Math.max(x(one.from_ms) - x(one.to_ms), 2);
        svg.append(element("rect", {
            x: Math.max(x(one.from_ms) - wide, left),
            y: bottom - tall,
            width: wide,
            height: tall,
            class: ageClass(one.from_ms, window_ms)
        }));
    }
    const names = [`forgotten after ${label(window_ms)}`, `${label(window_ms / 2)} ago`, "now"];
    names.forEach((name, i) => {
        if (i === 1 && width < 380) return;
        svg.append(element("text", {
            x: [left, (left + right) / 2, right][i],
            y: bottom + 17,
            class: `tick ${["", "middle", "end"][i]}`
        },
            name));
    });
    show(box, svg);
}

/* The older, the paler: one of five. */
export function ageClass(age_ms, window_ms) {
    return `age-${Math.floor(Math.min(age_ms / (window_ms || 1), 1) * 4.999)}`;
}

/* A bar in a cell of a table, as long as its share. */
export function drawShare(svg, share, name) {
    let rect = svg.firstChild;
    if (rect === null) {
        rect = element("rect", {y: 0, height: "100%", rx: 2});
        svg.append(rect);
    }
    rect.setAttribute("class", name);
    rect.setAttribute("width", `${(share * 100).toFixed(2)}%`);
}
