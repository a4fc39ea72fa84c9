/* model.js - what the page knows: the last minutes of samples, and what follows from them.
 *
 * I1  The history is in the order of time. A gap - the page was paused or the server was lost - is
 *     an entry without numbers, so that no line is drawn through a time that nobody saw.
 * I2  Nothing here touches the document. */

import {exact, list, many, small} from "./format.js";

export const HISTORY_MS = 5 * 60 * 1000;

/* In the order in which they are stacked. `counted` is whether the event is in the totals. */
export const OUTCOMES = [
    {name: "applied", means: "counted"},
    {name: "duplicate", means: "recognised and not counted again"},
    {name: "late", means: "older than the window"},
    {name: "future", means: "from a time that has not come"},
    {name: "limited", means: "a limit held"},
    {name: "overflow", means: "beyond 64 bits"},
    {name: "invalid", means: "not an operation"},
    {name: "refused", means: "no room"},
    {name: "mismatch", means: "same id, other payload"},
];
export const NOT_COUNTED = OUTCOMES.slice(2).map((outcome) => outcome.name);

/* How fast a counter grows is over this at least. */
const SPEED_S = 5;

/* Of a sample, what charts show. */
function slim({time_ms, rate, memory_bytes, disk_bytes, commit}) {
    return {time_ms, rate, memory_bytes, disk_bytes, commit};
}

export class History {
    constructor() {
        this.clear();
    }

    clear() {
        this.entries = [];
        this.rankings = [];
    }

    gap() {
        this.rankings = [];
        const last = this.entries[this.entries.length - 1];
        if (last !== undefined && last.sample !== null) {
            this.entries.push({time_ms: last.time_ms, sample: null});
        }
    }

    /* A clock that was set back, or a server that was started again, begins anew. */
    add(sample) {
        const last = this.entries[this.entries.length - 1];
        if (last !== undefined && sample.time_ms < last.time_ms) this.clear();
        this.entries.push({time_ms: sample.time_ms, sample: slim(sample)});
        this.rank(sample);
        const first =
            this.entries.findIndex((entry) => entry.time_ms >= sample.time_ms - HISTORY_MS);
        this.entries.splice(0, Math.max(first - 1, 0));
    }

    /* Where there are many counters the server ranks them rarely, and shows the last ranking in
     * between. So rankings have times of their own: kept are the last one, the one before it, and
     * as many as make SPEED_S. */
    rank({top_uptime_s: at_s, top}) {
        const last = this.rankings[this.rankings.length - 1];
        if (!Number.isFinite(at_s) || at_s === last?.at_s) return;
        this.rankings.push({at_s, top: top ?? []});
        while (this.rankings.length > 2 && this.rankings[1].at_s <= at_s - SPEED_S)
            this.rankings.shift();
    }

    /* The samples that have numbers, oldest first. */
    samples() {
        return this.entries.filter((entry) => entry.sample !== null).map((entry) => entry.sample);
    }

    /* The samples of the last ms, oldest first. */
    last(ms) {
        const all = this.samples();
        const now = all.length === 0 ? 0 : all[all.length - 1].time_ms;
        return all.filter((sample) => sample.time_ms > now - ms);
    }
}

export function sum(numbers) {
    return numbers.reduce((total, number) => total + (number ?? 0), 0);
}

export function rateOf(sample, names) {
    return sum(names.map((name) => sample.rate?.[name]));
}

function total(sample, name) {
    const text = sample.totals?.[name];
    return text === undefined || text === null ? 0n : BigInt(text);
}

/* The share of duplicates among what was counted or recognised: of all time, and of the last
 * minute. */
export function duplicateShares(sample, history) {
    const applied = total(sample, "applied");
    const duplicates = total(sample, "duplicate");
    const all = applied + duplicates;
    const minute = history.last(60000);
    const recent = sum(minute.map((one) => one.rate?.duplicate));
    const both = recent + sum(minute.map((one) => one.rate?.applied));
    return {
        ever: all === 0n ? NaN : Number(duplicates * 1000000n / all) / 1000000,
        minute: both === 0 ? NaN : recent / both,
    };
}

