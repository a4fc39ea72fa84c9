"""The steps of the simulation of a store that must be refused, or met with an error: another kind of time, of window, of scale
than the store has; and a copy of the store that is damaged.

The rule: what is refused changes nothing, and whatever exits with 0 has the right numbers."""

import shutil

from inputs import Input
from model import Event, Wrong, compare
from styles import Style

TIME_MS = 1_600_000_000_000  # some time of an event: long ago


class WrongSteps:
    def step_wrong_time(self, draw):
        """A run that leaves out the events' time, or adds it, would switch the store's clock: refused."""
        if not self.exists or not self.model.known:  # the first event that is applied decides on the kind of time
            return
        source = Input(self.files / "pipe", Style("tsv", not self.modes.event_time, has_names=False))
        event = Event("wrong", None if self.modes.event_time else TIME_MS)
        source.add(event)
        result = self.world.lethe("count", "--db", "store", "--json", *source.words(), data=source.content)
        if result.code != 2:
            raise Wrong(f"a switch of clocks is not refused: {result}")
        compare(self.model.totals(), self.totals())

    def step_wrong_kind(self, draw):
        """Another kind of window than the store has is refused."""
        if not self.exists:
            return
        kind = "quotient" if self.modes.is_forgetful else "forgetful"
        result = self.world.lethe("count", "--db", "store", "--window-kind", kind, data=b"")
        if result.code != 2:
            raise Wrong(f"another kind of window is not refused: {result}")
        compare(self.model.totals(), self.totals())

    def step_wrong_scale(self, draw):
        """Another scale than the store has is refused, and so is a delta that is finer."""
        if not self.exists:
            return
        other = draw.choice([scale for scale in (0, 1, 2, 4, 18) if scale != self.modes.scale])
        result = self.world.lethe("count", "--db", "store", "--scale", str(other), data=b"")
        if result.code != 2:
            raise Wrong(f"another scale is not refused: {result}")
        finer = "0." + "0" * self.modes.scale + "1"
        source = Input(self.files / "pipe", Style("tsv", self.modes.event_time, has_names=False, delta=finer))
        source.add(Event("finer", self.time_ms))
        self.model.clock.begin(self.world)
        result = self.world.lethe("count", "--db", "store", "--json", *source.words(), data=source.content)
        self.model.clock.end(self.world)
        if result.code != 5 or result.json()["unreadable"] != 1:
            raise Wrong(f"a delta of {finer} is not refused: {result}")
        compare(self.model.totals(), self.totals())

    def step_damage(self, draw):
        """A copy of the store, damaged: whatever exits with 0 has the right numbers."""
        if not self.exists:
            return
        copy = self.world.folder / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.world.folder / "store", copy)
        victims = sorted(path for path in copy.rglob("*") if path.is_file() and path.stat().st_size > 0)
        victim = draw.choice(victims)
        data = bytearray(victim.read_bytes())
        if draw.random() < 0.7:
            at = draw.randrange(len(data))
            data[at] ^= 1 << draw.randrange(8)
            self.trace(f"flips a bit of byte {at} of {victim.relative_to(copy)} ({len(data)} bytes)")
        else:
            data = data[:draw.randrange(len(data))]
            self.trace(f"cuts {victim.relative_to(copy)} off at {len(data)}")
        victim.write_bytes(data)
        expected = self.model.totals()
        some = ["sum", "w-none"] if not expected else sorted(expected)[:3]
        reads = [["get", *some], ["check"]]
        if not self.modes.has_sketch:
            reads += [["list"], ["top", "-n", "1000000"]]
        for words in reads:
            result = self.world.lethe(words[0], "--db", "damaged", *words[1:])
            if result.code == 1 and words[0] == "get" and not expected:
                continue
            if result.code not in (0, 3, 4) or (result.code != 0 and not result.errors.strip()):
                raise Wrong(f"damage is met with {result}")
            if result.code == 0 and words[0] in ("list", "top"):
                compare(expected, self.read_counters(result.output))
            if result.code == 0 and words[0] == "get":
                compare({key: expected[key] for key in words[1:]}, self.read_counters(result.output))
        shutil.rmtree(self.world.folder / "damaged-backups", ignore_errors=True)
        result = self.world.lethe("backup", "--db", "damaged", "--to", "damaged-backups")
        if result.code == 0:
            shutil.rmtree(self.world.folder / "restored", ignore_errors=True)
            restored = self.world.lethe("restore", "--from", "damaged-backups", "--db", "restored")
            listed, found = self.list("restored")
            if restored.code != 0 or listed.code != 0:
                raise Wrong(f"a backup of a damaged store was made, and {restored}; {listed}")
            compare(expected, found)
