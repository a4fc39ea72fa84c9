"""Goal:   the recipe of docs/node.md counts exactly from ioredis and node-redis, on one server and
        on a real cluster, while connections are killed, a slot moves and a master dies; and what
        the page says of ioredis is so.
Method: the files of clients/node run with the packages that npm installs into a temporary folder.
        Where there is no Node.js, no npm or no network, the tests are skipped."""

import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import pytest
from cluster import Cluster
from servers import SOURCE, wait_for
from test_client_cluster import move_slot_of

FOLDER = SOURCE / "clients/node"
PACKAGES = ["ioredis", "redis"]
KINDS = ["ioredis", "node-redis"]


@functools.cache
def installed():
    """A folder with the recipe and the packages; or why there is none."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return None, "no Node.js or no npm here"
    holder = tempfile.TemporaryDirectory(prefix="lethe-node-")
    for path in FOLDER.glob("*.mjs"):
        shutil.copy(path, holder.name)
    subprocess.run(["npm", "init", "-y"], cwd=holder.name, capture_output=True, check=False)
    try:
        run = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock",
                              "--prefer-offline", *PACKAGES], cwd=holder.name, timeout=180,
                             capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return None, "npm could not install the packages in time"
    if run.returncode != 0:
        return None, "npm could not install the packages: no network?"
    return holder, None


@pytest.fixture(scope="module")
def folder():
    holder, reason = installed()
    if holder is None:
        pytest.skip(reason)
    yield holder.name


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, folder):
    with Cluster(tmp_path_factory.mktemp("cluster"), addresses=("127.0.0.1",) * 3,
                 prefixes=((),) * 3, replicas=0) as one:
        yield one


@pytest.fixture(autouse=True)
def empty(request):
    if "cluster" in request.fixturenames:
        for node in request.getfixturevalue("cluster").nodes:
            node.client.flushall()


class Load:
    """load.mjs while it runs."""

    def __init__(self, folder, kind, mode, server, wait=0):
        self.process = subprocess.Popen(
            ["node", "load.mjs", kind, mode, f"127.0.0.1:{server.port}", str(wait)], cwd=folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]

    def finish(self):
        out, errors = self.process.communicate("stop\n", timeout=200)
        assert self.process.returncode == 0, errors
        return json.loads(out.splitlines()[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def value(*servers, table):
    """Of the counter n, from whoever has the table."""
    for server in servers:
        if table in [key.decode() for key in server.client.keys(table)]:
            return server.call("ONCE.GET", table, "n")
    return None


def grown(servers, table, more):
    before = value(*servers, table=table) or 0
    wait_for(lambda: (value(*servers, table=table) or 0) > before + more, what="progress")


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster(folder, cluster, kind):
    with Load(folder, kind, "cluster", cluster.nodes[0]) as load:
        grown(cluster.nodes, "a", 50)
        for node in cluster.nodes:
            node.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        grown(cluster.nodes, "a", 50)
        move_slot_of(cluster, "a")
        grown(cluster.nodes, "a", 50)
        victim = next(node for node in cluster.nodes if node.client.exists("b"))
        victim.restart()
        cluster.wait_until_whole()
        grown(cluster.nodes, "b", 50)
        totals = load.finish()
    assert totals == {table: value(*cluster.nodes, table=table) for table in "abcd"}


@pytest.mark.parametrize("kind", KINDS)
def test_one_server_and_its_replica(folder, start, kind):
    """With WAIT: what is acknowledged is on the replica, though connections are killed."""
    master, replica = start(appendonly="yes", appendfsync="always"), start()
    replica.follow(master)
    replica.catch_up_with(master)
    with Load(folder, kind, "single", master, wait=1) as load:
        for _ in range(5):
            grown([master], "a", 20)
            master.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        master.restart()
        grown([master], "a", 20)
        totals = load.finish()
    assert totals == {table: value(master, table=table) for table in "abcd"}
    assert totals == {table: value(replica, table=table) for table in "abcd"}


def script(folder, text, *words):
    """Runs a program in the folder, and returns what it prints."""
    path = os.path.join(folder, f"script-{time.monotonic_ns()}.mjs")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    run = subprocess.run(["node", path, *map(str, words)], cwd=folder, capture_output=True,
                         text=True, timeout=200, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


PROBE = """
import { connect } from "./connect.mjs";
import { Once, Unacknowledged } from "./once.mjs";
const [kind, port, password] = process.argv.slice(2);
const options = password ? { password } : {};
let found;
const begin = performance.now();
try {
  const { driver } = await connect(kind, "single", `127.0.0.1:${port}`, options);
  const table = new Once(driver, "t", { timeoutMs: 1500, wait: Number(process.env.WAIT ?? 0),
    waitMs: 300 });
  if (process.env.CREATE) await table.create();
  found = await table.incrby("n", 1, { id: "i" });
} catch (error) {
  found = { error: error.message, isLate: error instanceof Unacknowledged, id: error.id };
}
console.log(JSON.stringify({ ...found, seconds: (performance.now() - begin) / 1000 }));
process.exit(0);
"""


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_replicas_and_wrong_passwords(folder, start, kind, monkeypatch):
    server = start()
    monkeypatch.setenv("CREATE", "1")
    monkeypatch.setenv("WAIT", "1")
    found = json.loads(script(folder, PROBE, kind, server.port))
    assert found["isLate"] and found["id"] == "i"
    monkeypatch.setenv("WAIT", "0")
    assert json.loads(script(folder, PROBE, kind, server.port))["applied"] is False
    server.client.config_set("requirepass", "secret")
    for password in ("wrong", ""):
        found = json.loads(script(folder, PROBE, kind, server.port, password))
        assert re.search("(?i)auth|pass", found["error"]) and not found["isLate"]


QUEUED = """
import { createInterface } from "node:readline/promises";
import { connect } from "./connect.mjs";
import { Once } from "./once.mjs";
const [kind, mode, port, wait] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { driver } = await connect(kind, mode, `127.0.0.1:${port}`);
await new Once(driver, "t").create();
const table = new Once(driver, "t", { timeoutMs: 300, waitMs: 50, wait: Number(wait) });
console.log("ready");
await lines.next();
const failed = [];
for (let i = 0; i < 3; i++) {
  await table.incrby("n", 1, { id: "i" }).catch((error) => failed.push(error.id));
}
console.log(JSON.stringify(failed));
await lines.next();
console.log(await new Once(driver, "t", { timeoutMs: 100_000 }).get("other"));
process.exit(0);
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode, wait", [("single", 0), ("single", 1), ("cluster", 0), ("cluster", 1)])
def test_what_was_given_up_is_not_sent_later(folder, start, kind, mode, wait):
    """A package that waits for a server has a queue. By the time that it is sent, an id may be
    forgotten."""
    options = {"cluster_enabled": "yes", "cluster_announce_ip": "127.0.0.1"} if mode == "cluster" else {}
    server = start(appendonly="yes", appendfsync="always", **options)
    if mode == "cluster":
        server.call("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        wait_for(lambda: b"cluster_state:ok" in server.call("CLUSTER", "INFO"), what="a cluster")
    path = os.path.join(folder, f"queued-{time.monotonic_ns()}.mjs")
    with open(path, "w", encoding="utf-8") as file:
        file.write(QUEUED)
    with subprocess.Popen(["node", path, kind, mode, str(server.port), str(wait)], cwd=folder,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            server.kill()
            process.stdin.write("go\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == ["i"] * 3
            server.start()
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "null\n"
        finally:
            process.kill()
    assert server.call("ONCE.SEEN", "t", "i") == [0]


# A driver that answers as it is told, by the first word of each command.
TOLD = """
import { Once, Unacknowledged } from "./once.mjs";
const on = (answers) => async (key, commands) => {
  if (commands[0][0] === "ONCE.INFO") return [["window_ms", 600000]];
  const found = answers[commands[0][0]].shift();
  if (found.lost) throw new Error("lost");
  if (found.error) throw found.error;
  return found;
};
const refusal = (text) => Object.assign(new Error(text), { name: "ReplyError" });
const refused = (text) => ({ error: refusal(text) });
const settle = (promise) => promise.then((found) => found, (error) => (
  { isLate: error instanceof Unacknowledged, id: error.id, text: error.message }));
const found = {};
async function run(name, answers, call, options = {}) {
  found[name] = await settle(call(new Once(on(answers), "t", { timeoutMs: 3000, ...options })));
}
const lost = { lost: true };
await run("full", { "ONCE.TAKE": [lost, [[-1, 5, 0]]], "ONCE.ADD": [[[refusal("FULL")]]] },
  (table) => table.take("n", 1, 5));
await run("denied", { "ONCE.INCRBY": [lost, refused("NOPERM no")] },
  (table) => table.incrby("n", 1, { id: "i" }));
await run("plain", { "ONCE.INCRBY": [refused("NOPERM no")] },
  (table) => table.incrby("n", 1, { id: "i" }));
await run("first", { "ONCE.INCRBY": [[[1, 1], 0], [[0, 1], 1]] },
  (table) => table.incrby("n", 1, { id: "i" }), { wait: 1 });
await run("take", { "ONCE.TAKE": [[[1, 1, 4], 0], [[0, 1, 4], 1]] },
  (table) => table.take("n", 1, 5, { id: "i" }), { wait: 1 });
await run("many", { "ONCE.MINCRBY": [[[[1, 1], [0, 1]], 0], [[[0, 1], [0, 1]], 1]] },
  (table) => table.incrbyMany([["n", 1, "i"], ["n", 1, "j"]]), { wait: 1 });
await run("lost table", { "ONCE.INCRBY": [refused("NOTABLE")],
  "ONCE.CREATE": Array(1000).fill(lost) },
  (table) => table.incrby("n", 1, { id: "i" }), { timeoutMs: 100 });
await run("no id", { "ONCE.INCRBY": [lost, [[0, 1]]] }, (table) => table.incrby("n", 1, { id: null }));
await run("no ids", { "ONCE.MINCRBY": [lost, [[[0, 1], [0, 2]]]] },
  (table) => table.incrbyMany([["n", 1, null], ["n", 1, "i"]]));
await run("no id to take", { "ONCE.TAKE": [lost, [[0, 1, 4]]] },
  (table) => table.take("n", 1, 5, { id: null }));
await run("no id to give up", { "ONCE.TAKE": [lost, [[-1, 5, 0]]], "ONCE.ADD": [[[0]]] },
  (table) => table.take("n", 1, 5, { id: null }));
await run("failover", { "ONCE.TAKE": [lost, [[-1, 5, 0], 1]], "ONCE.ADD": [[[1], 0], [[0], 1]] },
  (table) => table.take("n", 1, 5), { wait: 1 });
for (const [name, words] of Object.entries({ object: [{}], none: [undefined], array: ["n", ["x"]],
  boolean: ["n", true], bytes: [new Uint8Array(1)], fraction: ["n", 0.5] })) {
  await run(`type: ${name}`, {}, (table) => table.incrby(words[0], words[1] ?? 1).catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    return "TypeError";
  }));
}
const begin = performance.now();
await run("time", { "ONCE.TAKE": [lost, [[-1, 5, 0]]], "ONCE.ADD": Array(1000).fill(lost) },
  async (table) => {
    const real = table.driver;
    table.driver = async (key, commands, signal) => {
      if (commands[0][0] === "ONCE.TAKE") await new Promise((go) => setTimeout(go, 900));
      return real(key, commands, signal);
    };
    return table.take("n", 1, 5);
  }, { timeoutMs: 2500 });
found.seconds = (performance.now() - begin) / 1000;
console.log(JSON.stringify(found));
process.exit(0);
"""


def test_what_is_in_doubt_is_said_to_be(folder):
    found = json.loads(script(folder, TOLD))
    assert found["full"]["isLate"] and found["full"]["id"] and "FULL" in found["full"]["text"]
    assert found["denied"]["isLate"] and found["denied"]["id"] == "i" and "NOPERM" in found["denied"]["text"]
    assert not found["plain"]["isLate"] and found["plain"]["text"] == "NOPERM no"
    assert found["first"]["applied"] is True and found["take"]["outcome"] == "applied"
    assert [one["applied"] for one in found["many"]] == [True, False]
    assert found["lost table"]["isLate"] and found["lost table"]["id"] == "i"
    assert found["time"]["isLate"] and found["seconds"] < 4 # and not its time twice
    # null is no id, either
    assert found["no id"]["applied"] is True and found["no id to take"]["outcome"] == "applied"
    assert [one["applied"] for one in found["no ids"]] == [True, False]
    assert found["no id to give up"]["outcome"] == "applied"
    # given up on a server that has lost it since; then it may have been applied
    assert found["failover"]["isLate"] and found["failover"]["id"]
    types = {name: said for name, said in found.items() if name.startswith("type: ")}
    assert len(types) == 6 and set(types.values()) == {"TypeError"}


# Answers are lost for longer than ids are remembered; what was written is counted.
LOSING = """
import { connect } from "./connect.mjs";
import { Once, Unacknowledged } from "./once.mjs";
const [kind, port, act] = process.argv.slice(2);
const { driver } = await connect(kind, "single", `127.0.0.1:${port}`);
const seen = {};
let begin;
const losing = async (key, commands, signal) => {
  const replies = await driver(key, commands, signal);
  const [name] = commands[0];
  seen[name] = (seen[name] ?? 0) + 1;
  begin ??= performance.now();
  if (name === "ONCE.INCRBY" && performance.now() - begin < 2500) throw new Error("lost");
  if (name === "ONCE.TAKE") {
    await new Promise((go) => setTimeout(go, 1500)); // it is forgotten
    return Object.assign([[-1, 5, 0]], { isResent: true });
  }
  return replies;
};
const table = new Once(losing, "t", { timeoutMs: 60_000, attemptMs: 60_000 });
const found = await (act === "take" ? table.take("n", 1, 5) : table.incrby("n", 1)).catch(
  (error) => ({ isLate: error instanceof Unacknowledged, id: error.id }));
console.log(JSON.stringify({ ...found, seen }));
process.exit(0);
"""


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_sent_again_when_it_may_be_forgotten(folder, server, kind):
    """The table's window is another one than the recipe was told, and create was not called."""
    server.call("ONCE.CREATE", "t", "WINDOW", 1000)
    found = json.loads(script(folder, LOSING, kind, server.port, "incrby"))
    assert found["isLate"] and found["id"] and found["seen"]["ONCE.INFO"] >= 1
    assert server.call("ONCE.GET", "t", "n") == 1
    # a take that was resent is not given up when it may be forgotten
    found = json.loads(script(folder, LOSING, kind, server.port, "take"))
    assert found["isLate"] and "ONCE.ADD" not in found["seen"]


def test_a_window_that_may_not_be_asked_for(folder, server):
    """Then only the time limits retries."""
    server.call("ONCE.CREATE", "t", "WINDOW", 600000)
    server.call("ACL", "SETUSER", "default", "-once.info")
    try:
        found = json.loads(script(folder, LOSING, "ioredis", server.port, "incrby"))
    finally:
        server.call("ACL", "SETUSER", "default", "+once.info")
    assert found["applied"] is True and server.call("ONCE.GET", "t", "n") == 1


RESENT = """
import { Command } from "ioredis";
import { onIoredis } from "./once.mjs";
const wrote = [], found = {};
for (const pause of [0, 700]) {
  const redis = { sendCommand: async (command) => {
    const first = command.toWritable({});
    await new Promise((go) => setTimeout(go, pause));
    wrote.push(command.toWritable({}) === first);
    return [0, 1];
  } };
  found[pause] = await onIoredis(redis, Command)("t", [["ONCE.INCRBY", "t", "i", "n", 1]]).then(
    (replies) => replies.isResent, (error) => error.message);
}
console.log(JSON.stringify({ wrote, found }));
"""


def test_ioredis_resends_nothing_late(folder):
    """It does not know how long ids are remembered."""
    found = json.loads(script(folder, RESENT))
    assert found["wrote"][1] is False and "lost" in found["found"]["700"]
    if found["wrote"][0]: # unless this machine is very slow
        assert found["found"]["0"] is True


BINARY = """
import { connect } from "./connect.mjs";
import { Once } from "./once.mjs";
const [kind, mode, port, wait] = process.argv.slice(2);
const { driver } = await connect(kind, mode, `127.0.0.1:${port}`);
const table = new Once(driver, Buffer.from([0x74, 0xff]), { wait: Number(wait) });
const [one, other] = [Buffer.from([0xff]), Buffer.from([0xfe])];
const applied = [];
for (const id of [one, other, one]) applied.push((await table.incrby(other, 1n, { id })).applied);
const many = [[one, 1, Buffer.from([0xc0])], [one, 1, Buffer.from([0xc1])], [one, 1, other]];
for (const found of await table.incrbyMany(many)) applied.push(found.applied);
const found = [await table.get(one), await table.get(other), await table.get("\\ufffd")];
console.log(JSON.stringify({ applied, found }));
process.exit(0);
"""


@pytest.mark.parametrize("mode", ["single", "cluster"])
@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_names_that_are_no_text(folder, cluster, pair, kind, mode):
    """Decoded as text, they would all be the same. With WAIT they go another way."""
    server, wait = (pair[0], 1) if mode == "single" else (cluster.nodes[0], 0)
    found = json.loads(script(folder, BINARY, kind, mode, server.port, wait))
    assert found == {"applied": [True, True, False, True, True, False], "found": [2, 2, None]}
    nodes = [server] if mode == "single" else cluster.nodes
    assert sorted(key for node in nodes for key in node.client.keys()) == [b"t\xff"]


# What is not the number or the text that it looks like is not sent; what may be sent instead is.
INEXACT = """
import { connect } from "./connect.mjs";
import { Once } from "./once.mjs";
const [kind, port] = process.argv.slice(2);
const { driver } = await connect(kind, "single", `127.0.0.1:${port}`);
const sent = [];
const table = new Once((key, commands, signal) => {
  sent.push(commands[0][0]);
  return driver(key, commands, signal);
}, "t");
const large = 2 ** 53, half = "\\ud800";
const calls = { delta: () => table.incrby("n", 2 ** 60), less: () => table.incrby("n", -large),
  id: () => table.incrby("n", 1, { id: large + 1 }), "no number": () => table.incrby("n", NaN),
  endless: () => table.take("n", 1, Infinity), amount: () => table.take("n", large, 5),
  limit: () => table.take("n", 1, large), counter: () => table.get(large),
  "id of many": () => table.incrbyMany([["n", 1, "i"], ["n", 1, large + 1]]),
  "delta of many": () => table.incrbyMany([["n", 1, "i"], ["n", large, "j"]]),
  half: () => table.incrby("n", 1, { id: half }), wait: () => table.incrby("n", 1, { wait: 0.5 }),
  replicas: () => table.incrby("n", 1, { wait: true }),
  "no replicas": () => table.incrby("n", 1, { wait: -1 }) };
const refused = {};
for (const [name, call] of Object.entries(calls)) {
  refused[name] = await call().then((found) => found, (error) => error instanceof TypeError);
}
const before = sent.length;
await table.create();
const applied = [];
for (const id of ["9007199254740992", 9007199254740993n, large - 1, "\\u{1f600}"]) {
  applied.push((await table.incrby("n", 1n << 58n, { id })).applied);
}
console.log(JSON.stringify({ refused, before, applied }));
process.exit(0);
"""


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_words_become_one(folder, server, kind):
    """A number beyond 2^53 is another one by then, and half a character is sent as any other half: an event would be
    taken for the duplicate of another one, or counted as another number."""
    found = json.loads(script(folder, INEXACT, kind, server.port))
    assert len(found["refused"]) == 14 and all(said is True for said in found["refused"].values()), found["refused"]
    assert found["before"] == 0 and found["applied"] == [True] * 4
    assert server.call("ONCE.GET", "t", "n") == 4 << 58
    ids = ("9007199254740992", "9007199254740993", "9007199254740991", "\U0001f600")
    assert server.call("ONCE.SEEN", "t", *ids) == [1] * 4


MAPPED = """
import { RESP_TYPES } from "redis";
import { connect } from "./connect.mjs";
import { Once } from "./once.mjs";
const port = process.argv[2], found = {};
const mappings = { none: {}, map: { [RESP_TYPES.MAP]: Map }, array: { [RESP_TYPES.MAP]: Array },
  bytes: { [RESP_TYPES.MAP]: Map, [RESP_TYPES.BLOB_STRING]: Buffer,
           [RESP_TYPES.SIMPLE_STRING]: Buffer },
  numbers: { [RESP_TYPES.MAP]: Map, [RESP_TYPES.NUMBER]: String } };
for (const RESP of [2, 3]) {
  for (const [name, typeMapping] of Object.entries(mappings)) {
    const { driver, close } = await connect("node-redis", "single", `127.0.0.1:${port}`,
      { RESP, commandOptions: { typeMapping } });
    const table = new Once(driver, `${name}-${RESP}`, { windowMs: 5000 });
    await table.create();
    let lost = 1;
    table.driver = async (...words) => {
      const replies = await driver(...words);
      if (words[1][0][0] !== "ONCE.INFO" && lost-- > 0) throw new Error("lost");
      return replies;
    };
    const { applied, value } = await table.incrby("n", 7);
    const [many] = await table.incrbyMany([["n", 1, "i"]]);
    const { outcome, left } = await table.take("n", 1, 10);
    found[table.table] = [table.windowMs, applied, Number(value), many.applied, outcome,
      Number(left)];
    close();
  }
}
const silent = new Once(async () => [new Map()], "t", { timeoutMs: 300 });
found.silent = await silent.create().then(() => "made", (error) => error.message);
console.log(JSON.stringify(found));
process.exit(0);
"""


def test_answers_as_node_redis_is_told_to_read_them(folder, server):
    """Of a window that was not understood, nothing could be sent."""
    found = json.loads(script(folder, MAPPED, server.port))
    assert "window" in found.pop("silent")
    assert len(found) == 10 and all(said == [5000, True, 7, True, "applied", 1] for said in found.values()), found


@pytest.mark.parametrize("kind", KINDS)
def test_a_wait_that_is_denied(folder, start, kind, monkeypatch):
    """The operation was applied: whoever does not learn its id counts it again."""
    server = start()
    server.call("ACL", "SETUSER", "default", "-wait")
    monkeypatch.setenv("CREATE", "1")
    monkeypatch.setenv("WAIT", "1")
    found = json.loads(script(folder, PROBE, kind, server.port))
    assert found["isLate"] and found["id"] == "i" and "NOPERM" in found["error"]
    assert server.call("ONCE.GET", "t", "n") == 1
    server.call("ACL", "SETUSER", "default", "-once.incrby")
    found = json.loads(script(folder, PROBE, kind, server.port))
    assert not found["isLate"] and "NOPERM" in found["error"]


def test_what_ioredis_does_not_know(folder, cluster):
    """Without the key it goes to the wrong server two times out of three."""
    run = subprocess.run(["node", "measure.mjs", f"127.0.0.1:{cluster.nodes[0].port}", "300"],
                         cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["told"]["moved"] == 0 and found["call"]["moved"] > 300


def test_the_samples_of_the_page(folder, cluster, start):
    """Each block of JavaScript runs by itself, with addresses that exist."""
    page = (SOURCE / "docs/node.md").read_text()
    blocks = re.findall(r"^```js\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    server = start()
    for block in blocks:
        port = cluster.nodes[0].port if "luster" in block else server.port
        block = block.replace("10.0.0.1", "127.0.0.1").replace("6379", str(port))
        expected = re.findall(r"^console\.log.*// (.*)$", block, re.MULTILINE)
        said = script(folder, block + "\nprocess.exit(0);\n")
        assert said.splitlines() == expected
