"""Goal:   one command of a client takes no more memory than there is, stops nobody for long, and cuts no replica off; limits bind
        clients, and never what is replicated or loaded; while memory is short, a duplicate is still answered as one.
Method: options that ask for terabytes, growth and merges against maxmemory, lethe.largest-value and caps of their own; page
        faults as a measure of what a command looks at; a replication link with a small buffer."""

import itertools

import pytest
from servers import IS_SANITIZED, table_info, wait_for
from test_types import error_of

MIB = 1 << 20
HUGE = [["QF.RESERVE", "q", "CAPACITY", 10**12, "ERROR", "0.01"], ["QF.RESERVE", "q", "CAPACITY", 1 << 30],
        ["GBF.RESERVE", "q", "SLOTS", 1 << 40], ["GBF.RESERVE", "q", "CAPACITY", 10**9],
        ["FID.RESERVE", "q", "WIDTH", 1 << 27, "DEPTH", 5], ["FBF.RESERVE", "q", "CAPACITY", 10**9],
        ["ONCE.CREATE", "q", "CAPACITY", 1 << 36], ["ONCE.CREATE", "q", "CAPACITY", 10**9, "ERROR", "1e-12"]]


@pytest.fixture
def limited(server):
    """Room for about 200 MiB more."""
    used = server.client.info("memory")["used_memory"]
    server.client.config_set("maxmemory", used + 200 * MIB)
    yield server
    server.client.config_set("maxmemory", 0)
    server.client.config_set("maxmemory-policy", "noeviction")
    server.client.config_set("lethe.largest-value", 4 << 30)


@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
@pytest.mark.parametrize("words", HUGE)
def test_a_value_must_fit_into_maxmemory(limited, policy, words):
    limited.client.config_set("maxmemory-policy", policy)
    limited.client.config_set("lethe.largest-value", 1 << 50)
    limited.client.set("other", "kept")
    assert "maxmemory leaves" in error_of(limited, *words)
    assert limited.client.keys() == [b"other"]
    assert limited.client.info("memory")["used_memory"] < limited.client.info("memory")["maxmemory"]


@pytest.mark.parametrize("words", HUGE)
def test_a_value_may_be_as_large_as_the_setting_says(server, words):
    """Where there is no maxmemory, too."""
    server.client.config_set("lethe.largest-value", 100 * MIB)
    assert "lethe.largest-value is 104857600" in error_of(server, *words)
    server.client.config_set("lethe.largest-value", 4 << 30)
    assert server.client.keys() == []


def test_what_fits_is_made(limited):
    limited.client.config_set("lethe.largest-value", 100 * MIB)
    for words in (["QF.RESERVE", "q", "CAPACITY", 30000000], ["GBF.RESERVE", "g", "SLOTS", 10**8],
                  ["FID.RESERVE", "f", "WIDTH", 10**5], ["ONCE.CREATE", "t", "CAPACITY", 10**6],
                  ["FBF.RESERVE", "b", "CAPACITY", 10**6]):
        assert limited.call(*words) == b"OK"
    for words in (["QF.ADD", "q", 1], ["GBF.ADD", "g", 1], ["FBF.ADD", "b", 1]):
        assert limited.call(*words) == 1
    assert limited.call("ONCE.ADD", "t", 1) == [1]


def test_what_may_grow_grows_as_far_as_it_may(limited):
    """A doubling that would not fit is refused, and what was there stays."""
    limited.client.config_set("lethe.largest-value", 20 * MIB)
    limited.call("QF.RESERVE", "q", "CAPACITY", 4 * MIB, "GROW", 1 << 32, "ERROR", "1e-5", "SEED", 1)
    filled, problem = 0, None
    script = """for i = ARGV[1], ARGV[2], 1000 do
                    local items = {}
                    for j = i, i + 999 do items[#items + 1] = j end
                    local answers = redis.call('QF.MADD', KEYS[1], unpack(items))
                    for j = 1, #answers do
                        if type(answers[j]) == 'table' then return {i + j - 2, answers[j].err} end
                    end
                end
                return {tonumber(ARGV[2]), ''}"""
    while problem is None and filled < 6 * MIB:
        filled, text = limited.client.eval(script, 1, "q", filled + 1, filled + 400000)
        problem = text.decode() or None
    assert "lethe.largest-value" in problem
    assert table_info(limited.client, "q")["items"] > 4 * MIB - 1000
    assert limited.call("QF.MTEST", "q", 1, filled, filled + 1)[:2] == [1, 1]


