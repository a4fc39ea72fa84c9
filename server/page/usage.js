/* usage.js - what one counter has per period, as bars.
 *
 * The bars come from GET /v1/usage, which is asked every few seconds and when another counter or
 * period is chosen, never twice at once. The counters to choose from are the largest ones. */

import {exact, keyIdentity, keyText, rate, tick} from "./format.js";
import {drawBars, roundUp} from "./chart.js";
import {ratio, whole} from "./model.js";
import {byId, cell, put, setRows, setText} from "./panels.js";
import {headers, problemOf} from "./stream.js";
import {escaped} from "./tables.js";
import {Tip} from "./tip.js";

const EVERY_MS = 3000;
const MOST_BARS = 48;
const LEAST_BARS = 12;
const PERIOD_MS = {
    s: 1000,
    m: 60000,
    h: 3600000,
    d: 86400000,
    w: 604800000,
    mo: 2678400000,
    y: 31622400000
};

/* "15m" -> its length; months and years are the longest ones. */
function lengthOf(period) {
    const [, count, unit] = /^(\d+)([a-z]+)$/.exec(period) ?? [null, "1", "h"];
    return Number(count) * (PERIOD_MS[unit] ?? PERIOD_MS.h);
}

/* Of decimal strings. */
function largest(values) {
    return values.reduce((top, one) => (whole(one, 18) > whole(top, 18) ? one : top));
}

export class Usage {
    /* token and query, what addresses end with, are functions. */
    constructor(token, query) {
        this.token = token;
        this.query = query;
        this.top = [];
        this.rows = [];
        this.answered = false;
        this.asked_ms = 0;
        this.busy = false;
        this.key = byId("usage-key");
        this.by = byId("usage-by");
        for (const choice of [this.key, this.by])
            choice.addEventListener("change", () => this.ask());
        byId("usage-form").addEventListener("submit", (event) => event.preventDefault());
        this.tip = new Tip(byId("usage-chart"), (x) => this.under(x));
    }

    clear() {
        this.top = [];
        this.rows = [];
        this.answered = false;
        this.asked_ms = 0;
        this.key.replaceChildren();
        this.by.replaceChildren();
    }

    take(sample) {
        const periods = sample.meters?.per ?? [];
        const none = periods.length === 0;
        byId("usage-none").hidden = !none;
        byId("usage-body").hidden = none;
        if (none) return;
        this.zone = sample.meters.zone ?? "UTC";
        this.offer(periods, sample.top ?? []);
        const due = sample.time_ms - this.asked_ms >= EVERY_MS || sample.time_ms < this.asked_ms;
        if (due && this.top.length > 0) {
            this.asked_ms = sample.time_ms;
            this.now_ms = sample.time_ms;
            this.ask();
        }
    }

    /* The choices, changed only if others are offered: an open list must not move under the
     * finger. */
    offer(periods, top) {
        const known = [...this.by.options].map((option) => option.value);
        if (known.join() !== periods.join()) {
            this.by.replaceChildren(...periods.map((period) => new Option(period, period)));
        }
        const chosen = this.top.find((entry) => keyIdentity(entry) === this.key.value);
        const fresh =
            top.filter((entry) => !this.top.some((old) => keyIdentity(old) === keyIdentity(entry)));
        if (fresh.length === 0 || document.activeElement === this.key) return;
        this.top = top.concat(chosen !== undefined &&
                    !top.some((entry) => keyIdentity(entry) === keyIdentity(chosen)) ?
                [chosen] :
                []);
        this.key.replaceChildren(...this.top.map((entry) => {
            const {text} = keyText(entry);
            return new Option(
                text.length > 40 ? `${text.slice(0, 39)}…` : text, keyIdentity(entry));
        }));
        if (chosen !== undefined) this.key.value = keyIdentity(chosen);
    }

    address(entry) {
        const now = this.now_ms ?? Date.now();
        const [from, to] = [now - (MOST_BARS - 1) * lengthOf(this.by.value), now + 1].map(
            (ms) => new Date(ms).toISOString());
        /* With an end, the period that is running has a row even if it has nothing yet. */
        return `/v1/usage?by=${this.by.value}&key=${escaped(entry)}` +
            `&from=${from}&to=${to}${this.query()}`;
    }

