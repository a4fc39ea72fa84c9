/* stream.js - the connection to the server: one streamed answer, and another one when it ends.
 *
 * IDEA  GET /v1/live answers with one JSON object a line, one a second, without end. It is read
 *       with fetch, because an EventSource cannot send a token in a header.
 * I1    At most one request is open. Every attempt has a number, and what belongs to an older one
 *       is dropped.
 * I2    A server that is silent for SILENT_MS is lost, whatever the network says.
 * I3    Pauses between attempts double up to MOST_DELAY_MS, and are spread by chance, so that a
 *       hundred open pages do not return to a restarted server in the same instant.
 *
 * States: connecting, live, paused, token (the server wants one), lost (with a reason, and when the
 * next attempt is), redis (the server answers, and has lost Redis). */

const INTERVAL_MS = 1000;
const SILENT_MS = 6000;
const FIRST_DELAY_MS = 500;
const MOST_DELAY_MS = 15000;
const MOST_LINE = 8 << 20;

export function headers(token) {
    return token === "" ? {} : {Authorization: `Bearer ${token}`};
}

/* What went wrong, in words: of application/problem+json the title or the detail, if there
 * is one. */
export async function problemOf(response) {
    let said = "";
    try {
        const problem = await response.json();
        said = problem.detail ?? problem.title ?? "";
    } catch {
        /* An answer without a reason: the status says enough. */
    }
    return `The server answered ${response.status}${said === "" ? "." : `: ${said}`}`;
}

/* Calls back with each whole line of a body. */
async function readLines(body, onLine) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
        const {done, value} = await reader.read();
        if (done) return;
        const lines = (rest + decoder.decode(value, {stream: true})).split("\n");
        rest = lines.pop();
        if (rest.length > MOST_LINE) throw new Error("a line without end");
        for (const line of lines)
            if (line.trim() !== "") onLine(line);
    }
}

export class Stream {
    /* onState(state, details), onSample(object); token and query, what the address ends with, are
     * functions, asked at each attempt. */
    constructor({onState, onSample, token, query}) {
        Object.assign(this, {onState, onSample, token, query});
        this.attempt = 0;
        this.failures = 0;
        this.abort = null;
        this.timer = 0;
    }

    /* Begins, or begins again at once. */
    start() {
        this.end();
        this.onState("connecting", {});
        this.run(this.attempt);
    }

    pause() {
        this.end();
        this.onState("paused", {});
    }

    end() {
        this.attempt++;
        clearTimeout(this.timer);
        clearTimeout(this.watch);
        this.abort?.abort();
        this.abort = null;
    }

    async run(attempt) {
        const abort = new AbortController();
        this.abort = abort;
        this.silence(attempt);
        let reason = "It has ended the connection.";
        try {
            const response = await fetch(`/v1/live?interval=${INTERVAL_MS}${this.query()}`,
                {headers: headers(this.token()), signal: abort.signal, cache: "no-store"});
            if (attempt !== this.attempt) return;
            if (response.status === 401 || response.status === 403) {
                const why = await problemOf(response);
                if (attempt !== this.attempt) return;
                this.end();
                this.onState("token", {status: response.status, reason: why});
                return;
            }
            if (response.ok) {
                await readLines(response.body, (line) => this.take(attempt, line));
            } else {
                reason = await problemOf(response);
            }
        } catch (error) {
            reason =
                error instanceof SyntaxError ? "It sent what is not JSON." : "It does not answer.";
        }
        if (attempt === this.attempt) this.lose(reason);
    }

    take(attempt, line) {
        if (attempt !== this.attempt) return;
        const sample = JSON.parse(line);
        this.silence(attempt);
        this.failures = 0;
        const lost = sample.redis?.is_lost === true;
        this.onState(lost ? "redis" : "live", sample.redis ?? {});
        if (attempt === this.attempt) this.onSample(sample);
    }

    silence(attempt) {
        clearTimeout(this.watch);
        this.watch = setTimeout(() => {
            if (attempt === this.attempt) this.lose("It has been silent for too long.");
        }, SILENT_MS);
    }

    lose(reason) {
        this.end();
        const delay = Math.min(MOST_DELAY_MS, FIRST_DELAY_MS * 2 ** this.failures) *
            (0.75 + Math.random() / 2);
        this.failures++;
        this.timer = setTimeout(() => this.start(), delay);
        this.onState("lost", {reason, next_ms: Date.now() + delay});
    }
}