/* "12 late and 1 overflow", of what was not counted since the page knows; "" if there was none. */
export function notCounted(sample) {
    return list(NOT_COUNTED.filter((name) => total(sample, name) > 0n)
                    .map((name) => `${exact(String(total(sample, name)))} ${name}`));
}

function lossText(lost, target) {
    if (!Number.isFinite(lost)) return "";
    if (lost === 0 && target > 0)
        return "Since the server started, none can have been dropped wrongly.";
    if (lost === 0) return "None can have been dropped wrongly.";
    if (lost < 0.5) {
        return `The chance that any was dropped wrongly since the server started is ${
            small(lost)}.`;
    }
    const about = lost < 10 ? small(lost) : exact(Math.round(lost));
    return `Since the server started, about ${about} events were probably dropped wrongly.`;
}

/* Whether the totals are right: { level: "ok" | "strain", title, text, note }. */
export function verdict(sample) {
    const strain = sample.strain ?? [];
    const {error_now: now, error_target: target, expected_lost: lost} = sample.window ?? {};
    const missed = notCounted(sample);
    const note = missed === "" ? "" : `Not counted, and reported to their senders: ${missed}.`;
    const text = lossText(lost, target);
    if (strain.length > 0) {
        const title = strain.length === 1 ? "One promise does not hold at the moment" :
                                            `${strain.length} promises do not hold at the moment`;
        return {level: "strain", title, text, note};
    }
    if (Number.isFinite(now) && Number.isFinite(target) && now > target) {
        return {level: "strain", title: "The error is above its target", text, note};
    }
    const {error_now: ledger, error_target: planned} = sample.ledger ?? {};
    if (ledger > planned)
        return {level: "strain", title: "The ledger's error is above its target", text, note};
    if (lost >= 0.5) return {level: "strain", title: "Some events may be missing", text, note};
    const counted = many(String(total(sample, "applied")), "event");
    return {
        level: "ok",
        title: "The totals are right",
        text: `${counted} counted, each once. Every promise holds. ${text}`,
        note
    };
}

/* How fast each counter of the last ranking grows, by its identity: the difference to a ranking of
 * some seconds ago, in units of the value. BigInt, because values are. */
export function growth({rankings}, identity) {
    const speeds = new Map();
    if (rankings.length < 2) return speeds;
    const [first, last] = [rankings[0], rankings[rankings.length - 1]];
    const before = new Map(first.top.map((entry) => [identity(entry), entry.value]));
    const seconds = last.at_s - first.at_s;
    for (const entry of last.top) {
        const old = before.get(identity(entry));
        if (old !== undefined && seconds > 0) {
            speeds.set(identity(entry), difference(entry.value, old) / seconds);
        }
    }
    return speeds;
}

/* a - b of two decimal strings, as a Number: the digits that both begin with cancel exactly. */
export function difference(a, b) {
    const places = Math.max(fraction(a), fraction(b));
    return Number(whole(a, places) - whole(b, places)) / 10 ** places;
}

function fraction(text) {
    const point = String(text).indexOf(".");
    return point === -1 ? 0 : String(text).length - point - 1;
}

/* A decimal string as a whole number of 10^-places. */
export function whole(text, places) {
    const [digits, rest = ""] = String(text).split(".");
    return BigInt(digits + rest.padEnd(places, "0"));
}

/* part / all of two decimal strings, for the length of a bar: 0 to 1. */
export function ratio(part, all) {
    const places = Math.max(fraction(part), fraction(all));
    const [a, b] = [whole(part, places), whole(all, places)];
    if (b <= 0n || a <= 0n) return 0;
    return Math.min(1, Number(a * 1000000000n / b) / 1e9);
}