def room_taken(server, before, *words):
    """How many of so many ids a table takes, what the others were told, and the memory that was used."""
    answers = server.call("ONCE.ADD", *words)
    refused = {str(answer) for answer in answers if answer not in (0, 1)}
    assert all("maxmemory" in text for text in refused)
    return answers.count(1), bool(refused), server.client.info("memory")["used_memory"] - before


@pytest.mark.parametrize("policy", ["noeviction", "allkeys-lru"])
def test_one_command_takes_no_more_than_is_left(limited, policy):
    """A thousand ids may each need a new piece of a large window: of a table that fitted when it was made, and of one that was
    loaded, of which nobody asked whether it fits."""
    limited.client.config_set("maxmemory-policy", policy)
    before = limited.client.info("memory")["used_memory"]
    share = 200 * MIB if policy == "noeviction" else 50 * MIB
    tables = ["t", "u"]
    for key in tables:
        limited.call("ONCE.CREATE", key, "CAPACITY", share // 7)
    taken = [room_taken(limited, before, key, *range(2000)) for key in tables]
    assert taken[0][:2] == (2000, False) and share // 2 < taken[0][2] < share
    if policy == "noeviction":
        assert taken[1][0] < 2000 and taken[1][1] and taken[1][2] < 225 * MIB
    limited.client.flushall()
    limited.client.config_set("maxmemory", 0)
    limited.call("ONCE.CREATE", "t", "CAPACITY", 600000000)
    piece = limited.call("ONCE.DUMP", "t", 0)
    limited.client.flushall()
    limited.client.config_set("maxmemory", before + 200 * MIB)
    limited.call("ONCE.LOAD", "t", *piece)
    count, is_refused, used = room_taken(limited, before, "t", *range(5000))
    assert 10 < count < 5000 and is_refused and used < 225 * MIB
    assert limited.call("ONCE.SEEN", "t", *range(5000)).count(1) == count


FILL = """for i = 1, 1000 do
              local ids = {}
              for j = 1, 1000 do ids[j] = i * 1000 + j end
              local answers = redis.pcall(ARGV[1], KEYS[1], unpack(ids))
              if answers.err then return answers.err end
              for j = 1, #answers do if type(answers[j]) == 'table' then return answers[j].err end end
          end
          return ''"""


@pytest.mark.parametrize("words", [["ONCE.CREATE", "ONCE.ADD"], ["ONCE.CREATE", "ONCE.ADD", "POLICY", "degrade"],
                                   ["FBF.RESERVE", "FBF.MADD"]])
def test_what_grows_in_pieces_stops_at_the_largest_size(server, words):
    """Each piece alone would be allowed. Copies are still told."""
    server.client.config_set("lethe.largest-value", 6 * MIB)
    try:
        server.call(words[0], "t", *words[2:])
        problem = server.client.eval(FILL, 1, "t", words[1])
        assert problem.startswith(b"OOM ") and b"lethe.largest-value" in problem
        assert 2 * MIB < server.client.memory_usage("t") < 7 * MIB
        assert server.call(words[1], "t", 1001, 1002) == [0, 0]
    finally:
        server.client.config_set("lethe.largest-value", 4 << 30)
    assert server.call(words[1], "t", *range(-200, 0)) == [1] * 200


def test_each_item_that_is_refused_has_the_reason(server):
    """Not only the first one of a command."""
    server.client.config_set("lethe.largest-value", 6 * MIB)
    try:
        server.call("FBF.RESERVE", "t", "SEED", 1)
        answers, first = [], 0
        while all(answer in (0, 1) for answer in answers):
            answers = server.call("FBF.MADD", "t", *range(first, first + 1000))
            first += 1000
        refused = [str(answer) for answer in answers if answer not in (0, 1)]
        assert len(refused) > 1 and all("lethe.largest-value" in text for text in refused), set(refused)
    finally:
        server.client.config_set("lethe.largest-value", 4 << 30)


def test_names_of_counters_stop_at_the_largest_size(server):
    """A table's names are no blocks of a window; the timer sees what they take."""
    server.client.config_set("lethe.largest-value", 3 * MIB)
    try:
        server.call("ONCE.INCRBY", "t", "first", "c", 1, *[word for i in range(4000) for word in (f"{i:01000}", 1)])
        ids = itertools.count()
        wait_for(lambda: b"lethe.largest-value" in
                 server.client.eval("return redis.pcall('ONCE.ADD', KEYS[1], ARGV[1]).err or ''", 1, "t", next(ids)))
        for words in (["CALL", "t", "new", "SET", "k", "v"], ["MINCRBY", "t", "new", "c", 1], ["ADD", "t", "new"]):
            assert "lethe.largest-value" in error_of(server, "ONCE." + words[0], *words[1:])
        assert server.call("ONCE.SEEN", "t", "new", "first") == [0, 1]
        assert server.call("ONCE.INCRBY", "t", "first", "c", 1) == [0, 1]
        assert server.call("ONCE.CALL", "t", "first", "SET", "k", "v") == [0, None]
        assert server.call("ONCE.MINCRBY", "t", "first", "c", 1) == [[0, 1]]
        assert server.client.exists("k") == 0
    finally:
        server.client.config_set("lethe.largest-value", 4 << 30)
    assert server.call("ONCE.INCRBY", "t", "new", "c", 1)[0] == 1


def test_limits_bind_no_replica_and_no_file(pair):
    master, replica = pair
    for prefix, words in (("QF", ["CAPACITY", 20000000]), ("GBF", ["SLOTS", 50000000])):
        replica.client.config_set("lethe.largest-value", MIB)
        replica.client.config_set("maxmemory", "3mb")
        master.call(prefix + ".RESERVE", "q", *words, "SEED", 3)
        master.call(prefix + ".ADD", "q", "a")
        replica.catch_up_with(master)
        replica.client.config_set("maxmemory", 0)
        assert replica.digest("q") == master.digest("q")
        replica.call("DEBUG", "RELOAD")
        assert replica.digest("q") == master.digest("q")
        master.client.delete("q")


@pytest.mark.parametrize("grow", [[], ["GROW", 2200]])
def test_a_merge_keeps_to_cap_and_error(server, grow):
    keys = ["q", "r", "s", "t"]
    for key in keys:
        server.call("QF.RESERVE", key, "CAPACITY", 1000, "ERROR", "0.01", "SEED", 1, *grow)
        server.call("QF.MADD", key, *[f"{key}{i}" for i in range(1000)])
    before = server.digest("q")
    if grow:
        assert server.call("QF.MERGE", "q", "r") == b"OK"
        before = server.digest("q")
        assert "FULL" in error_of(server, "QF.MERGE", "q", "s")
    else:
        assert "FULL" in error_of(server, "QF.MERGE", "q", "r")
    assert server.digest("q") == before
    info = table_info(server.client, "q")
    assert info["error_estimate"] <= info["error_target"] and info["items"] <= (2200 if grow else 1000)


@pytest.mark.parametrize("prefix, words", [("GBF", ["SLOTS", 16 * MIB]), ("QF", ["CAPACITY", 4 * MIB]),
                                           ("FID", ["WIDTH", 200000])])
def test_a_merge_does_not_cut_the_replica_off(pair, prefix, words):
    """However large what is merged is, next to nothing is sent."""
    master, replica = pair
    master.client.config_set("client-output-buffer-limit", "replica 1mb 0 0")
    for key in "ab":
        master.call(prefix + ".RESERVE", key, *words, "SEED", 5)
        master.call(prefix + ".ADD", key, key, *([1] if prefix == "FID" else []))
    replica.catch_up_with(master)
    stats, offset = master.client.info("stats"), master.client.info("replication")["master_repl_offset"]
    assert master.call(prefix + ".MERGE", "a", "b") == b"OK"
    replica.catch_up_with(master)
    after = master.client.info("stats")
    assert [after[name] for name in ("sync_full", "sync_partial_ok")] == \
        [stats[name] for name in ("sync_full", "sync_partial_ok")]
    assert master.client.info("replication")["master_repl_offset"] < offset + 100000
    assert replica.digest("a") == master.digest("a") != master.digest("b")
    test = "FID.COUNT" if prefix == "FID" else prefix + ".MTEST"
    assert replica.call(test, "a", "a", "b") == [1, 1]


def faults(server):
    """How many pages the server's process has touched for the first time."""
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[7])


