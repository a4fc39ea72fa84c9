"""The steps of the simulation of servers: each draws what it does, does it, and looks whether it is right."""

from claims import Claims
from fleet import Fleet, Table, Wrong, servers
from holds import COUNTER, Holds

WINDOW_MS = 3_600_000
PERIOD_MS = 600_000
LIMIT = 25


class Simulation:
    def __init__(self, draw, trace):
        self.trace = trace
        self.fleet = Fleet(trace)
        self.master = self.fleet.hosts[0]
        self.replicas = []
        self.tables = {}  # of the master: key -> Table
        self.payloads = []  # (bytes, Table as it was): DUMPs that were kept
        self.next_id = self.next_key = 0
        self.is_unstamped = True  # a table may have come from elsewhere, and no timer has run since
        self.claims = Claims(lambda *words: self.fleet.call(self.master, *words))
        self.holds = Holds(lambda *words: self.fleet.call(self.master, *words))
        self.make_table(draw)

    def close(self):
        self.fleet.close()

    def make_table(self, draw):
        self.next_key += 1
        key = f"t{self.next_key}"
        words = ["ONCE.CREATE", key, "WINDOW", WINDOW_MS, "ERROR", draw.choice(["1e-9", "1e-12"])]
        words += ["KIND", draw.choice(["quotient", "quotient", "forgetful"])]
        is_metered = draw.random() < 0.5
        if is_metered:
            words += ["PER", PERIOD_MS, "PER", "month", "KEEP", 24]
        answer = self.fleet.call(self.master, *words)
        if isinstance(answer, Exception):
            raise Wrong(f"{words}: {answer}")
        self.tables[key] = Table(WINDOW_MS, self.fleet.true_ms, is_metered)

    def operate(self, key, identity):
        """One operation, whose counter is named after its id: the witness."""
        table, now_ms = self.tables[key], self.fleet.true_ms
        before_ms = self.master.wall_ms()
        answer = self.fleet.call(self.master, "ONCE.INCRBY", key, identity, "w-" + identity, 1)
        if isinstance(answer, Exception):
            raise Wrong(f"ONCE.INCRBY {key} {identity}: {answer}")
        applied, value = answer
        expected = table.expected(identity, now_ms)
        if expected is not None and applied != expected:
            raise Wrong(f"{key}: {identity} was {'applied' if applied else 'taken for a duplicate'}; "
                        f"applied before: {table.applied.get(identity)}, table's time {now_ms + table.base_ms}")
        if applied:
            table.note(identity, "w-" + identity, 1, now_ms)
        if value != table.counters.get("w-" + identity, 0):
            raise Wrong(f"{key}: the counter of {identity} is {value}, not {table.counters.get('w-' + identity, 0)}")

        if table.is_metered:
            self.check_buckets(key, identity, value, (before_ms, self.master.wall_ms()) if applied else None)

    def buckets(self, key, counter, per):
        answer = self.fleet.call(self.master, "ONCE.RANGE", key, counter, "-", "+", "PER", per)
        if isinstance(answer, Exception) or answer[0] != 0:
            raise Wrong(f"ONCE.RANGE {key} {counter}: {answer}")
        return dict(zip(answer[1][::2], answer[1][1::2]))

    def check_buckets(self, key, identity, value, applied_between=None):
        """Nothing is dropped here, so they add up to the counter. What was just applied is in the bucket of the
        master's wall clock."""
        for per in PERIOD_MS, "month":
            found = self.buckets(key, "w-" + identity, per)
            if sum(found.values()) != value or any(start % PERIOD_MS for start in found):
                raise Wrong(f"{key}: the buckets of {identity} are {found}, and the counter is {value}")
            if per == "month" or applied_between is None:
                continue
            low, high = applied_between
            if not any(start <= high and low < start + PERIOD_MS and found[start] > 0 for start in found):
                raise Wrong(f"{key}: {identity} was applied between {low} and {high}, its buckets are {found}")

    def step_operate(self, draw):
        key = draw.choice(sorted(self.tables))
        for _ in range(draw.randint(1, 30)):
            known = sorted(self.tables[key].applied)
            if known and draw.random() < 0.5:
                self.operate(key, draw.choice(known))
            else:
                self.next_id += 1
                self.operate(key, f"id-{self.next_id}")

    def step_take(self, draw):
        """Takes from a counter under a limit, from all senders together, some of them twice."""
        key = draw.choice(sorted(self.tables))
        table = self.tables[key]
        limit = ["LIMIT", LIMIT] + (["PER", PERIOD_MS] if table.is_metered else [])
        for _ in range(draw.randint(1, 12)):
            self.next_id += 1
            identity = f"take-{self.next_id}"
            for attempt in range(draw.choice([1, 2])):
                before = self.fullest(key, table)
                outcome, value, left, _ = self.fleet.call(self.master, "ONCE.TAKE", key, identity, "taken", 1, *limit)
                if value + left != LIMIT or value > LIMIT:
                    raise Wrong(f"{key}: {value} is taken and {left} left, of {LIMIT}")
                if (outcome == 0) != (identity in table.applied) or (outcome == -1 and before < LIMIT):
                    raise Wrong(f"{key}: {identity} is answered with {outcome}; taken before: {before}")
                if outcome == 1:
                    table.note(identity, "taken", 1, self.fleet.true_ms)
        if self.fullest(key, table) > LIMIT:
            raise Wrong(f"{key}: the limit {LIMIT} was passed")

    def step_claim(self, draw):
        """Work that is claimed, completed and given back, by several holders."""
        key = draw.choice(sorted(self.tables))
        self.claims.step(draw, key, self.tables[key], self.fleet.true_ms)

    def step_hold(self, draw):
        """What is set aside under a limit, settled and released."""
        key = draw.choice(sorted(self.tables))
        self.holds.step(draw, key, self.tables[key], self.fleet.true_ms)

    def fullest(self, key, table):
        """What the limit is on: the total, or the fullest bucket."""
        if table.is_metered:
            return max(self.buckets(key, "taken", PERIOD_MS).values(), default=0)
        return self.fleet.call(self.master, "ONCE.GET", key, "taken") or 0

    def step_time(self, draw):
        if draw.random() < 0.7:
            self.is_unstamped = False
            self.fleet.pass_time(int(WINDOW_MS * draw.choice([0.02, 0.2, 0.45, 0.9, 1.6])))
        else:
            host = draw.choice(self.fleet.hosts)
            ahead_ms = draw.choice([-10, -1, 0, 1, 10]) * WINDOW_MS
            self.trace(f"host {host.number}: the wall clock is set, {ahead_ms / 1000:g} s ahead")
            host.clock.set_wall(ahead_ms)

    def step_crash(self, draw):
        """The master is killed and started again, after some time."""
        self.trace(f"host {self.master.number}: killed")
        self.master.server.kill()
        if draw.random() < 0.6:
            passed_ms = int(WINDOW_MS * draw.choice([0.01, 0.3, 0.6]))
            self.fleet.pass_time(passed_ms)
            # Without a stamp of this host in the log, that is not known: nothing is forgotten earlier, but later.
            for table in self.tables.values():
                table.slow_ms += passed_ms if self.is_unstamped else 0
        self.master.server.start()
        self.check_counters()

    def step_rewrite(self, draw):
        words = draw.choice([["BGREWRITEAOF"], ["DEBUG", "RELOAD"]])
        self.fleet.call(self.master, *words)
        if words[0] == "BGREWRITEAOF":
            self.await_log(self.master)

    @staticmethod
    def await_log(host):
        """A log that is being rewritten is not complete before it is done: so is a new replica's."""
        def is_done():
            state = host.server.client.info("persistence")
            return not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]
        servers.wait_for(is_done, 60, "the rewritten log")

    def step_follow(self, draw):
        """A server becomes a replica, and agrees with its master."""
        others = [host for host in self.fleet.hosts if host is not self.master and host not in self.replicas]
        if not others:
            return
        host = draw.choice(others)
        self.trace(f"host {host.number}: follows host {self.master.number}")
        host.server.follow(self.master.server)
        self.replicas.append(host)
        self.compare(host)

    def compare(self, host):
        """Waits until a replica has what its master has. Then they must be the same."""
        host.server.catch_up_with(self.master.server)
        self.await_log(host)
        for key in self.tables:
            def agree(key=key):
                return host.server.digest(key) == self.master.server.digest(key)
            try:
                servers.wait_for(agree, 20, "equal digests")
            except AssertionError:
                raise Wrong(f"{key} differs on host {host.number} and host {self.master.number}") from None

    def step_fail_over(self, draw):
        """A replica that has everything takes its master's place, which is killed or steps down."""
        if not self.replicas:
            return
        host = draw.choice(self.replicas)
        self.compare(host)
        old = self.master
        is_killed = draw.random() < 0.5
        if is_killed:
            self.trace(f"host {old.number}: killed")
            old.server.kill()
        if draw.random() < 0.4:
            self.fleet.pass_time(int(WINDOW_MS * draw.choice([0.01, 0.3])))
        self.trace(f"host {host.number}: promoted")
        self.is_unstamped = True
        host.server.call("REPLICAOF", "NO", "ONE")
        self.replicas.remove(host)
        self.master = host
        if is_killed:
            old.server.start()
        for follower in [*self.replicas, old]:
            follower.server.follow(host.server)
            if follower not in self.replicas:
                self.replicas.append(follower)
        self.check_counters()
        for follower in self.replicas:
            self.compare(follower)

    def step_dump(self, draw):
        key = draw.choice(sorted(self.tables))
        payload = self.fleet.call(self.master, "DUMP", key)
        table = self.tables[key].copy()
        table.base_ms += self.fleet.true_ms  # its time stands still in the payload
        self.payloads.append((payload, table))

    def step_restore(self, draw):
        """A payload that was kept comes back under another name, and goes on from where it was."""
        if not self.payloads:
            return
        payload, kept = draw.choice(self.payloads)
        self.next_key += 1
        key = f"t{self.next_key}"
        answer = self.fleet.call(self.master, "RESTORE", key, 0, payload)
        if isinstance(answer, Exception):
            raise Wrong(f"RESTORE: {answer}")
        table = kept.copy()
        table.base_ms -= self.fleet.true_ms
        self.is_unstamped = True
        self.tables[key] = table

    def step_migrate(self, draw):
        """A table moves to another server and back, which must not make it younger or older."""
        others = [host for host in self.fleet.hosts if host is not self.master and host not in self.replicas]
        if not others:
            return
        host, key = draw.choice(others), draw.choice(sorted(self.tables))
        for start, end in ((self.master, host), (host, self.master)):
            answer = self.fleet.call(start, "MIGRATE", "127.0.0.1", end.server.port, key, 0, 30_000)
            if answer not in (True, b"OK"):
                raise Wrong(f"MIGRATE {key}: {answer}")
        self.is_unstamped = True
        self.check_counters()

    def step_rename(self, draw):
        """A table gets another name, or a copy of it is made and removed again."""
        key = draw.choice(sorted(self.tables))
        self.next_key += 1
        name = f"t{self.next_key}"
        if draw.random() < 0.5:
            self.fleet.call(self.master, "RENAME", key, name)
            self.tables[name] = self.tables.pop(key)
        else:
            self.fleet.call(self.master, "COPY", key, name)
            self.check_sums()
            self.fleet.call(self.master, draw.choice(["DEL", "UNLINK"]), name)

    def check_sums(self):
        """INFO has the sums over the tables that a server has now. Replicas may be behind their master, but not INFO
        behind the tables of its own server: both are asked in one transaction."""
        for host in self.fleet.hosts:
            pipe = host.server.client.pipeline(transaction=True)
            pipe.info("lethe_tables")
            keys = [key.decode() for key in host.server.client.keys()]
            for key in keys:
                pipe.execute_command("ONCE.INFO", key)
            told, *tables = pipe.execute(raise_on_error=False)
            if any(isinstance(table, Exception) for table in tables):
                continue  # a replica's keys have changed in between
            tables = [dict(zip(table[::2], table[1::2])) for table in tables]
            expected = {"lethe_tables": len(tables), "lethe_strained": sum(bool(table[b"strain"]) for table in tables)}
            for name in "fresh", "duplicates", "refused":
                expected["lethe_" + name] = sum(table[name.encode()] for table in tables)
            if host is not self.master and told["lethe_tables"] != len(tables):
                continue  # the same
            if told != expected:
                raise Wrong(f"host {host.number}: INFO has {told}, and the tables have {expected}")

    def check_counters(self):
        for key, table in self.tables.items():
            for counter, value in sorted(table.counters.items())[:20]:
                found = self.fleet.call(self.master, "ONCE.GET", key, counter)
                found = found[0] if isinstance(found, list) else found
                if int(found or 0) != value:
                    raise Wrong(f"{key}: {counter} is {found}, not {value}")
                if table.is_metered and counter not in ("taken", COUNTER):
                    self.check_buckets(key, counter.removeprefix("w-"), value)
            self.claims.check(key, table, self.fleet.true_ms)
            self.holds.check(key, table, self.fleet.true_ms)

    WEIGHTS = {"operate": 6, "take": 2, "claim": 4, "hold": 4, "time": 5, "crash": 2, "rewrite": 1, "follow": 2, "fail_over": 1.5, "dump": 1,
               "restore": 1, "migrate": 1, "rename": 1}

    def step(self, draw):
        names = list(self.WEIGHTS)
        name = draw.choices(names, [self.WEIGHTS[name] for name in names])[0]
        self.trace(f"-- {name}")
        getattr(self, "step_" + name)(draw)
        self.check_sums()
