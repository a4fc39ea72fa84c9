"""Where a simulation lives: a folder, clocks, and lethe as real processes with faults under them.

The clocks are the machine's plus offsets that the simulation moves (tests/faults/preload_time.c), so that days pass between
two commands. A power cut builds the folder anew from what was synced (tests/faults/preload_shadow.c)."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("LETHE_SOURCE_DIR", pathlib.Path(__file__).parents[3]))
BINARIES = pathlib.Path(os.environ.get("LETHE_BIN_DIR", SOURCE / "build/release")).resolve()
PRELOAD = BINARIES / "tests/liblethe_faults.so"
# In memory, where syncing costs nothing and no inode is used twice.
MEMORY = pathlib.Path("/dev/shm")
LIMIT_SECONDS = 120

sys.path.insert(0, str(SOURCE / "tests/support"))
import shadow  # noqa: E402


class Result:
    def __init__(self, words, code, output, errors):
        self.words, self.code, self.output, self.errors = words, code, output, errors

    def json(self):
        return json.loads(self.output)

    def __str__(self):
        return f"lethe {' '.join(self.words)}: exit {self.code}\n{self.errors.strip()}"


class World:
    def __init__(self, trace):
        base = MEMORY if os.access(MEMORY, os.W_OK) else None
        self.can_cut_power = base is not None
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="lethe-simulation-", dir=base))
        self.folder = self.base / "world"
        self.folder.mkdir()
        self.trace = trace
        self.wall_offset_ms = self.boot_offset_ms = 0
        self.boots = self.passed_ms = 0
        self.reboot(0)

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)

    # Time.

    def boot_ms(self):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000 + self.boot_offset_ms

    def wall_ms(self):
        return time.time_ns() // 1_000_000 + self.wall_offset_ms

    def elapsed_ms(self):
        """The true time, that no clock shows."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000 + self.passed_ms

    def pass_time(self, milliseconds):
        self.passed_ms += milliseconds
        self.boot_offset_ms += milliseconds
        self.wall_offset_ms += milliseconds

    def step_wall(self, milliseconds):
        self.wall_offset_ms += milliseconds

    def reboot(self, off_ms):
        """The machine is off for a while, and its own clock begins at zero again."""
        self.boots += 1
        (self.base / "boot_id").write_text(f"{self.boots:032x}\n")
        self.wall_offset_ms += off_ms
        self.passed_ms += off_ms
        self.boot_offset_ms += 20_000 - self.boot_ms()

    # Processes.

    def environment(self, faults=None):
        environment = {**os.environ, "LD_PRELOAD": str(PRELOAD),
                       "LETHE_CLOCK_WALL_MS": str(self.wall_offset_ms),
                       "LETHE_CLOCK_BOOT_MS": str(self.boot_offset_ms),
                       "LETHE_CLOCK_BOOT_ID": str(self.base / "boot_id")}
        if faults is not None:
            environment["LETHE_FAULT_FOLDER"] = str(self.folder)
            environment.update(faults)
        return environment

    def start(self, *words, faults=None, stdin=subprocess.DEVNULL):
        words = [str(word) for word in words]
        self.trace(f"lethe {' '.join(words)}" + (f"   [{faults}]" if faults else ""))
        return words, subprocess.Popen([BINARIES / "lethe", *words], cwd=self.folder, stdin=stdin,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=self.environment(faults))

    def finish(self, words, process, data=None):
        try:
            output, errors = process.communicate(data, timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            errors += b"\n(the simulation ended it: it took too long)"
        result = Result(words, process.returncode, output.decode(errors="replace"),
                        errors.decode(errors="replace"))
        last = result.errors.strip().splitlines()[-1:] or [""]
        self.trace(f"    exit {result.code}  {last[0]}")
        return result

    def lethe(self, *words, data=None, faults=None):
        stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
        words, process = self.start(*words, faults=faults, stdin=stdin)
        return self.finish(words, process, data)

    # Power.

    def shadow_begin(self):
        """From now on what is not synced can be lost; all that is there now is safe."""
        return shadow.begin(self.folder, self.base / "shadow")

    def cut_power(self, draw: random.Random):
        """Builds the folder as a disk may hold it after a power cut."""
        keeps_names = draw.random() < 0.4
        keeps_data = draw.choice([0.0, 0.0, 0.5, 1.0])
        self.trace(f"power cut: names {'kept' if keeps_names else 'as synced'}, data kept {keeps_data}")
        shadow.cut_power(self.folder, self.base / "shadow", keeps_names, lambda: draw.random() < keeps_data)