def test_info_looks_at_little(server):
    """Whatever the size: pages that nobody has touched are touched by whoever looks at them."""
    if IS_SANITIZED:
        pytest.skip("the sanitizer touches pages of its own")
    made = {"FID": ["WIDTH", 4000000, "DEPTH", 5], "QF": ["CAPACITY", 10**8], "FBF": ["CAPACITY", 10**8],
            "ONCE": ["CAPACITY", 10**8]} # GBF looks at a sample, whatever its size
    for prefix, words in made.items():
        server.call(prefix + (".CREATE" if prefix == "ONCE" else ".RESERVE"), "k", *words)
        server.call(prefix + ".ADD", "k", "a", *([1] if prefix == "FID" else []))
        before = faults(server)
        server.call(prefix + ".INFO", "k")
        assert faults(server) - before < 1000, prefix
        server.client.delete("k")


def test_the_sketchs_error_is_told(server):
    server.call("FID.RESERVE", "s", "WIDTH", 1000)
    server.call("FID.ADD", "s", "a", 5000)
    info = table_info(server.client, "s")
    assert info["total"] == 5000 and 5000 / 1000 < info["error_above"] < 5 * 5000 / 1000


@pytest.fixture
def short(server):
    """A table with what has been applied, in a server that has used up its memory since."""
    server.call("ONCE.CREATE", "t", "SEED", 1)
    server.call("ONCE.INCRBY", "t", "one", "n", 1)
    server.call("ONCE.INCRBY", "t", "two", "n", 1, "m", 1)
    server.call("ONCE.ADD", "t", "three")
    server.call("ONCE.CALL", "t", "four", "SET", "k", 1)
    server.client.config_set("maxmemory", 1)
    yield server
    server.client.config_set("maxmemory", 0)


