"""The steps of the simulation of a store that are about backups: made, beside a writer too, restored, pruned.

A backup that was made has the state of that moment for good. One whose maker was killed is there or not."""

import shutil
import subprocess

from inputs import LINE_ENDS, Input
from model import Expectation, Wrong, compare
from styles import draw_style


class BackupSteps:
    def step_backup(self, draw):
        if not self.exists:
            return
        faults = {"LETHE_FAULT_AT": str(draw.randint(1, 60)), "LETHE_FAULT_ACTION": "kill"} \
            if draw.random() < 0.3 else None
        result = self.world.lethe("backup", "--json", "--db", "store", "--to", "backups", faults=faults)
        if result.code == 0:
            self.backups = [self.model.snapshot()]
            self.numbered[result.json()["number"]] = self.backups[0]
        elif faults is None:
            raise Wrong(str(result))
        elif self.backups:
            self.backups.append(self.model.snapshot())  # it may be there or not

    def restore(self, *words):
        """Restores, checks, and returns the totals."""
        shutil.rmtree(self.world.folder / "restored", ignore_errors=True)
        for command in (["restore", "-q", "--from", "backups", "--db", "restored", *words], ["check", "--db", "restored"]):
            result = self.world.lethe(*command)
            if result.code != 0:
                raise Wrong(str(result))
        return self.totals("restored")

    def step_restore(self, draw):
        if not self.backups:
            return
        found = self.restore()
        fitting = [model for model in self.backups if model.totals() == found]
        if not fitting:
            compare(self.backups[-1].totals(), found)
        if draw.random() < 0.4 and len(fitting) == len(self.backups) == 1:
            shutil.rmtree(self.world.folder / "store")
            (self.world.folder / "restored").rename(self.world.folder / "store")
            self.model = fitting[0].snapshot()
            self.check_meters()
            self.forget_claims()
            self.forget_holds()
            self.trace("the restored store takes the place of the other")

    def step_older(self, draw):
        """Any backup that was made can be restored by its number, with the totals of its moment."""
        if not self.numbered:
            return
        number = draw.choice(sorted(self.numbered))
        compare(self.numbered[number].totals(), self.restore("--number", str(number)))

    def step_prune(self, draw):
        if not self.numbered:
            return
        keep = draw.randint(1, 3)
        faults = {"LETHE_FAULT_AT": str(draw.randint(1, 10)), "LETHE_FAULT_ACTION": "kill"} \
            if draw.random() < 0.2 else None
        result = self.world.lethe("backup", "--prune", "--keep", str(keep), "-q", "--to", "backups", faults=faults)
        if result.code != 0 and faults is None:
            raise Wrong(str(result))
        listed = self.world.lethe("backup", "--list", "--to", "backups")
        if listed.code != 0:
            raise Wrong(str(listed))
        left = [int(line.split("\t")[0]) for line in listed.output.splitlines()]
        if result.code == 0 and len(left) > keep:
            raise Wrong(f"{left} are left, and {keep} were to stay")
        if not set(sorted(self.numbered)[-keep:]) & set(left) and len(self.backups) == 1:
            raise Wrong(f"only {left} are left of {sorted(self.numbered)}, and {keep} were to stay")
        self.numbered = {number: model for number, model in self.numbered.items() if number in left}

    def step_beside(self, draw):
        """A backup while a writer has a part of its input: counting all of it into the restored store gives the same."""
        if self.modes.event_time:  # whether a time is believed depends on what has come after it
            return
        had_store = self.exists
        style = draw_style(draw, False, self.has_joined_ids, self.modes.amount)
        source = Input(self.files / "pipe", style, False, draw.choice(LINE_ENDS), False)
        for event in self.draw_events(draw, style):
            source.add(event)
        command = ["count", "--db", "store", "--json", *self.mode_words(draw), *source.words()]
        events = source.events_from(0)
        self.model.clock.begin(self.world)
        words, process = self.world.start(*command, stdin=subprocess.PIPE)
        half = draw.randint(0, len(source.content))
        process.stdin.write(source.content[:half])
        process.stdin.flush()
        made = self.world.lethe("backup", "--json", "--db", "store", "--to", "backups")
        result = self.world.finish(words, process, source.content[half:])
        expectation = Expectation(self.model, events, *self.model.clock.end(self.world, True))
        is_certain, self.exists = not expectation.open, True
        self.check_run(result, expectation, False)
        if made.code != 0:
            if had_store:
                raise Wrong(str(made))
            return
        self.backups = []  # the latest is of a moment that is not known
        self.restore("--number", str(made.json()["number"]))
        again = self.world.lethe("count", "--db", "restored", "--json", *source.words(), data=source.content)
        if again.code not in (0, 5):
            raise Wrong(str(again))
        if is_certain:
            compare(self.model.totals(), self.totals("restored"))
