/* panels.js - the panels of the page: each function writes one of them from a sample.
 *
 * I1  The document is changed only where a text differs, so that a selection, the focus and a
 *     screen reader's place survive the next second. Rows stay where they are and get new contents.
 * I2  Text from the server goes through textContent, never into markup. */

import {between, bytes, clock, duration, exact, keyIdentity, keyText, latency, many, percent, rate,
    small, tick} from "./format.js";
import {ageClass, drawAges, drawAreas, drawGauge, drawLines, drawShare, element,
    roundUp} from "./chart.js";
import {duplicateShares, growth, NOT_COUNTED, OUTCOMES, rateOf, ratio, verdict} from "./model.js";

export function byId(id) {
    return document.getElementById(id);
}

export function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

export function put(id, text) {
    setText(byId(id), text);
}

/* As many rows as there are entries; make(row) fills a new one, write(row, entry) each. */
export function setRows(body, entries, make, write) {
    while (body.children.length > entries.length) body.lastChild.remove();
    while (body.children.length < entries.length) {
        const row = document.createElement(body.tagName === "TBODY" ? "tr" : "li");
        make(row);
        body.append(row);
    }
    entries.forEach((entry, i) => write(body.children[i], entry));
}

export function cell(row, name = "td", className = "") {
    const made = document.createElement(name);
    if (name === "th") made.scope = "row";
    made.className = className;
    row.append(made);
    return made;
}

function barCell(row) {
    const made = cell(row, "td", "bar-cell");
    made.setAttribute("aria-hidden", "true");
    made.append(element("svg", {class: "share"}));
}

/* live is false if the server is lost: then nobody knows whether it is still so. */
export function showVerdict(sample, live) {
    const found = verdict(sample);
    if (!live) found.level = "past";
    const strain = sample.strain ?? [];
    byId("verdict").dataset.level = found.level;
    put("verdict-title",
        live ? found.title : `Last seen at ${clock(sample.time_ms)}: ${lowered(found.title)}`);
    put("verdict-text", found.text);
    put("verdict-note", found.note);
    setRows(byId("strain"), strain,
        (item) => {
            for (const name of ["strain-text", "strain-remedy"]) {
                const line = document.createElement("p");
                line.className = name;
                item.append(line);
            }
        },
        (item, one) => {
            item.dataset.code = one.code;
            setText(item.children[0], one.text ?? one.code);
            setText(item.children[1], one.remedy ? `What to do: ${one.remedy}` : "");
        });
    return found;
}

function lowered(title) {
    return title.charAt(0).toLowerCase() + title.slice(1);
}

export function showTiles(sample, history) {
    const shares = duplicateShares(sample, history);
    const minute = history.last(60000);
    const mean = minute.reduce((all, one) => all + (one.rate?.applied ?? 0), 0) / minute.length;
    const {window = {}} = sample;
    put("tile-rate", rate(rateOf(sample, OUTCOMES.map((outcome) => outcome.name))));
    put("tile-rate-more", `${rate(mean)} counted a second, over the last minute`);
    put("tile-total", exact(sample.totals?.applied));
    const counters = sample.counters ?? "0";
    put("tile-total-more", counters === "0" ? "events" : `events, in ${many(counters, "counter")}`);
    const share = Number.isNaN(shares.minute) ? shares.ever : shares.minute;
    put("tile-share", percent(share));
    put("tile-share-more",
        Number.isNaN(shares.minute) ? "of all events so far" :
                                      `in the last minute; ${percent(shares.ever)} so far`);
    put("tile-error", small(window.error_now));
    put("tile-error-more",
        window.error_target > 0 ? `target ${small(window.error_target)}` :
                                  "ids are compared exactly");
    put("tile-memory", bytes(sample.memory_bytes));
    put("tile-memory-more", `${bytes(window.memory_bytes)} of it for the window`);
    const {open = "0", ended = "0", held = "0"} = sample.holds ?? {};
    byId("tile-holds").hidden = open === "0" && ended === "0";
    put("tile-held", exact(held));
    put("tile-held-more", `by ${many(open, "open hold")}`);
    put("tile-disk", bytes(sample.disk_bytes));
    put("tile-disk-more",
        Number.isFinite(sample.fold_age_s) && sample.fold_age_s >= 0 ?
            `last fold ${duration(sample.fold_age_s * 1000)} ago` :
            "");
}

/* The outcomes that occurred, and always the first two. */
function occurring(sample, history) {
    return OUTCOMES.filter(({name}, i) => i < 2 || (sample.totals?.[name] ?? "0") !== "0" ||
            history.samples().some((one) => one.rate?.[name] > 0));
}

