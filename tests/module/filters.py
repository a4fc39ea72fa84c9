"""The filters that are data types: random changes of each, beside what it must answer. One class per type; test_filters.py runs
over all of them."""

import collections

from servers import table_info

TINY = ["ERROR", "1e-12"]
SHAPES = [[], ["SLOTS", 3000, "HASHES", 5], ["CAPACITY", 500, "ERROR", 0.001, "BITS", 2],
          ["SLOTS", 3000, "HASHES", 3, "BITS", 1], ["SLOTS", 3000, "BITS", 8, "SPACING", "published"],
          ["SLOTS", 3000, "HASHES", 4, "BITS", 32], ["SLOTS", 3000, "HASHES", 4, "BITS", 64, "SPACING", "PUBLISHED"]]


class Filter:
    """Filters of one type on a server, by key, and what each holds."""
    held = {}

    def keys(self):
        return sorted(self.held)

    def digests(self, server):
        return [server.digest(key) for key in self.keys()]


class Quotient(Filter):
    """Two filters, against a multiset; the error is so small that none is met."""
    prefix = "QF"
    large = ["CAPACITY", 1000000]
    large_items = 50000
    field = b"$4\r\nload\r\n,"
    bad_options = [
        ["CAPACITY", 0], ["CAPACITY", -1], ["CAPACITY", (1 << 40) + 1], ["CAPACITY", "x"], ["CAPACITY"], ["ERROR", 0],
        ["ERROR", 0.6], ["ERROR", "1e-16"], ["ERROR", "nan"], ["ERROR", "-inf"], ["SEED", 0], ["SEED", "1.5"], ["GROW", 0],
        ["GROW", 100, "CAPACITY", 101], ["GROW", (1 << 40) + 1], ["SLOTS", 64], ["CAPACITY", 5, "x"],
        ["CAPACITY", 1 << 40, "ERROR", "1e-15"]]

    def begin(self, server):
        self.held = {"q": collections.Counter(), "r": collections.Counter()}
        for key in self.held:
            server.call("QF.RESERVE", key, "CAPACITY", 200, "GROW", 100000, "SEED", 5, *TINY)

    def run(self, server, chance, steps):
        for _ in range(steps):
            key = chance.choice("qr")
            items = [chance.randrange(3000) for _ in range(chance.choice([1, 7, 200]))]
            held = self.held[key]
            is_addition = chance.random() < 0.6
            expected = []
            for item in items:
                expected.append(int((held[item] == 0) == is_addition))
                held[item] += 1 if is_addition else -int(held[item] > 0)
            assert server.call("QF.MADD" if is_addition else "QF.MREMOVE", key, *items) == expected
            if chance.random() < 0.02:
                other = "r" if key == "q" else "q"
                assert server.call("QF.MERGE", key, other) == b"OK"
                held.update(self.held[other])

    def check(self, server):
        for key, held in self.held.items():
            assert server.call("QF.COUNT", key, *range(3000)) == [held[item] for item in range(3000)]
            info = table_info(server.client, key)
            assert info["items"] == sum(count > 0 for count in held.values())
            assert info["total"] == sum(held.values())


class Gaussian(Filter):
    """Two filters of each shape, and the items of each."""
    prefix = "GBF"
    large = ["SLOTS", 5000001, "HASHES", 5]
    large_items = 20000
    field = b"$4\r\nfill\r\n,"
    bad_options = [
        ["CAPACITY", 0], ["CAPACITY", -1], ["CAPACITY", 1 << 62], ["ERROR", 0], ["ERROR", 0.6], ["ERROR", "nan"],
        ["SLOTS", 0], ["SLOTS", 1], ["SLOTS", (1 << 40) + 1], ["SLOTS", 100, "CAPACITY", 10], ["SLOTS", 100, "ERROR", 0.1],
        ["HASHES", 3], ["SLOTS", 100, "HASHES", 0], ["SLOTS", 100, "HASHES", 65], ["SLOTS", 100, "HASHES", (1 << 32) + 3],
        ["BITS", 0], ["BITS", 9], ["BITS", 16], ["BITS", (1 << 32) + 4], ["SPACING", "odd"], ["SPACING"], ["SEED", 0],
        ["SEED", "x"], ["WINDOW", 1000], ["SLOTS", 30, "HASHES", 5, "BITS", 64, "SPACING", "published"]]

    def begin(self, server):
        self.held = {}
        for i, words in enumerate(SHAPES):
            for key in (f"g{i}", f"h{i}"):
                server.call("GBF.RESERVE", key, "SEED", 5, *words)
                self.held[key] = set()

    def run(self, server, chance, steps):
        for _ in range(steps):
            key = chance.choice(self.keys())
            items = [chance.randrange(100000) for _ in range(chance.choice([1, 5, 40]))]
            answers = server.call("GBF.MADD", key, *items)
            assert all(answer == 0 for item, answer in zip(items, answers) if item in self.held[key])
            self.held[key].update(items)
            if chance.random() < 0.03:
                other = key.translate(str.maketrans("gh", "hg"))
                assert server.call("GBF.MERGE", key, other) == b"OK"
                self.held[key] |= self.held[other]

    def check(self, server):
        for key, items in self.held.items():
            assert server.call("GBF.MTEST", key, "", *items)[1:] == [1] * len(items)


TYPES = [Quotient, Gaussian]
