/* bench/serve_peers.c - what people write by hand: a table of ids, a table of counters, a
 * transaction for each request, synced before it is answered.
 *
 * Node.js has SQLite from version 22 on. An older one uses the package better-sqlite3, which npm
 * fetches and compiles, in a minute or several, unless NODE_PATH leads to it. With --quick nothing
 * is fetched. */
#include "serve_peers.h"

#include "node.h"

static const char python[] =
    "import http.server, json, os, sqlite3, sys, threading\n"
    "os.makedirs(sys.argv[1])\n"
    "base = sqlite3.connect(sys.argv[1] + '/counts', check_same_thread=False, "
    "isolation_level=None)\n"
    "base.execute('PRAGMA journal_mode=WAL')\n"
    "base.execute('PRAGMA synchronous=FULL')\n"
    "base.execute('CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID')\n"
    "base.execute('CREATE TABLE counters (key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID')\n"
    "lock = threading.Lock()\n"
    "def count(event):\n"
    "    fresh = base.execute('INSERT OR IGNORE INTO ids VALUES (?)', (event['id'],)).rowcount\n"
    "    if fresh:\n"
    "        base.execute('INSERT INTO counters VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET '\n"
    "                     'value = value + excluded.value', (event['key'], event['delta']))\n"
    "    return {'outcome': 'applied' if fresh else 'duplicate'}\n"
    "class Handler(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def do_POST(self):\n"
    "        body = self.rfile.read(int(self.headers['Content-Length']))\n"
    "        events = [json.loads(line) for line in body.splitlines()]\n"
    "        with lock:\n"
    "            base.execute('BEGIN')\n"
    "            answer = [count(event) for event in events]\n"
    "            base.execute('COMMIT')\n"
    "        text = json.dumps(answer).encode()\n"
    "        self.send_response(200)\n"
    "        self.send_header('Content-Length', str(len(text)))\n"
    "        self.end_headers()\n"
    "        self.wfile.write(text)\n"
    "    def log_message(self, *words):\n"
    "        pass\n"
    "class Server(http.server.ThreadingHTTPServer):\n"
    "    request_queue_size = 128\n"
    "    daemon_threads = True\n"
    "Server(('127.0.0.1', int(sys.argv[2])), Handler).serve_forever()\n";

static const char node[] =
    "let Base;\n"
    "try { Base = require('node:sqlite').DatabaseSync; }\n"
    "catch { Base = require('better-sqlite3'); }\n"
    "const [folder, port] = process.argv.slice(1);\n"
    "require('node:fs').mkdirSync(folder);\n"
    "const base = new Base(folder + '/counts');\n"
    "base.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE ids (id TEXT "
    "PRIMARY '\n"
    "  + 'KEY) WITHOUT ROWID; CREATE TABLE counters (key TEXT PRIMARY KEY, value INTEGER) WITHOUT "
    "'\n"
    "  + 'ROWID');\n"
    "const note = base.prepare('INSERT OR IGNORE INTO ids VALUES (?)');\n"
    "const add = base.prepare('INSERT INTO counters VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET "
    "'\n"
    "  + 'value = value + excluded.value');\n"
    "function count(event) {\n"
    "  if (Number(note.run(event.id).changes) === 0) return {outcome: 'duplicate'};\n"
    "  add.run(event.key, event.delta);\n"
    "  return {outcome: 'applied'};\n"
    "}\n"
    "require('node:http').createServer((request, response) => {\n"
    "  const pieces = [];\n"
    "  request.on('data', (piece) => pieces.push(piece)).on('end', () => {\n"
    "    const lines = Buffer.concat(pieces).toString().trim().split('\\n');\n"
    "    base.exec('BEGIN');\n"
    "    const text = JSON.stringify(lines.map((line) => count(JSON.parse(line))));\n"
    "    base.exec('COMMIT');\n"
    "    response.writeHead(200, {'Content-Length': Buffer.byteLength(text)}).end(text);\n"
    "  });\n"
    "}).listen(Number(port), '127.0.0.1');\n";

static const struct node_package sqlite_for_node = {
    .peer = "Node.js, SQLite",
    .name = "better-sqlite3",
    .check = "try { require('node:sqlite'); } catch { try {\n"
             "new (require('better-sqlite3'))(':memory:');\n"
             "} catch { process.exit(1); } }",
};

static bool prepare_node(const char *folder, bool quick) {
    return node_prepare(&sqlite_for_node, folder, quick);
}

const struct serve_peer serve_peers[] = {
    {.name = "lethe serve", .folder = "lethe"},
    {"Python, SQLite", "python", "python3", "-c", python, NULL},
    {"Node.js, SQLite", "node", "node", "-e", node, prepare_node},
};
const size_t serve_peer_count = sizeof serve_peers / sizeof serve_peers[0];
