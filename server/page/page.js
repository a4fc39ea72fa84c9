/* page.js - the live page: the stream's samples go to the panels, the person's wishes to the
 * stream.
 *
 * The token is typed by a person, kept in memory, and in this tab's sessionStorage only if asked
 * to. It travels in the Authorization header alone. A screen reader hears what changes in kind -
 * connected, lost, a promise that no longer holds - and not the numbers, which it finds in
 * tables. */

import {clock, duration, rate} from "./format.js";
import {History, OUTCOMES} from "./model.js";
import {byId, put, setText, showCounters, showError, showHistory, showMachine, showOutcomes,
    showTiles, showVerdict, showWindow} from "./panels.js";
import {Stream} from "./stream.js";
import {lostText, showTable, Tables} from "./tables.js";
import {Tip} from "./tip.js";
import {Usage} from "./usage.js";

const KEPT = "lethe-token";
const history = new History();
let token = sessionStorage.getItem(KEPT) ?? "";
let state = "";
let next_ms = 0;
let last = null;
let level = "";
let areas = null;
let told_lost = false;

const tables = new Tables(changeTable);
const query = () => tables.query();
const usage = new Usage(() => token, query);
const stream = new Stream({onState: setState, onSample: take, token: () => token, query});

const LINK = {
    connecting: "Connecting",
    live: "Live",
    paused: "Paused",
    token: "Token needed",
    lost: "Server lost",
    redis: "Redis lost"
};

function announce(text) {
    put("announce", text);
}

function setState(now, details) {
    const before = state;
    state = now;
    if (now === "lost") showLost(details);
    if (now === "token") askToken(details);
    if (now === "redis") {
        put("lost-title", "Redis is lost.");
        put("lost-text", lostText(details));
    }
    if (now === before) return;
    if (before === "live") history.gap();
    /* While the next attempt is made, the page still says that the server is lost. */
    const again = now === "connecting" && before === "lost";
    byId("link").dataset.state = again || now === "redis" ? "lost" : now;
    put("link-text", again ? "Connecting again" : LINK[now]);
    const fine = now === "live" || (now === "connecting" && !again);
    document.title = fine ? "Lethe" : `${LINK[again ? "lost" : now]} – Lethe`;
    byId("panels").classList.toggle("stale", now !== "live" && now !== "paused");
    byId("ask").hidden = now !== "token";
    byId("lost").hidden = !(now === "lost" || now === "redis" || again);
    byId("retry").hidden = now === "redis";
    byId("pause").hidden = (now !== "live" && now !== "paused") || last === null;
    setText(byId("pause"), now === "paused" ? "Go on" : "Pause");
    byId("forget-token").hidden = token === "" || now === "token";
    if (now === "token")
        byId("panels").hidden = true;
    else
        draw();
    if (now === "live" && before !== "live") announce("Connected: the numbers are live.");
    if (now === "redis") announce("Redis is lost. The server tries again by itself.");
    if (now === "lost" && !told_lost)
        announce("The server is lost. The page tries again by itself.");
    told_lost = now === "lost" || again;
}

function showLost({reason, next_ms: at}) {
    next_ms = at;
    put("lost-title", "The server is lost.");
    tellLost(reason);
    byId("lost").dataset.reason = reason;
}

function tellLost(reason) {
    const seconds = Math.max(Math.ceil((next_ms - Date.now()) / 1000), 0);
    const since = last === null ? "" : ` The numbers below are from ${clock(last.time_ms)}.`;
    const next =
        state === "lost" && seconds > 0 ? ` Next attempt in ${seconds} s.` : " Trying again.";
    put("lost-text", `${reason}${since}${next}`);
}

function askToken({status, reason}) {
    const given = token !== "";
    token = "";
    sessionStorage.removeItem(KEPT);
    const problem = status === 401 ? "The server does not know this token." : reason;
    put("ask-problem", given ? problem : "");
    byId("token").value = "";
    byId("ask").hidden = false;
    byId("token").focus();
}

function take(sample) {
    const shown = tables.take(sample);
    if (tables.isGone(sample)) {
        changeTable();
        return;
    }
    byId("panels").hidden = !shown;
    if (!shown) {
        last = null;
        return;
    }
    /* What is old is not drawn as if it were of now. */
    const old = sample.redis?.is_lost === true;
    last = old ? {...sample, time_ms: sample.redis.seen_ms} : sample;
    if (!old) history.add(last);
    byId("pause").hidden = old;
    draw();
    if (!old) usage.take(last);
}

function changeTable() {
    history.clear();
    usage.clear();
    last = null;
    level = "";
    stream.start();
}

function draw() {
    if (last === null) return;
    const doing = last.redis === undefined ? "counting" : `showing ${last.redis.shown}`;
    put("about", `${doing} for ${duration(Math.max(last.uptime_s ?? 0, 1) * 1000)}`);
    const found = showVerdict(last, state === "live" || state === "paused");
    if (found.level !== "past") {
        if (found.level !== level && level !== "") announce(`${found.title}.`);
        level = found.level;
    }
    showTiles(last, history);
    areas = showOutcomes(last, history);
    showWindow(last);
    showError(last);
    showCounters(last, history);
    showMachine(last, history);
    showTable(last);
    showHistory(history);
}

byId("pause").addEventListener("click", () => {
    if (state === "paused")
        stream.start();
    else
        stream.pause();
});
byId("retry").addEventListener("click", () => stream.start());
byId("forget-token").addEventListener("click", () => {
    token = "";
    sessionStorage.removeItem(KEPT);
    history.clear();
    last = null;
    byId("panels").hidden = true;
    stream.start();
});
byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = byId("token").value.trim();
    if (!/^[!-~]+$/.test(given)) { /* a header could not carry it */
        put("ask-problem", "A token has letters, digits and signs of ASCII, and nothing else.");
        byId("token").focus();
        return;
    }
    token = given;
    if (byId("keep").checked) sessionStorage.setItem(KEPT, token);
    byId("token").value = "";
    byId("content").focus();
    stream.start();
});
byId("history").addEventListener("toggle", () => showHistory(history));
byId("panels").addEventListener("toggle", draw, true);

new Tip(byId("rate-chart"), (x) => {
    const entry = areas?.at(x);
    if (!entry) return null;
    const lines = OUTCOMES.filter(({name}) => entry.sample.rate?.[name] > 0)
                      .map(({name}) => `${name} ${rate(entry.sample.rate[name])}`);
    return {
        x: areas.x(entry.time_ms),
        area: areas.area,
        lines: [clock(entry.time_ms), ...(lines.length === 0 ? ["no events"] : lines)]
    };
});

/* Charts follow the width of the window. */
new ResizeObserver(() => {
    draw();
    usage.draw();
}).observe(byId("content"));
setInterval(() => {
    if (state === "lost") tellLost(byId("lost").dataset.reason);
}, 500);

stream.start();
