"""The steps of the simulation of a store: each draws what it does, does it, and looks whether it is right.

The rule: exit 0 means the model's numbers. Anything else comes with a message, and changes nothing that was
acknowledged."""

import decimal

from backup_steps import BackupSteps
from claim_steps import Claim, ClaimSteps
from follow_steps import FollowSteps
from hold_steps import HoldSteps
from inputs import LINE_ENDS, PACKS, Input, broken
from meter_steps import MeterSteps
from model import Event, Expectation, Model, Modes, Wrong, compare, merge
from serve_steps import ServeSteps
from styles import draw_style
from take_steps import TakeSteps
from world import World
from wrong_steps import WrongSteps

HOUR_MS = 3_600_000
START_MS = 1_600_000_000_000  # of the events' time: long ago, as in a replay


class Simulation(BackupSteps, ClaimSteps, FollowSteps, HoldSteps, MeterSteps, ServeSteps, TakeSteps, WrongSteps):
    def __init__(self, draw, trace):
        self.world = World(trace)
        self.trace = trace
        self.taken_keys = set()
        self.files = self.world.base / "files"
        self.files.mkdir()
        self.inputs, self.backups, self.numbered = [], [], {}
        self.next_id = self.next_file = 0
        self.modes = self.draw_modes(draw)
        self.model = Model(self.modes)
        self.forget_claims()
        self.forget_holds()
        self.claims = {name: [Claim()] for name in self.claims}
        self.time_ms = START_MS  # of the latest event that was drawn
        self.exists = False
        self.was_cut_off = False  # the last run, perhaps before it could report what it skipped
        self.error = draw.choice(["1e-9", "1e-10", "1e-12"])
        self.has_joined_ids = draw.random() < 0.3
        trace(f"modes: {self.modes}, error {self.error}")
        if not self.modes.has_sketch and draw.random() < 0.4:
            self.begin_meters(draw)

    @staticmethod
    def draw_modes(draw):
        modes = Modes(window_ms=draw.choice([60_000, 600_000, 72 * HOUR_MS]),
                      event_time=draw.random() < 0.4, forever=draw.random() < 0.3)
        if not modes.forever:
            modes.exact = draw.random() < 0.4
            modes.check_payload = modes.exact and draw.random() < 0.5
        modes.has_sketch = draw.random() < 0.2
        modes.is_forgetful = draw.random() < 0.33
        if draw.random() < 0.4:
            modes.scale = draw.choice([1, 2, 4])
            modes.amount = draw.choice(["1", "0.1", "-0.2" if not modes.has_sketch else "0.2"])
        return modes

    def close(self):
        self.world.close()

    # Commands.

    def mode_words(self, draw):
        """All of the store's modes while it is new; later most are left out, which must change nothing."""
        words = ["--window", f"{self.modes.window_ms // 1000}s", "--error", self.error]
        pairs = [words[:2], words[2:]]
        pairs += [["--exact"]] if self.modes.exact and not self.modes.check_payload else []
        pairs += [["--check-payload"]] if self.modes.check_payload else []
        pairs += [["--sketch", "4MiB"]] if self.modes.has_sketch else []
        pairs += [["--window-kind", "forgetful"]] if self.modes.is_forgetful else []
        pairs += [["--scale", str(self.modes.scale)]] if self.modes.scale > 0 else []
        pairs += [["--forever"], ["--ledger-memory", "8MiB"]] if self.modes.forever else []
        return [word for pair in pairs if not self.exists or draw.random() < 0.2 for word in pair]

    def other_words(self, draw):
        return ["--sync", draw.choice(["always", "5ms"]), "--batch", draw.choice(["1", "7", "64", "1000"])]

    def list(self, folder="store"):
        """All counters, or, of a sketch, which does not know its keys, all that are asked for."""
        if not self.modes.has_sketch:
            result = self.world.lethe("list", "--db", folder)
        else:
            keys = ["w-" + identity for identity in sorted(self.model.known)]
            result = self.world.lethe("get", "--db", folder, "sum", *keys)
            if result.code == 1:  # some have no estimate above zero
                result.code = 0
        return result, self.read_counters(result.output)

    def read_counters(self, output):
        """What was printed, as the model has it: of witnesses and their sum how often they were counted."""
        amount, found = decimal.Decimal(self.modes.amount), {}
        for key, text in (line.split("\t") for line in output.splitlines()):
            if len(text.partition(".")[2]) != self.modes.scale:
                raise Wrong(f"{key} is printed as {text}, at a scale of {self.modes.scale}")
            value = decimal.Decimal(text)
            found[key] = value if key.startswith("s-") else value / amount
        return found

    def totals(self, folder="store"):
        result, found = self.list(folder)
        if result.code != 0:
            raise Wrong(str(result))
        return found

    # Events.

    def fresh(self, draw, style):
        self.next_id += 1
        return Event(f"{draw.choice('abcdefgh')}{self.next_id:06d}", self.draw_time(draw),
                     is_double=style.doubles == "all" or style.doubles == "some" and draw.random() < 0.3)

    def draw_time(self, draw):
        if not self.modes.event_time:
            return None
        window = self.modes.window_ms
        kind = draw.random()
        if kind < 0.8 or self.model.clock_ms == 0:
            self.time_ms += draw.randrange(max(1, window // 200))
            return self.time_ms
        if kind < 0.9:
            self.time_ms += draw.randrange(window // 4)
            return self.time_ms
        return max(1, self.time_ms - draw.randrange(2 * window))

    def draw_events(self, draw, style, most=40):
        events, seen = [], [Event(identity, known.time_ms, known.is_double)
                            for identity, known in self.model.known.items() if known.count > 0]
        for _ in range(draw.randint(1, most)):
            kind = draw.random()
            if kind < 0.04:
                self.next_id += 1
                events.append(broken(self.next_id))
            elif kind < 0.25 and (seen or events):
                copied = draw.choice((seen + [event for event in events if not event.is_broken]) or
                                     [self.fresh(draw, style)])
                can_be = style.doubles == "some" or copied.is_double == (style.doubles == "all")
                events.append(copied if can_be else self.fresh(draw, style))
            else:
                events.append(self.fresh(draw, style))
        return events

    # Counting.

    def expected_code(self, expectation):
        skipped = expectation.counts("late") + expectation.counts("unreadable")
        return 5 if skipped > 0 else 0

    def check_run(self, result, expectation, is_rerun):
        code = self.expected_code(expectation)
        if result.code == 5 and result.json()["unreported"] > 0 and (is_rerun or self.was_cut_off):
            code = 5
        self.was_cut_off = False
        # A run after a fault may begin after what was skipped, or before it.
        if result.code != code and not (is_rerun and result.code in (0, 5)):
            raise Wrong(f"{result}\nexpected exit {code}; {expectation.outcomes}")
        if not expectation.open and not is_rerun:
            summary = result.json()
            late = expectation.counts("applied late")
            for name, expected in (("applied", expectation.counts("applied") + late), ("applied_late", late),
                                   ("duplicates", expectation.counts("duplicate")),
                                   ("late", expectation.counts("late")),
                                   ("unreadable", expectation.counts("unreadable"))):
                if summary[name] != expected:
                    raise Wrong(f"{name} is {summary[name]}, should be {expected}\n{result}")
        expectation.settle(self.totals())
        self.check_meters()

    def draws_late(self, draw):
        """Whether late events are to be counted."""
        return self.modes.event_time and draw.random() < 0.3

    def count(self, draw, words, events, data=None, faults=None, is_rerun=False, counts_late=False):
        """One run, with or without faults. Returns whether it came to its end; self.outcomes is what should have become of
        the events, and self.rest those that were not read, unless they come through a pipe."""
        command = ["count", "--db", "store", "--json", *self.mode_words(draw), *self.other_words(draw),
                   *(["--late", "count"] if counts_late else []), *words]
        self.model.clock.begin(self.world)
        cuts = faults is not None and faults.pop("cut", None) is not None
        if cuts:
            faults.update(self.world.shadow_begin())
        result = self.world.lethe(*command, data=data, faults=faults)
        expectation = Expectation(self.model, events, *self.model.clock.end(self.world, faults is None), counts_late)
        self.outcomes = expectation.outcomes
        if faults is None:
            self.exists = True
            self.check_run(result, expectation, is_rerun)
            return True
        self.was_cut_off = True
        if result.code in (0, 5) and not cuts:
            self.exists = True
            expectation.settle(self.totals())
            return True
        if result.code not in (0, 5, -9, 4):
            raise Wrong(f"{result}\nafter a fault expected exit 4")
        if cuts:
            self.world.cut_power(draw)
        self.recover(expectation, acknowledged=result.code in (0, 5))
        return result.code in (0, 5)

    def recover(self, expectation, acknowledged):
        """What is in the store after a fault; the model goes on from there."""
        listed, found = self.list()
        if listed.code != 0 and self.exists:
            raise Wrong(f"after a fault: {listed}")
        if acknowledged:
            expectation.settle(found)
            return
        self.model, self.rest = expectation.settle_killed(found)
        self.check_meters()

    def draw_faults(self, draw):
        kind = draw.random()
        at = str(draw.randint(1, 12 if draw.random() < 0.3 else 80))
        if kind < 0.4:
            return {"LETHE_FAULT_AT": at, "LETHE_FAULT_ACTION": "kill"}
        if kind < 0.65 and self.world.can_cut_power:
            return {"LETHE_FAULT_AT": at, "LETHE_FAULT_ACTION": "kill", "cut": True}
        return {"LETHE_FAULT_AT": at, "LETHE_FAULT_TIMES": draw.choice(["1", "1", "3", "1000"]),
                "LETHE_FAULT_ACTION": draw.choice(["eio", "enospc"]),
                "LETHE_FAULT_ON": draw.choice(["write", "sync"])}

    def step_pipe(self, draw):
        """Events through a pipe, sent again after a fault."""
        style = draw_style(draw, self.modes.event_time, self.has_joined_ids, self.modes.amount)
        source = Input(self.files / "pipe", style, False, draw.choice(LINE_ENDS), draw.random() < 0.2)
        for event in self.draw_events(draw, style):
            source.add(event)
        data = source.content[:-1] if draw.random() < 0.2 else source.content
        events = source.events_from(0)
        faults = self.draw_faults(draw) if draw.random() < 0.4 else None
        counts_late = self.draws_late(draw)
        if not self.count(draw, source.words(), events, data, faults, counts_late=counts_late):
            self.count(draw, source.words(), events, data, is_rerun=True, counts_late=counts_late)

    def step_file(self, draw):
        """A file that is new, has grown, has another name, or is read again."""
        kind = draw.random()
        if kind < 0.5 or not self.inputs:
            source = self.new_input(draw)
        else:
            source = draw.choice(self.inputs)
            if draw.random() < 0.3:
                self.next_file += 1
                source.rename(self.files / f"renamed-{self.next_file}")
            if draw.random() < 0.7:
                for event in self.draw_events(draw, source.style):
                    source.add(event)
                source.write()
        from_start = draw.random() < 0.1 and bool(self.exists)
        counts_late = self.draws_late(draw) and not from_start
        words = [*source.words(), *(["--from-start"] if from_start else []), source.path]
        offset = 0 if from_start else self.model.resume_at(source.key(), source.content, counts_late)
        events = source.events_from(offset)
        faults = self.draw_faults(draw) if draw.random() < 0.35 else None
        is_done = self.count(draw, words, events, faults=faults, counts_late=counts_late)
        outcomes = self.outcomes
        if not is_done:
            self.count(draw, words, events if from_start else self.rest, is_rerun=True, counts_late=counts_late)
        self.model.note_read(source.key(), source.content, outcomes)

    def step_files(self, draw):
        """Several files in one run, some of them known: merged by time, or one after the other."""
        first = self.new_input(draw)
        alike = [source for source in self.inputs if source is not first and source.key() == first.key()]
        sources = [first, *draw.sample(alike, min(len(alike), draw.randrange(3)))]
        for _ in range(draw.randint(1, 3)):
            self.next_file += 1
            source = Input(self.files / f"events-{self.next_file}.{first.style.form}", first.style,
                           draw.random() < 0.5, draw.choice(LINE_ENDS), draw.random() < 0.2)
            sources.append(source)
            self.inputs.append(source)
        # The same hours, in all of them.
        before_ms, latest_ms = self.time_ms, self.time_ms
        for source in sources[1:]:
            self.time_ms = before_ms if draw.random() < 0.8 else latest_ms
            for event in self.draw_events(draw, source.style):
                source.add(event)
            latest_ms = max(latest_ms, self.time_ms)
            source.write()
        self.time_ms = latest_ms
        draw.shuffle(sources)
        counts_late = self.draws_late(draw)
        lists = [source.events_from(self.model.resume_at(source.key(), source.content, counts_late))
                 for source in sources]
        order = merge(lists) if self.modes.event_time else [
            (number, event) for number, events in enumerate(lists) for event in events]
        events = [event for _, event in order]
        words = [*sources[0].words(), *(source.path for source in sources)]
        faults = self.draw_faults(draw) if draw.random() < 0.4 else None
        is_done = self.count(draw, words, events, faults=faults, counts_late=counts_late)
        outcomes = self.outcomes
        if not is_done:
            self.count(draw, words, self.rest, is_rerun=True, counts_late=counts_late)
        for number, source in enumerate(sources):
            self.model.note_read(source.key(), source.content, [
                outcome for (of, _), outcome in zip(order, outcomes) if of == number])

    def new_input(self, draw):
        self.next_file += 1
        style = draw_style(draw, self.modes.event_time, self.has_joined_ids, self.modes.amount)
        source = Input(self.files / f"events-{self.next_file}.{style.form}", style,
                       draw.random() < 0.5, draw.choice(LINE_ENDS), draw.random() < 0.2)
        twin = next((other for other in self.inputs if other.lines and other.looks() == source.looks()), None)
        if twin is not None and draw.random() < 0.3:
            # The same length, first and last line as another file, and another middle.
            for end, event in twin.lines:
                is_kept = event in (twin.lines[0][1], twin.lines[-1][1]) or event.is_broken
                other = event if is_kept else Event(
                    "z" + event.identity[1:], event.time_ms, event.is_double)
                source.add(other)
        else:
            for event in self.draw_events(draw, style):
                source.add(event)
        source.write()
        self.inputs.append(source)
        return source

    def refuse_damaged(self, draw, words, path):
        """A compressed file that is cut, or whose checksum is wrong, is refused, and nothing of it is counted."""
        sound = path.read_bytes()
        before = self.list()[1] if self.exists else None
        if path.suffix == ".gz" and draw.random() < 0.5:
            path.write_bytes(sound[:-8] + bytes([sound[-8] ^ 1]) + sound[-7:])
        else:
            path.write_bytes(sound[:draw.randint(0, len(sound) - 1)])
        result = self.world.lethe("count", "--db", "store", *words)
        if result.code != 3 or (self.exists and self.list()[1] != before):
            raise Wrong(f"{result}\nof a damaged file; before {before}")
        path.write_bytes(sound)

    def step_compressed(self, draw):
        source = self.new_input(draw)
        self.inputs.remove(source)
        path = source.compressed(draw.choice(sorted(PACKS)))
        if draw.random() < 0.3:
            self.refuse_damaged(draw, [*source.words(), path], path)
        # What is in it counts, not how it is packed.
        offset = self.model.resume_at(source.key(), source.content)
        self.count(draw, [*source.words(), path], source.events_from(offset))
        self.model.note_read(source.key(), source.content, self.outcomes)

    def step_growing(self, draw):
        """A file that somebody appends to while it is read, in pieces that do not end with lines."""
        source = self.new_input(draw)
        before = source.events_from(self.model.resume_at(source.key(), source.content))
        more = [self.fresh(draw, source.style) for _ in range(draw.randint(1, 60))]
        bytes_before = source.content
        for event in more:
            source.add(event)
        appended = source.content[len(bytes_before):]
        command = ["count", "--db", "store", "--json", *self.mode_words(draw), *self.other_words(draw),
                   *source.words(), source.path]
        self.model.clock.begin(self.world)
        words, process = self.world.start(*command)
        with open(source.path, "ab", buffering=0) as file:
            while appended:
                size = draw.randint(1, 200)
                file.write(appended[:size])
                appended = appended[size:]
        result = self.world.finish(words, process)
        self.exists = True
        if result.code not in (0, 5):
            raise Wrong(str(result))
        expectation = Expectation(self.model, before + more, *self.model.clock.end(self.world))
        self.model, _ = expectation.settle_killed(self.totals())
        # What was not read then is read now; what was read is not read again, however late that is.
        self.count(draw, [*source.words(), source.path], before + more, is_rerun=True)
        self.model.note_read(source.key(), source.content, expectation.outcomes)

    def step_set(self, draw):
        if not self.exists:
            return
        key = f"s-{draw.randrange(6)}"
        value = decimal.Decimal(draw.randint(-1000, 1000)).scaleb(-self.modes.scale)
        if self.modes.has_sketch:
            result = self.world.lethe("set", "--db", "store", key, str(value))
            if result.code != 2:
                raise Wrong(f"a sketch has no counters to set: {result}")
            return
        self.model.clock.begin(self.world)
        if draw.random() < 0.6:
            result = self.world.lethe("set", "--db", "store", key, str(value))
            self.model.settings[key] = value
        else:
            result = self.world.lethe("del", "--db", "store", key)
            self.model.settings.pop(key, None)
        self.model.clock.end(self.world)
        if result.code not in (0, 1):
            raise Wrong(str(result))
        compare(self.model.totals(), self.totals())
        self.check_meters()

    def step_read(self, draw):
        if not self.exists:
            return
        expected = self.model.totals()
        for words in (["check"], ["stat", "--json"], ["top", "-n", "3"]):
            result = self.world.lethe(words[0], "--db", "store", *words[1:])
            if result.code != 0:
                raise Wrong(str(result))
            kind = "forgetful" if self.modes.is_forgetful else "quotient"
            if words[0] == "stat" and result.json()["window_kind"] != kind:
                raise Wrong(f"the window is not {kind}: {result}")
            if words[0] == "stat" and result.json()["scale"] != self.modes.scale:
                raise Wrong(f"the scale is not {self.modes.scale}: {result}")
        if expected:
            key = draw.choice(sorted(expected))
            result = self.world.lethe("get", "--db", "store", key)
            if result.code != 0 or self.read_counters(result.output) != {key: expected[key]}:
                raise Wrong(f"{result}\n{result.output}")
        compare(expected, self.totals())

    def step_time(self, draw):
        window = self.modes.window_ms
        kind = draw.random()
        if kind < 0.6:
            self.world.pass_time(int(window * draw.choice([0.01, 0.3, 0.6, 0.9, 1.5, 4])))
        elif kind < 0.8:
            self.world.step_wall(draw.choice([-1, 1]) * draw.choice([5_000, HOUR_MS, 3 * window]))
        else:
            self.world.reboot(int(window * draw.choice([0.01, 0.5, 2])))

    WEIGHTS = {"step_pipe": 4, "step_file": 8, "step_files": 4, "step_compressed": 1, "step_growing": 1, "step_follow": 1,
               "step_serve": 2, "step_set": 1, "step_meter": 1, "step_read": 1, "step_time": 4, "step_wrong_time": 0.5,
               "step_wrong_kind": 0.3, "step_wrong_scale": 0.3, "step_take": 3, "step_limit": 0.7, "step_backup": 1,
               "step_restore": 1, "step_older": 0.6, "step_prune": 0.4, "step_beside": 0.7, "step_damage": 1, "step_claim": 2,
               "step_hold": 2}

    def step(self, draw):
        names = list(self.WEIGHTS)
        name = draw.choices(names, [self.WEIGHTS[name] for name in names])[0]
        self.trace(f"-- {name[5:]}")
        getattr(self, name)(draw)
