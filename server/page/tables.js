/* tables.js - what only a server over Redis has: several tables of which one is shown, and Redis
 * itself, which may be lost while the server answers.
 *
 * I1  A table is chosen by its bytes. Its name is shown as text, whatever it contains. */

import {clock, exact, keyIdentity, keyText, list, many} from "./format.js";
import {byId, put, showFacts} from "./panels.js";

/* A table's name as an entry that has a key. */
function entryOf({name, name_base64}) {
    return {key: name, key_base64: name_base64};
}

/* At most so many characters in the list of tables. */
const MOST_TEXT = 48;

function shortText(entry) {
    const {text} = keyText(entry);
    return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text;
}

/* The bytes of a name or key, each as %NN where it must be: it may be no UTF-8. */
export function escaped({key, key_base64}) {
    if (typeof key_base64 !== "string") return encodeURIComponent(key);
    return [...atob(key_base64)]
        .map((byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`)
        .join("");
}

export class Tables {
    /* onChange is called when another table is chosen. */
    constructor(onChange) {
        this.select = byId("table");
        this.known = [];
        this.chosen = null;
        this.select.addEventListener("change", () => {
            this.chosen = this.known.find((one) => keyIdentity(one) === this.select.value) ?? null;
            onChange();
        });
    }

    /* What follows the other arguments of a question about the chosen table. */
    query() {
        return this.chosen === null ? "" : `&table=${escaped(this.chosen)}`;
    }

    /* Offers the tables of a sample. Returns whether the sample is to be shown: it has a table. If
     * the chosen one is gone the first one is chosen, and the next sample is of that. */
    take(sample) {
        if (!Array.isArray(sample.tables)) return true;
        document.body.dataset.source = "redis";
        byId("tile-disk").parentElement.hidden = true;
        const names = sample.tables.map(entryOf);
        this.offer(names);
        const gone = sample.table === null && names.length > 0;
        if (gone) {
            this.chosen = names[0];
            this.select.value = keyIdentity(names[0]);
        } else if (this.chosen === null && sample.table !== null) {
            this.chosen = entryOf(sample.table);
            this.select.value = keyIdentity(this.chosen);
        }
        this.tell(sample);
        return sample.table !== null;
    }

    /* Whether the table that the stream asks for is gone, and another one is chosen. */
    isGone(sample) {
        return Array.isArray(sample.tables) && sample.table === null && sample.tables.length > 0;
    }

    /* The list is changed only if it is another one: an open list must not move under the
     * finger. */
    offer(names) {
        byId("table-choice").hidden = names.length < 2;
        const same = names.length === this.known.length &&
            names.every((one, i) => keyIdentity(one) === keyIdentity(this.known[i]));
        if (same) return;
        this.known = names;
        this.select.replaceChildren(
            ...names.map((one) => new Option(shortText(one), keyIdentity(one))));
        if (this.chosen !== null) this.select.value = keyIdentity(this.chosen);
    }

    /* What is not shown, and why. */
    tell({tables, absent, redis}) {
        const words = [];
        if (tables.length === 0 && absent.length === 0) {
            words.push(`There is no table at ${redis.shown} yet. It appears here as soon as ` +
                `something is counted.`);
        }
        if (absent.length > 0) {
            const names = absent.map((one) => `${shortText(entryOf(one))} (${one.why})`);
            words.push(`Not shown: ${list(names)}.`);
        }
        if (redis.skipped > 0) {
            words.push(`${many(redis.skipped, "more table")} cannot be shown: there are too many, ` +
                `or their names are too long.`);
        }
        put("tables-text", words.join(" "));
        byId("tables-notice").hidden = words.length === 0 || redis.is_lost;
    }
}

/* What is said when Redis is lost. */
export function lostText({reason, seen_ms}) {
    const since = seen_ms > 0 ? ` The numbers below are from ${clock(seen_ms)}.` : "";
    const why = reason.charAt(0).toUpperCase() + reason.slice(1);
    return `${why}.${since} The server tries again by itself.`;
}

/* What only a table has. */
export function showTable({table, tables, claims, open_holds, redis}) {
    if (table === undefined) return;
    put("tile-tables", exact(tables.length));
    put("tile-tables-more", `at ${redis.shown}`);
    const parts = table.missing > 0 ? `${table.partitions}, of which ${table.missing} are missing` :
                                      String(table.partitions);
    const running = `${exact(claims.running)} running, ${exact(claims.done)} done`;
    showFacts(byId("table-facts"), [
        ["Partitions", parts],
        ["Claims", claims.running === "0" && claims.done === "0" ? "" : running],
        ["Open holds", open_holds === "0" ? "" : exact(open_holds)],
    ]);
}
