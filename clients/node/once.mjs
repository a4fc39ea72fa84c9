// Counters that take every operation once, for Node.js: on ioredis or node-redis, one server or a
// cluster. docs/node.md explains it; copy this file into your program.
//
//     import Redis, { Command } from "ioredis";
//     import { Once, onIoredis } from "./once.mjs";
//     const cluster = new Redis.Cluster([{ host: "10.0.0.1", port: 6379 }]);
//     const likes = new Once(onIoredis(cluster, Command), "likes", { windowMs: 86_400_000 });
//     await likes.incrby("post:1", 1);
//
// A driver is a function (key, commands, signal) that sends commands for one key to its server, all
// on one connection and in order, and returns a promise of their replies. Some may be errors; or it
// rejects with what became of all. If the first command may have been sent twice meanwhile, the
// replies have isResent. After the signal nothing more is sent: what a package still has in a queue
// would arrive when its id may be forgotten, and count again.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

// How answers begin that mean "not here" or "not now". What is no answer of the server, such as a
// lost connection, passes too.
const PASSING = ["MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS", "LOADING",
  "READONLY", "FAILOVER", "BUSY", "UNBLOCKED"];
// How long after it was written a package may resend a command by itself: half of the shortest
// window that a table can have.
const RESEND_MS = 500;
const DENIED = /^(NOAUTH|WRONGPASS|NOPERM)|WRONGPASS|invalid username-password|certificate/i;

export class Unacknowledged extends Error {
  constructor(id, cause) {
    super(`not acknowledged (${cause?.message ?? cause}); id ${id}`, { cause });
    this.name = "Unacknowledged";
    this.id = id;
  }
}

// Whether an error is an answer of the server, and not the loss of one.
function isAnswer(error) {
  if (error.name === "ReplyError") return true; // of ioredis
  for (let one = error.constructor; one?.name; one = Object.getPrototypeOf(one)) {
    if (/ErrorReply$/.test(one.name)) return true; // of node-redis, which has classes below it
  }
  return false;
}

function isPassing(error) {
  if (DENIED.test(error.message) || DENIED.test(error.cause?.message ?? "")) return false;
  if (/^WAIT cannot be used|^ERR WAIT cannot/.test(error.message)) return true;
  return !isAnswer(error) || PASSING.includes(error.message.split(" ", 1)[0]);
}

// What packages send as it is. No two words may become one: not as the text of a Buffer, nor as
// numbers beyond 2^53, which are rounded, nor as halves of characters, which UTF-8 does not have.
function asWord(word) {
  if (typeof word === "string" && !/\p{Surrogate}/u.test(word)) return word;
  if (Buffer.isBuffer(word)) return Buffer.from(word); // a copy, which nobody changes meanwhile
  if (typeof word === "bigint" || Number.isSafeInteger(word)) return String(word);
  if (typeof word === "string") throw new TypeError("half a character is no text; use a Buffer");
  if (typeof word === "number") {
    throw new TypeError(`no whole number below 2^53: ${word}; use a bigint or a string`);
  }
  throw new TypeError(`neither string, number, bigint nor Buffer: ${String(word)}`);
}

// For ioredis. Command is what that package exports. It knows the keys of the server's own commands
// only; a command of a module, sent with cluster.call(), goes to a node by chance, and is moved.
export function onIoredis(redis, Command) {
  // It resends a command whose connection was lost, and does not say so. Then its answer may be
  // that of a duplicate: the times that it was written are counted. What would be resent late is
  // lost instead, since its id may be forgotten; whether it may be sent again is decided below.
  const make = ([name, ...words], signal) => {
    const command = new Command(name, words.map(asWord), { replyEncoding: "utf8" });
    let begin;
    Object.assign(command, { written: 0, isLost: false });
    command.toWritable = (...more) => {
      begin ??= performance.now();
      command.written += 1;
      command.isLost ||= performance.now() - begin > RESEND_MS;
      // It must be something that is answered, since answers come in order.
      const written = signal?.aborted || command.isLost ? new Command("PING") : command;
      return Command.prototype.toWritable.apply(written, more);
    };
    return command;
  };
  return async (key, commands, signal) => {
    const made = commands.map((words) => make(words, signal));
    const note = (replies) => {
      if (made.some((command) => command.isLost)) throw new Error("the connection was lost");
      return Object.assign(replies, { isResent: made[0].written > 1 });
    };
    for (const [i, command] of made.entries()) {
      if (commands[i][0] !== "WAIT") command.keys = [key]; // this is the remedy
    }
    if (made.length === 1) return note([await redis.sendCommand(made[0])]); // follows MOVED and ASK
    const pipeline = redis.pipeline();
    for (const command of made) pipeline.sendCommand(command);
    const replies = await pipeline.exec();
    const failed = replies.find(([error]) => error !== null);
    if (failed !== undefined && /^(MOVED|ASK)/.test(failed[0].message)) {
      await redis.sendCommand(Object.assign(make(["EXISTS", key]), { keys: [key] }));
      await new Promise((resolve) => redis.refreshSlotsCache(() => resolve()));
    }
    return note(replies.map(([error, reply]) => error ?? reply));
  };
}

