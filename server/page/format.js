/* format.js - numbers, times and keys as text for people.
 *
 * I1  Totals and values arrive as decimal strings and never become a Number: 2^53 is reached.
 * I2  Every key becomes plain text. Characters that would hide or reorder what stands beside them
 *     are written out, and bytes that are not UTF-8 are shown as \xNN. */

/* "-1234567.50" -> "-1,234,567.50" */
export function exact(text) {
    if (text === null || text === undefined) return "–";
    const [, sign, whole, rest] = /^([-+]?)(\d+)(\.\d+)?$/.exec(String(text)) ?? [];
    if (whole === undefined) return String(text);
    const minus = sign === "-" ? "−" : "";
    return minus + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ?? "");
}

const UNITS = ["", " k", " M", " G", " T", " P", " E"];
const BINARY = [" B", " KiB", " MiB", " GiB", " TiB", " PiB"];

/* Three digits are enough for a number that changes every second. */
function scaled(number, step, units) {
    let unit = 0;
    let value = Math.abs(number);
    while (value >= step * 0.9995 && unit < units.length - 1) {
        value /= step;
        unit++;
    }
    const digits = unit === 0 && Number.isInteger(value) ? 0 :
        value < 9.995                                    ? 2 :
        value < 99.95                                    ? 1 :
                                                           0;
    return (number < 0 ? "−" : "") + value.toFixed(digits) + units[unit];
}

export function rate(number) {
    if (!Number.isFinite(number)) return "–";
    if (Math.abs(number) < 9999.5) {
        return exact(number.toFixed(Math.abs(number) < 9.95 && number % 1 !== 0 ? 1 : 0));
    }
    return scaled(number, 1000, UNITS);
}

export function bytes(number) {
    return Number.isFinite(number) ? scaled(number, 1024, BINARY) : "–";
}

/* The same text without digits that say nothing: on the lines of a chart, "2.50 M" is "2.5 M". */
export function tick(label) {
    return (number) => label(number).replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");
}

export function percent(share) {
    if (!Number.isFinite(share)) return "–";
    const value = share * 100;
    if (value === 0 || value === 100) return `${value}%`;
    if (value < 0.01) return "under 0.01%";
    if (value > 99.99) return "over 99.99%";
    return `${value.toFixed(value < 1 || value > 99 ? 2 : 1)}%`;
}

/* Small numbers as the command line writes them, 1e-12, with a minus at which no line breaks. */
export function small(number) {
    if (!Number.isFinite(number)) return "–";
    if (number === 0) return "0";
    if (number >= 0.001 && number < 1e6) return String(Number(number.toPrecision(2)));
    return number.toExponential(1).replace(".0e", "e").replace("e+", "e").replace("-", "−");
}

const SPANS = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];

/* The two largest parts of a time: "2 d 3 h", "40 s", "250 ms". */
export function duration(ms) {
    if (!Number.isFinite(ms)) return "–";
    if (ms < 1000) return `${ms < 10 && ms % 1 !== 0 ? ms.toFixed(1) : Math.round(ms)} ms`;
    for (let i = 0; i < SPANS.length; i++) {
        const [size, name] = SPANS[i];
        if (ms < size) continue;
        const [below, second] = SPANS[i + 1] ?? [1, ""];
        const count = Math.floor(ms / size);
        const rest = second === "" ? 0 : Math.floor((ms % size) / below);
        return rest === 0 || count >= 100 ? `${count} ${name}` :
                                            `${count} ${name} ${rest} ${second}`;
    }
    return "0 s";
}

/* A time that is measured: below a minute, with a digit after the point. */
export function latency(ms) {
    if (ms > 0 && ms < 0.9995) return `${Math.round(ms * 1000)} µs`;
    if (!(ms >= 999.5 && ms < 60000)) return duration(ms);
    return `${Number((ms / 1000).toFixed(1))} s`;
}

const ROUGH = [[172800000, 86400000, "d"], [7200000, 3600000, "h"], [120000, 60000, "min"]];

/* "1 to 3 h", "90 s to 2 min": roughly, each in one unit, which is named once if it is the same. */
export function between(from_ms, to_ms) {
    const [from, to] = [from_ms, to_ms].map((ms) => {
        const [, size, name] = ROUGH.find(([least]) => ms >= least) ?? [0, 1000, "s"];
        return {count: Math.floor(ms / size), name};
    });
    const both = from.name === to.name || from.count === 0;
    if (both && from.count === to.count) return `${to.count} ${to.name}`;
    return `${from.count}${both ? "" : ` ${from.name}`} to ${to.count} ${to.name}`;
}

export function clock(ms) {
    return new Date(ms).toLocaleTimeString([], {hour12: false});
}

/* "3 events", "1 event"; the count may be a string of any length. */
export function many(count, noun) {
    return `${exact(count)} ${noun}${String(count) === "1" ? "" : "s"}`;
}

export function list(words) {
    if (words.length < 2) return words.join("");
    return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/* Controls, and marks that turn the direction of text or take no room, are named by their number.
 * What stays is text that can be read in one way only. Where a joiner or a selector belongs to a
 * picture, it is seen. */
const PICTURE = "\\p{Extended_Pictographic}";
const HIDDEN = new RegExp(
    `(?<!${PICTURE}\\ufe0f?|\\p{Emoji_Modifier})\\u200d|\\u200d(?!${PICTURE})|` +
        `(?<!${PICTURE})[\\ufe0e\\ufe0f]|(?![\\u200d\\ufe0e\\ufe0f])` +
        "[\\p{Default_Ignorable_Code_Point}\\p{Cc}\\u2028\\u2029\\u2800\\ufff9-\\ufffb]",
    "gu");

function written(character) {
    const code = character.codePointAt(0);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/* The text of an entry {key, key_base64}: { text, bytes }; bytes is true if it is not UTF-8. */
export function keyText(entry) {
    if (typeof entry.key_base64 === "string") {
        const raw = atob(entry.key_base64);
        const text = raw.replace(/[^\x20-\x5b\x5d-\x7e]/g,
            (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
        return {text, bytes: true};
    }
    const text = String(entry.key ?? "").replace(HIDDEN, written);
    return {text: text === "" ? "(empty key)" : text, bytes: false};
}

/* What identifies a key, to compare it with itself a second later. */
export function keyIdentity(entry) {
    return typeof entry.key_base64 === "string" ? `b${entry.key_base64}` : `t${entry.key}`;
}