def test_a_duplicate_is_answered_while_memory_is_short(short):
    assert short.call("ONCE.INCRBY", "t", "one", "n", 1) == [0, 2]
    assert short.call("ONCE.INCRBY", "t", "two", "n", 1, "m", 1) == [0, 2, 1]
    assert short.call("ONCE.MINCRBY", "t", "one", "n", 1, "two", "n", 1) == [[0, 2], [0, 2]]
    assert short.call("ONCE.ADD", "t", "three", "one") == [0, 0]
    assert short.call("ONCE.CALL", "t", "four", "SET", "k", 2) == [0, None]
    assert short.client.eval("#!lua flags=allow-oom\nreturn redis.call('ONCE.ADD', KEYS[1], 'one')", 1, "t") == [0]


def test_nothing_fresh_is_done_while_memory_is_short(short):
    before = short.digest()
    for words in (["INCRBY", "t", "new", "n", 1], ["INCRBY", "t", "new", "n", 1, "m", 1], ["MINCRBY", "t", "new", "n", 1],
                  ["ADD", "t", "new"], ["CALL", "t", "new", "SET", "k", 2], ["CALL", "t", "new", "DEL", "k"],
                  ["INCRBY", "none", "one", "n", 1], ["MINCRBY", "none", "one", "n", 1], ["ADD", "none", "one"],
                  ["CALL", "none", "four", "SET", "k", 2], ["CREATE", "none"]):
        assert "maxmemory" in error_of(short, "ONCE." + words[0], *words[1:])
    assert short.digest() == before and short.client.get("k") == b"1" and short.client.exists("none") == 0
    # Together with duplicates, each is answered for itself.
    answers = short.call("ONCE.MINCRBY", "t", "new", "n", 1, "one", "n", 1)
    assert "maxmemory" in str(answers[0]) and answers[1] == [0, 2]
    answers = short.call("ONCE.ADD", "t", "three", "new")
    assert answers[0] == 0 and "maxmemory" in str(answers[1])
    short.client.config_set("maxmemory", 0)
    assert short.call("ONCE.SEEN", "t", "new") == [0]
    assert short.call("ONCE.INCRBY", "t", "new", "n", 1) == [1, 3]


def test_duplicates_while_memory_is_short_reach_the_replica(pair):
    """WAIT after such an answer waits for the original, too."""
    master, replica = pair
    master.call("ONCE.INCRBY", "t", "one", "n", 1)
    master.client.config_set("maxmemory", 1)
    offset = master.client.info("replication")["master_repl_offset"]
    assert master.call("ONCE.INCRBY", "t", "one", "n", 1) == [0, 1]
    assert master.client.info("replication")["master_repl_offset"] > offset
    master.client.config_set("maxmemory", 0)
    replica.catch_up_with(master)
    wait_for(lambda: replica.digest() == master.digest(), what="the same digest")
