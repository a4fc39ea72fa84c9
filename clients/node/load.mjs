// Counts in a cluster or on one server until it is told to stop, and prints what was acknowledged.
// usage: node load.mjs ioredis|node-redis cluster|single HOST:PORT [WAIT]
//
// A line on the standard input ends it. Prints "ready", and at the end one line of JSON.
import { connect } from "./connect.mjs";
import { Once } from "./once.mjs";

const [kind, mode, address, wait = "0"] = process.argv.slice(2);
const { driver, close } = await connect(kind, mode, address);
const tables = ["a", "b", "c", "d"].map((name) => new Once(driver, name,
  { windowMs: 600_000, wait: Number(wait), waitMs: 500, timeoutMs: 120_000 }));
for (const table of tables) await table.create();

let isOver = false;
process.stdin.once("data", () => { isOver = true; });
const totals = {};
async function work(table, number) {
  for (let i = 0; !isOver; i++) {
    const ways = [
      async () => [(await table.incrby("n", 2)).applied, 2],
      async () => [(await table.take("n", 1, 1e9)).outcome === "applied", 1],
      async () => [(await table.incrbyMany([["n", 1], ["n", 3]])).every((one) => one.applied), 4],
    ];
    const [isApplied, sum] = await ways[(i + number) % 3]();
    if (!isApplied) throw new Error(`${table.table}: not applied`);
    totals[table.table] = (totals[table.table] ?? 0) + sum;
    if (i === 20) console.log("ready");
  }
}
await Promise.all(tables.flatMap((table) => [work(table, 0), work(table, 1)]));
console.log(JSON.stringify(totals));
await close();