    async ask() {
        const entry = this.top.find((one) => keyIdentity(one) === this.key.value);
        if (entry === undefined) return;
        if (this.busy) {
            this.again = true;
            return;
        }
        this.busy = true;
        const query = this.query();
        try {
            const response = await fetch(
                this.address(entry), {headers: headers(this.token()), cache: "no-store"});
            const answer = response.ok ? await response.json() : await problemOf(response);
            /* Meanwhile another table may have been chosen. */
            if (query === this.query()) {
                if (response.ok)
                    this.show(entry, answer);
                else
                    put("usage-text", answer);
            }
        } catch {
            /* A lost server is the stream's business; the bars stay. */
        }
        this.busy = false;
        if (this.again) {
            this.again = false;
            this.ask();
        }
    }

    show(entry, answer) {
        const wanted = keyIdentity(entry);
        const rows = (answer.usage ?? [])
                         .filter((row) => keyIdentity(row) === wanted &&
                                 typeof row.from === "string" && row.value !== undefined)
                         .slice(-MOST_BARS);
        /* Nothing is gained by a chart of the time before the first event. */
        const first = rows.findIndex((row) => !/^0+(\.0+)?$/.test(String(row.value)));
        this.answered = true;
        this.rows = rows.slice(Math.max(0, Math.min(first, rows.length - LEAST_BARS)));
        this.draw();
    }

    draw() {
        if (byId("usage-body").hidden || !this.answered) return;
        const none = this.rows.length === 0;
        byId("usage-chart").hidden = byId("usage-table").hidden = none;
        if (none) {
            put("usage-text", "Nothing of this counter is in a period yet.");
            return;
        }
        const values = this.rows.map((row) => String(row.value));
        const sizes = values.map((one) => one.replace("-", ""));
        const [most, tallest] = [largest(values), largest(sizes)];
        const highest = roundUp(Number(tallest));
        const scale = Number(tallest) > 0 ? highest / Number(tallest) : 1;
        const bars = this.rows.map((row, i) => ({
            share: ratio(sizes[i], tallest) / scale,
            below: values[i].startsWith("-"),
            last: i === this.rows.length - 1,
            label: this.name(row.from)
        }));
        this.bars = drawBars(byId("usage-chart"), bars,
            {ticks: [1, 2, 3, 4].map((i) => tick(rate)(highest * i / 4))});
        const shown =
            this.rows.length === 1 ? "One period" : `The last ${this.rows.length} periods`;
        put("usage-text",
            `${shown} of ${this.by.value}, in the zone ${this.zone}; at most ${exact(most)}, now ` +
                `${exact(values[values.length - 1])}.`);
        setRows(byId("usage-rows"), [...this.rows].reverse(),
            (row) => {
                cell(row, "th");
                cell(row);
            },
            (row, one) => {
                setText(row.children[0], this.name(one.from, true));
                setText(row.children[1], exact(one.value));
            });
    }

    /* A period's beginning, as short as its length allows; the time is the zone's own, as sent. */
    name(from, full = false) {
        const [day, time = ""] = from.split("T");
        const length = lengthOf(this.by.value);
        if (length >= PERIOD_MS.y) return day.slice(0, 4);
        if (length >= PERIOD_MS.mo) return day.slice(0, 7);
        if (length >= PERIOD_MS.d) return full ? day : day.slice(5);
        const clock = time.slice(0, length % PERIOD_MS.m === 0 ? 5 : 8);
        return full ? `${day} ${clock}` : clock;
    }

    under(x) {
        const i = this.bars?.at(x) ?? -1;
        const row = this.rows[i];
        if (row === undefined) return null;
        return {
            x: this.bars.area.left + this.bars.step * (i + 0.5),
            area: this.bars.area,
            lines: [this.name(row.from, true), exact(row.value)]
        };
    }
}
