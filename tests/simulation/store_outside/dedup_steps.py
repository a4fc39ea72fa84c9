"""The steps of the simulation of `lethe dedup --db`: each different line is delivered exactly once.

Two memories, A and B, read logs that grow and are rotated, and write into one file, to which somebody else appends as
well. The rule: of a run that ends with 0 every line is delivered, and none twice, over kills too where --out says
so; what others wrote is never touched."""

import shutil

from inputs import LINE_ENDS, PACKS
from model import Wrong
from world import World


class Memory:
    """What one folder has seen, and which logs are read into it."""

    def __init__(self, name):
        self.name = name
        self.delivered = []  # in order
        self.printed = set()  # those of them that did not go to the file
        self.logs = []
        self.backups = {}  # by number: how many of the delivered it has for certain, and at most


class DedupSimulation:
    def __init__(self, draw, trace):
        self.world, self.trace = World(trace), trace
        self.files = self.world.base / "files"
        self.files.mkdir()
        self.out = self.world.folder / "out"
        self.memories = [Memory("A"), Memory("B")]
        self.others = []  # lines of somebody else's in the file
        self.next_line = self.next_log = 0
        trace("dedup")

    def close(self):
        self.world.close()

    def draw_lines(self, draw, memory):
        lines = []
        for _ in range(draw.randint(1, 60)):
            seen = memory.delivered + lines
            if seen and draw.random() < 0.3:
                lines.append(draw.choice(seen))
            else:
                self.next_line += 1
                lines.append(f"{memory.name} line {self.next_line}")
        return lines

    def log_of(self, draw, memory):
        """A log with something new in it: grown, rotated, or another one."""
        kind = draw.random()
        if not memory.logs or kind < 0.3:
            self.next_log += 1
            memory.logs.append(self.files / f"log-{self.next_log}")
            memory.logs[-1].touch()
        path = draw.choice(memory.logs)
        if kind > 0.8 and path.exists():
            self.next_log += 1
            path.rename(self.files / f"rotated-{self.next_log}")
            path.touch()
        return path

    def draw_faults(self, draw):
        at = str(draw.randint(1, 60))
        if draw.random() < 0.7:
            return {"LETHE_FAULT_AT": at, "LETHE_FAULT_ACTION": "kill"}
        return {"LETHE_FAULT_AT": at, "LETHE_FAULT_TIMES": "1", "LETHE_FAULT_ON": draw.choice(["write", "sync"]),
                "LETHE_FAULT_ACTION": draw.choice(["eio", "enospc"])}

    def step_run(self, draw):
        memory = draw.choice(self.memories)
        path = self.log_of(draw, memory)
        lines = self.draw_lines(draw, memory)
        end = draw.choice(LINE_ENDS)
        with open(path, "a", encoding="ascii") as file:
            file.write("".join(line + end for line in lines))
        self.read(draw, memory, path, lines)

    def step_compressed(self, draw):
        """A log that was rotated and compressed: the lines of one that was read, and perhaps more."""
        memory = draw.choice(self.memories)
        path = self.log_of(draw, memory)
        lines = path.read_text(encoding="ascii").splitlines() + self.draw_lines(draw, memory)
        kind = draw.choice(sorted(PACKS))
        self.next_log += 1
        packed = self.files / f"rotated-{self.next_log}.{kind}"
        packed.write_bytes(PACKS[kind]("".join(line + "\n" for line in lines).encode()))
        self.read(draw, memory, packed, lines)

    def read(self, draw, memory, path, lines):
        fresh = [line for line in dict.fromkeys(lines) if line not in memory.delivered]
        words = ["dedup", "--db", memory.name, "--memory", "16MiB", path]
        if draw.random() < 0.3:
            result = self.world.lethe(*words)
            if result.code != 0 or result.output.splitlines() != fresh:
                raise Wrong(f"{result}\nprinted {result.output.splitlines()}\nexpected {fresh}")
            memory.printed |= set(fresh)
        else:
            faults = self.draw_faults(draw) if draw.random() < 0.4 else None
            result = self.world.lethe(*words, "--out", "out", faults=faults)
            if result.code not in ((0,) if faults is None else (0, 4, -9)):
                raise Wrong(str(result))
            if result.code != 0:
                if draw.random() < 0.3:
                    self.step_other(draw)
                result = self.world.lethe(*words, "--out", "out")
                if result.code != 0:
                    raise Wrong(str(result))
        memory.delivered += fresh
        self.check()

    def step_growing(self, draw):
        """The log grows while it is read, in pieces that do not end with lines, and may be rotated."""
        memory = draw.choice(self.memories)
        path = self.log_of(draw, memory)
        lines = self.draw_lines(draw, memory)
        data = "".join(line + "\n" for line in lines)
        words, process = self.world.start("dedup", "--db", memory.name, "--memory", "16MiB", path,
                                          "--out", "out")
        rotated = None
        with open(path, "a", encoding="ascii") as file:
            while data:
                size = draw.randint(1, 300)
                file.write(data[:size])
                file.flush()
                data = data[size:]
                if rotated is None and data and draw.random() < 0.1:
                    self.next_log += 1
                    rotated = path.rename(self.files / f"rotated-{self.next_log}")
                    path.touch()
        number = self.back_up(memory) if memory.delivered and draw.random() < 0.4 else None
        results = [self.world.finish(words, process)]
        for again in (rotated, path):
            if again is not None:
                results.append(self.world.lethe("dedup", "--db", memory.name, "--memory", "16MiB",
                                                again, "--out", "out"))
        for result in results:
            if result.code != 0:
                raise Wrong(str(result))
        least = len(memory.delivered)
        memory.delivered += [line for line in dict.fromkeys(lines) if line not in memory.delivered]
        if number is not None:
            memory.backups[number] = (least, len(memory.delivered))
        self.check()

    def back_up(self, memory):
        """Beside a process that may be writing; returns its number."""
        result = self.world.lethe("backup", "--json", "--db", memory.name, "--to", f"backups-{memory.name}")
        if result.code != 0:
            raise Wrong(str(result))
        return result.json()["number"]

    def step_backup(self, draw):
        memory = draw.choice(self.memories)
        if memory.delivered:
            memory.backups[self.back_up(memory)] = (len(memory.delivered), len(memory.delivered))

    def step_restore(self, draw):
        """What was delivered by then is known to the restored folder, and nothing that came later."""
        memory = draw.choice(self.memories)
        if not memory.backups:
            return
        number = draw.choice(sorted(memory.backups))
        least, most = memory.backups[number]
        shutil.rmtree(self.world.folder / "restored", ignore_errors=True)
        data = "".join(line + "\n" for line in memory.delivered).encode()
        for words, content in ((["restore", "-q", "--from", f"backups-{memory.name}", "--number", number, "--db", "restored"],
                                None), (["check", "--db", "restored"], None), (["dedup", "-q", "--db", "restored"], data)):
            result = self.world.lethe(*words, data=content)
            if result.code != 0:
                raise Wrong(str(result))
        printed = result.output.splitlines()
        known = len(memory.delivered) - len(printed)
        if not least <= known <= most or (least == most and printed != memory.delivered[known:]):
            raise Wrong(f"backup {number} of {memory.name} knows {known} lines, and {least} to {most} were delivered")

    def step_other(self, draw):
        """Somebody else appends to the file."""
        self.others.append(f"somebody else {len(self.others)}")
        with open(self.out, "a", encoding="ascii") as file:
            file.write(self.others[-1] + "\n")

    def check(self):
        found = self.out.read_text(encoding="ascii").splitlines() if self.out.exists() else []
        for memory in self.memories:
            expected = [line for line in memory.delivered if line not in memory.printed]
            here = [line for line in found if line.startswith(memory.name + " ")]
            if here != expected:
                raise Wrong(f"of {memory.name} the file has {len(here)} lines and should have {len(expected)}: "
                            f"{sorted(set(here) ^ set(expected))[:5]}")
        if [line for line in found if line.startswith("somebody")] != self.others:
            raise Wrong("lines of somebody else are lost")

    def step(self, draw):
        name = draw.choices(["step_run", "step_growing", "step_compressed", "step_other", "step_backup", "step_restore"],
                            [6, 2, 2, 1, 1, 1])[0]
        self.trace(f"-- {name[5:]}")
        getattr(self, name)(draw)