// For node-redis: what createClient or createCluster returned, connected.
export function onNodeRedis(redis) {
  const isCluster = typeof redis.nodeClient === "function";
  return async (key, commands, signal) => {
    const words = commands.map((command) => command.map(asWord));
    if (words.length === 1) { // follows MOVED and ASK
      const options = { abortSignal: signal };
      return [isCluster ? await redis.sendCommand(key, false, words[0], options)
                        : await redis.sendCommand(words[0], options)];
    }
    // A chain takes no signal. What is still to be written is made harmless.
    signal?.addEventListener("abort", () => {
      for (const one of words) one.splice(0, one.length, "PING");
    });
    const chain = isCluster ? redis.multi(key) : redis.multi();
    for (const one of words) {
      if (isCluster) chain.addCommand(key, false, one);
      else chain.addCommand(one);
    }
    try {
      return await chain.execAsPipeline();
    } catch (error) {
      const first = error.errorIndexes ? error.replies[error.errorIndexes[0]] : error;
      if (isCluster && /^(MOVED|ASK)/.test(first.message)) {
        await redis.sendCommand(key, false, ["EXISTS", key]); // finds out where it is now
      }
      if (error.errorIndexes) return error.replies;
      // Which one failed is not said: WAIT is named in its errors.
      if (isAnswer(first) && /\bWAIT\b|UNBLOCKED/i.test(first.message)) return [undefined, first];
      throw first;
    }
  };
}

export class Once {
  // wait: how many replicas must have an operation. timeoutMs: how long to try, at most half the
  // window, since a duplicate that arrives when its original is forgotten would be counted.
  // windowMs is the window of a table that is made here; one that exists is asked for its own
  // before anything is sent again.
  constructor(driver, table, { windowMs = 600_000, wait = 0, waitMs = 1000, timeoutMs = 30_000,
                               attemptMs = 5000 } = {}) {
    Object.assign(this, { driver, table, windowMs, wait, waitMs, attemptMs });
    this.timeoutMs = Math.min(timeoutMs, windowMs / 2);
  }

  // Makes the table, unless it exists. Then the time is at most half of the window that it has.
  async create() {
    await this.#make();
  }

