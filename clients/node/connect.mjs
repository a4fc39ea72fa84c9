// Connects with one of the two packages, and returns the driver for once.mjs.
import { onIoredis, onNodeRedis } from "./once.mjs";

export async function connect(kind, mode, address, options = {}) {
  const host = address.slice(0, address.lastIndexOf(":"));
  const port = Number(address.split(":").at(-1));
  if (kind === "ioredis") {
    const { default: Redis, Command } = await import("ioredis");
    // What was lost is given back at once, and sent again by once.mjs.
    const settings = { maxRetriesPerRequest: 0, connectTimeout: 2000, ...options };
    const redis = mode === "cluster"
      ? new Redis.Cluster([{ host, port }], { redisOptions: settings, slotsRefreshTimeout: 2000,
        clusterRetryStrategy: () => 100 })
      : new Redis({ host, port, ...settings, retryStrategy: () => 50 });
    redis.on("error", () => {}); // each operation hears of its own
    return { driver: onIoredis(redis, Command), close: () => redis.disconnect(), redis };
  }
  const { createClient, createCluster } = await import("redis");
  // Or else it would try a wrong password for ever.
  const isDenied = (error) => /WRONGPASS|NOAUTH|NOPERM|AUTH/.test(error?.message ?? "");
  const reconnectStrategy = (_, cause) => (isDenied(cause) ? cause : 50);
  const socket = { reconnectStrategy, connectTimeout: 2000 };
  const redis = mode === "cluster"
    ? createCluster({ rootNodes: [{ socket: { host, port } }], defaults: { socket, ...options } })
    : createClient({ socket: { host, port, ...socket }, ...options });
  redis.on("error", () => {});
  await redis.connect();
  return { driver: onNodeRedis(redis), close: () => redis.destroy(), redis };
}