export function showOutcomes(sample, history) {
    const outcomes = occurring(sample, history);
    setRows(byId("outcomes"), outcomes,
        (row) => {
            const name = cell(row, "th");
            name.append(
                element("svg", {class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true"}),
                document.createElement("span"));
            name.firstChild.append(element("rect", {width: 10, height: 10, rx: 2}));
            cell(row);
            cell(row);
        },
        (row, {name, means}) => {
            row.dataset.outcome = name;
            row.title = `${name}: ${means}`;
            row.querySelector("rect").setAttribute("class", `fill-${name}`);
            setText(row.querySelector("span"), name);
            setText(row.children[1], rate(sample.rate?.[name] ?? 0));
            setText(row.children[2], exact(sample.totals?.[name] ?? "0"));
        });
    const series = outcomes.map(({name}) => ({name, of: (one) => one.rate?.[name]}));
    const most =
        Math.max(...history.samples().map((one) => rateOf(one, OUTCOMES.map((o) => o.name))), 0);
    put("rate-summary", `At most ${rate(most)} events a second here.`);
    return drawAreas(byId("rate-chart"), history.entries, series, tick(rate));
}

/* At most 8 slices of age: neighbours are put together, the youngest ones last. */
const MOST_SLICES = 8;

function slices(ages) {
    const each = Math.ceil(ages.length / MOST_SLICES);
    const found = [];
    for (let i = 0; i < ages.length; i += each) {
        const group = ages.slice(i, i + each);
        const ids = group.reduce((all, one) => all + BigInt(one.ids), 0n);
        found.push(
            {from_ms: group[0].from_ms, to_ms: group[group.length - 1].to_ms, ids: String(ids)});
    }
    return found;
}

export function showWindow(sample) {
    const window = sample.window ?? {};
    const all = [...(window.ages ?? [])].sort((a, b) => a.from_ms - b.from_ms);
    const ages = slices(all.filter(({ids}) => ids !== "0"));
    const most = ages.reduce((top, one) => (BigInt(one.ids) > top ? BigInt(one.ids) : top), 0n);
    const oldest = ages.length === 0 ? 0 : Math.max(ages[ages.length - 1].to_ms, 1000);
    /* A table knows the age of its oldest id only roughly. */
    const oldestText = ages.length === 0 ? "" :
        sample.table === undefined       ? ` The oldest was counted ${duration(oldest)} ago.` :
                                           ` None was counted more than ${duration(oldest)} ago.`;
    put("window-text",
        `${many(window.ids ?? 0, "id")} of the last ${
            duration(window.window_ms)}: a retry within ` +
            `that time is recognised.${oldestText}`);
    byId("window-table").hidden = ages.length === 0;
    drawAges(byId("ages-chart"), all, window.window_ms || 1, duration);
    setRows(byId("ages"), ages,
        (row) => {
            cell(row, "th");
            cell(row);
            barCell(row);
            cell(row);
        },
        (row, one) => {
            setText(row.children[0],
                one.from_ms < 1000 ? `last ${duration(Math.max(one.to_ms, 1000))}` :
                                     `${between(one.from_ms, one.to_ms)} ago`);
            setText(row.children[1], exact(one.ids));
            drawShare(row.querySelector("svg"), ratio(one.ids, String(most)),
                ageClass(one.from_ms, window.window_ms));
            setText(row.children[3], forgotten(window.window_ms, one));
        });
}

/* From when on the ids of a slice are forgotten: its oldest ones leave first. */
function forgotten(window_ms, {to_ms}) {
    const first = window_ms - to_ms;
    return first < 1000 ? "now" : `in ${duration(first)}`;
}

export function showError(sample) {
    const window = sample.window ?? {};
    const known = Number.isFinite(window.error_target) && window.error_target > 0;
    put("error-text",
        known ? `A fresh event is taken for a duplicate with a probability of ` +
                `${small(window.error_now)}. The target is at most ${small(window.error_target)}.` :
                "Ids are compared exactly: no fresh event is taken for a duplicate.");
    byId("error-gauge").hidden = !known;
    if (known) drawGauge(byId("error-gauge"), window.error_now, window.error_target, small);
    showLedger(sample.ledger ?? null);
    const bits = BigInt(window.ids ?? 0) > 0n ? window.memory_bytes * 8 / Number(window.ids) : NaN;
    showFacts(byId("error-facts"), [
        [
            "Expected to be dropped wrongly",
            Number.isFinite(window.expected_lost) ?
                `${small(window.expected_lost)} events since the start` :
                ""
        ],
        ["Kind of window", window.kind ?? ""],
        ["Ids remembered", exact(window.ids)],
        ["Memory of the window", bytes(window.memory_bytes)],
        ["Memory per id", bits < 1000 ? `${rate(bits / 8)} bytes` : ""],
    ]);
}

function showLedger(ledger) {
    byId("ledger").hidden = ledger === null;
    if (ledger === null) return;
    const full = ratio(ledger.ids, ledger.capacity);
    put("ledger-text",
        `${exact(ledger.ids)} ids on disk, ${percent(full)} of the planned ` +
            `${exact(ledger.capacity)}. Its error now is ${small(ledger.error_now)}.`);
    const box = byId("ledger-gauge");
    if (box.firstChild === null)
        box.append(element("svg", {class: "share", "aria-hidden": "true"}));
    drawShare(box.firstChild, full, full > 0.9 ? "age-0 over" : "age-0");
}

export function showFacts(box, facts) {
    const known = facts.filter(([, value]) => value !== "" && value !== "–");
    while (box.children.length > known.length) box.lastChild.remove();
    while (box.children.length < known.length) {
        const line = document.createElement("div");
        line.append(document.createElement("dt"), document.createElement("dd"));
        box.append(line);
    }
    known.forEach(([name, value], i) => {
        setText(box.children[i].children[0], name);
        setText(box.children[i].children[1], value);
    });
}

export function showKey(node, entry) {
    const {text, bytes: raw} = keyText(entry);
    setText(node, entry.is_cut ? `${text}…` : text);
    node.title = raw ? `${text} (bytes that are not UTF-8)` : text;
    node.classList.toggle("raw", raw);
}

/* On a phone a row is laid out as two lines, and then only roles say that it is a row. */
function nameRoles(row) {
    row.setAttribute("role", "row");
    for (const one of row.children) {
        one.setAttribute("role", one.tagName === "TH" ? "rowheader" : "cell");
    }
}

export function showCounters(sample, history) {
    const top = sample.top ?? [];
    const speeds = growth(history, keyIdentity);
    const of = (sample.counters ?? "0") === "0" ? "" : ` of ${exact(sample.counters)}`;
    put("counters-text",
        top.length === 0 ? (of === "" ? "Nothing has been counted yet." : "Looking for them.") :
                           `The first ${top.length}${of}, by value.`);
    setRows(byId("counters"), top,
        (row) => {
            cell(row, "th").append(document.createElement("bdi"));
            barCell(row);
            cell(row);
            cell(row, "td", "speed");
            nameRoles(row);
        },
        (row, entry) => {
            showKey(row.querySelector("bdi"), entry);
            drawShare(row.querySelector("svg"), ratio(entry.value, top[0].value), "counter-bar");
            setText(row.children[2], exact(entry.value));
            const speed = speeds.get(keyIdentity(entry)) ?? 0;
            setText(row.children[3], speed === 0 ? "–" : (speed > 0 ? "+" : "") + rate(speed));
            row.classList.toggle("moving", speed !== 0);
        });
}

/* A power of two above a number of bytes, which two lines divide into round ones. */
function roundBytes(number) {
    return 2 ** Math.ceil(Math.log2(Math.max(number, 1024) * 1.05));
}

function range(history, of, label) {
    const values = history.samples().map(of).filter(Number.isFinite);
    if (values.length === 0) return "";
    const [least, most] = [label(Math.min(...values)), label(Math.max(...values))];
    return least === most ? `${most} in the last minutes.` :
                            `${least} to ${most} in the last minutes.`;
}

export function showMachine(sample, history) {
    const round = roundBytes;
    for (const [name, of] of [
             ["memory", (one) => one.memory_bytes], ["disk", (one) => one.disk_bytes]]) {
        put(`${name}-now`, bytes(of(sample)));
        put(`${name}-text`, range(history, of, bytes));
        drawLines(
            byId(`${name}-chart`), history.entries, [{name, of}], {label: tick(bytes), round});
    }
    const {p50_ms, p99_ms, count} = sample.commit ?? {};
    put("commit-now", latency(p99_ms));
    put("commit-text",
        `Half of them take ${latency(p50_ms)}; ${many(count ?? 0, "commit")} so far.`);
    drawLines(byId("commit-chart"), history.entries,
        [
            {name: "p50", of: (one) => one.commit?.p50_ms},
            {name: "p99", of: (one) => one.commit?.p99_ms}
        ],
        {label: latency, round: (most) => roundUp(Math.max(most, 0.1))});
}

/* The table beside the charts, only while it is open: one row for ten seconds. */
export function showHistory(history) {
    if (!byId("history").open) return;
    const samples =
        history.samples().filter((one, i, all) => (all.length - 1 - i) % 10 === 0).reverse();
    setRows(byId("history-rows"), samples,
        (row) => {
            cell(row, "th");
            for (let i = 0; i < 6; i++) cell(row, "td", i > 3 ? "of-store" : "");
        },
        (row, one) => {
            [clock(one.time_ms), rate(one.rate?.applied), rate(one.rate?.duplicate),
                rate(rateOf(one, NOT_COUNTED)), bytes(one.memory_bytes), bytes(one.disk_bytes),
                latency(one.commit?.p99_ms)]
                .forEach((text, i) => setText(row.children[i], text));
        });
}