  async #make(end) {
    try {
      await this.#run(null, 0, ["ONCE.CREATE", this.table, "WINDOW", this.windowMs], { end });
    } catch (error) {
      if (!error.message.includes("exists already")) throw error;
    }
    const { answer: info } = await this.#run(null, 0, ["ONCE.INFO", this.table], { end });
    this.windowMs = windowOf(info);
    this.timeoutMs = Math.min(this.timeoutMs, this.windowMs / 2);
  }

  // Adds to a counter. Without an id it makes one. Returns { applied, value, id }.
  async incrby(counter, delta = 1, { id, wait = this.wait } = {}) {
    const isOwn = id == null, own = id ?? randomUUID();
    const { answer, first, isDoubtful } = await this.#run(own, wait,
      ["ONCE.INCRBY", this.table, own, counter, delta, "NOCREATE"]);
    const applied = saysOne(answer) || saysOne(first) || (isOwn && isDoubtful);
    return { applied, value: answer[1], id: own };
  }

  // Many at once: [[counter, delta, id], ...], in one command. Returns as incrby for each; an
  // operation that fails has { error } instead.
  async incrbyMany(operations, { wait = this.wait } = {}) {
    const all = operations.map(([counter, delta, id]) =>
      ({ counter, delta, isOwn: id == null, own: id ?? randomUUID() }));
    const words = all.flatMap(({ own, counter, delta }) => [own, counter, delta]);
    const { answer: answers, first, isDoubtful } = await this.#run(all.map(({ own }) => own), wait,
      ["ONCE.MINCRBY", this.table, ...words, "NOCREATE"]);
    return answers.map((answer, i) => {
      const { isOwn, own } = all[i];
      if (answer instanceof Error) {
        return { error: isDoubtful ? new Unacknowledged(own, answer) : answer, id: own };
      }
      const applied = saysOne(answer) || saysOne(first?.[i]) || (isOwn && isDoubtful);
      return { applied, value: answer[1], id: own };
    });
  }

  // Adds unless that would pass the limit, a number. Returns { outcome, value, left, id }.
  async take(counter, amount, limit, { id, wait = this.wait } = {}) {
    const isOwn = id == null, own = id ?? randomUUID(), begin = performance.now();
    const { answer, first, isDoubtful, end } = await this.#run(own, wait,
      ["ONCE.TAKE", this.table, own, counter, amount, "LIMIT", limit, "NOCREATE"], { begin });
    let outcome = { 1: "applied", 0: "duplicate", "-1": "limited" }[answer[0]];
    if (outcome === "duplicate" && (saysOne(first) || (isOwn && isDoubtful))) {
      outcome = "applied";
    }
    if (outcome === "limited" && isOwn && isDoubtful) { // none may be applied later
      const given = await this.#run(own, wait,
        ["ONCE.ADD", this.table, "NOCREATE", "IDS", own], { begin, end, isAgain: true });
      const [fresh] = given.answer;
      if (fresh instanceof Error) throw new Unacknowledged(own, fresh); // nothing is remembered
      const isGivenUp = Number(fresh) === 1; // an earlier answer may have been lost in a failover
      if (!isGivenUp && given.isDoubtful) throw new Unacknowledged(own, "an answer was lost");
      if (!isGivenUp) outcome = "applied";
    }
    return { outcome, value: answer[1], left: answer[2], id: own };
  }

  async get(counter) {
    return (await this.#run(null, 0, ["ONCE.GET", this.table, counter])).answer;
  }

  // Sends a command until there is an answer: returns it, the first one, which may have been lost
  // since, whether an attempt was lost that may have been carried out, and until when it may be
  // sent. Every attempt has the same id, or ids; null is for what changes no counter. With isAgain,
  // the id was sent before, at the time begin.
  async #run(id, wait, given, { begin = performance.now(), end = begin + this.timeoutMs,
                                isAgain = false } = {}) {
    if (!(wait >= 0)) throw new TypeError(`no number of replicas: ${wait}`);
    const command = given.map(asWord), replicas = wait > 0 ? asWord(wait) : "0";
    let first, isDoubtful = false, pause = 10, cause = "no time was left";
    while (performance.now() < end) {
      if (isAgain && id !== null) { // nothing is sent to where not even the window can be asked for
        end = Math.min(end, begin + await this.#window(id, end, isDoubtful) / 2);
        if (performance.now() >= end) break;
      }
      isAgain = true;
      try {
        const left = end - performance.now();
        const waitMs = Math.max(1, Math.floor(Math.min(this.waitMs, left * 0.9)));
        const commands = wait > 0 ? [command, ["WAIT", replicas, waitMs]] : [command];
        const patience = Math.min(left, this.attemptMs + (wait > 0 ? waitMs : 0));
        const replies = await within(patience, (signal) =>
          this.driver(this.table, commands, signal));
        isDoubtful ||= replies.isResent === true;
        const [answer, acknowledged] = replies;
        if (answer instanceof Error) throw answer;
        first ??= answer;
        if (wait === 0 || Number(acknowledged) >= wait) {
          return { answer, first, isDoubtful, end };
        }
        isDoubtful = true; // it was carried out, and a failover may lose it
        if (acknowledged instanceof Error) throw acknowledged;
        cause = new Error(`fewer than ${wait} replicas`);
      } catch (error) {
        if (error.message.startsWith("NOTABLE") && id !== null) {
          try { // a server has lost it; with our window, not with the server's own
            await this.#make(end);
          } catch (failed) {
            const isLate = failed instanceof Unacknowledged;
            if (!isLate && !isDoubtful) throw failed;
            throw new Unacknowledged(id, isLate ? failed.cause : failed);
          }
          continue;
        }
        if (!isPassing(error)) {
          throw isDoubtful && id !== null ? new Unacknowledged(id, error) : error;
        }
        isDoubtful ||= !isAnswer(error);
        cause = error;
      }
      const rest = end - performance.now();
      await sleep(Math.max(0, Math.min(pause * (0.5 + Math.random() / 2), rest)));
      pause = Math.min(2 * pause, 500);
    }
    throw new Unacknowledged(id, cause);
  }

  // The window that the table has. One that does not exist has nothing to forget; without the right
  // to ask, only the time limits retries.
  async #window(id, end, isDoubtful) {
    try {
      return windowOf((await this.#run(null, 0, ["ONCE.INFO", this.table], { end })).answer);
    } catch (error) {
      if (isAnswer(error)) return Infinity;
      if (error instanceof Unacknowledged) throw new Unacknowledged(id, error.cause);
      throw isDoubtful ? new Unacknowledged(id, error) : error;
    }
  }
}

// Of ONCE.INFO: an array, a Map or an object, by the protocol and the settings of the package.
function windowOf(info) {
  const pairs = Array.isArray(info) ? info
    : (info instanceof Map ? [...info] : Object.entries(info)).flat();
  const at = pairs.findIndex((one) => String(one) === "window_ms"); // it may be a Buffer
  const window = Number(pairs[at + 1]);
  if (at < 0 || !(window > 0)) throw new Error("ONCE.INFO does not say what the window is");
  return window;
}

function saysOne(answer) {
  return Array.isArray(answer) && Number(answer[0]) === 1;
}

// What begin, which is given a signal, promises; for so many milliseconds.
async function within(milliseconds, begin) {
  const over = new AbortController(), answered = new AbortController();
  const promise = begin(over.signal);
  promise.catch(() => {}); // of what comes too late nobody hears
  const late = sleep(milliseconds, undefined, { signal: answered.signal }).then(() => {
    over.abort();
    throw new Error("no answer in time");
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    answered.abort();
  }
}
