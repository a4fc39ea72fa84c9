// What a cluster costs ioredis when it does not know the key of a command, and when it is told.
// usage: node measure.mjs HOST:PORT [CALLS]     prints one line of JSON
//
// Each way runs three times after a warm-up, one call after the other; the least time counts.
import Redis, { Command } from "ioredis";
import { Once, onIoredis } from "./once.mjs";

const [host, port] = process.argv[2].split(":");
const calls = Number(process.argv[3] ?? 600);
const cluster = new Redis.Cluster([{ host, port: Number(port) }]);
cluster.on("error", () => {});

// The redirections of all nodes so far.
async function moved() {
  let sum = 0;
  for (const node of cluster.nodes("master")) {
    sum += Number(/errorstat_MOVED:count=(\d+)/.exec(await node.info("errorstats"))?.[1] ?? 0);
  }
  return sum;
}

async function time(call) {
  const before = await moved();
  let best = Infinity;
  for (let round = 0; round < 3; round++) {
    const begin = performance.now();
    for (let i = 0; i < calls; i++) await call(`${round}-${i}`);
    best = Math.min(best, performance.now() - begin);
  }
  return { milliseconds: Math.round(best), moved: await moved() - before };
}

const tables = ["a", "b", "c"];
for (const table of tables) await new Once(onIoredis(cluster, Command), table).create();
const tell = onIoredis(cluster, Command);
const table = (i) => tables[i.length % 3];
const found = { calls };
for (const way of ["warm-up", "told"]) {
  found.told = await time((i) =>
    tell(table(i), [["ONCE.INCRBY", table(i), `t-${way}-${i}`, "n", 1]]));
}
found.call = await time((i) => cluster.call("ONCE.INCRBY", table(i), `c-${i}`, "n", 1));
found.set = await time((i) => cluster.set(`{${table(i)}}s`, i));
console.log(JSON.stringify(found));
cluster.disconnect();
