"""What the simulations from outside share: seeds, and the shortening of what fails.

    seeds.main("store, outside", make, length=25)

make(draw, trace) returns an object with step(draw) and close(). A seed draws it and a sequence of steps; each step draws from
the seed and its own number, so that steps can be left out and the others stay what they are. A step that raises has found
something. A failure prints the seed, what is wrong, and the shortest sequence of steps that was found to fail too.

usage: [--seeds A-B | --seed S [--steps 3,7,...]] [--length N] [--seconds N] [--verbose]
With --seconds new seeds are tried for that long. Where LETHE_TEST_STOP is set, as for mutants, the first failure ends the
program and is not shortened."""

import argparse
import os
import random
import time
import traceback

SHORTEN_SECONDS = 60


class Seeds:
    def __init__(self, name, make, length):
        self.name, self.make, self.length = name, make, length

    def attempt(self, seed, steps):
        """Runs some of a seed's steps. Returns (what is wrong or None, the trace, the step it came to)."""
        trace, at, simulation = [], -1, None
        try:
            simulation = self.make(random.Random(f"{seed}"), trace.append)
            for at in steps:
                trace.append(f"step {at}")
                simulation.step(random.Random(f"{seed}/{at}"))
            return None, trace, at
        except Exception as problem:  # a mistake of the simulation's own must show as well
            is_finding = type(problem).__name__ == "Wrong"
            return str(problem) if is_finding else traceback.format_exc(), trace, at
        finally:
            if simulation is not None:
                simulation.close()

    def shorten(self, seed, steps):
        """Leaves out what is not needed for the failure, in ever smaller pieces."""
        until = time.monotonic() + SHORTEN_SECONDS
        size = len(steps) // 2
        while size >= 1:
            at = 0
            while at < len(steps) and time.monotonic() < until:
                fewer = steps[:at] + steps[at + size:]
                if fewer and self.attempt(seed, fewer)[0] is not None:
                    steps = fewer
                else:
                    at += size
            size //= 2
        return steps

    def report(self, seed, steps, problem, trace):
        shorter = self.shorten(seed, steps)
        again, shorter_trace, _ = self.attempt(seed, shorter)
        if again is not None:  # otherwise it depends on the moment, and the first trace is all there is
            problem, trace, steps = again, shorter_trace, shorter
        print("\n".join(trace))
        print(f"WRONG, seed {seed}: {problem}\nagain: --seed {seed} --steps {','.join(map(str, steps))}", flush=True)

    def one(self, seed, steps):
        problem, trace, _ = self.attempt(seed, steps)
        print("\n".join(trace))
        print(f"WRONG: {problem}" if problem else "right")
        return 1 if problem else 0

    def many(self, first, last, seconds, is_verbose):
        start, failed, seed = time.monotonic(), 0, first
        while seed <= last and (seconds is None or time.monotonic() - start < seconds):
            problem, trace, at = self.attempt(seed, list(range(self.length)))
            if is_verbose:
                print("\n".join(trace), flush=True)
            if problem is not None:
                failed += 1
                if "LETHE_TEST_STOP" in os.environ:
                    print(f"WRONG, seed {seed}: {problem}")
                    break
                self.report(seed, list(range(at + 1)), problem, trace)
            seed += 1
        tried = seed - first
        print(f"{self.name}: {tried} seeds in {time.monotonic() - start:.0f} s, {failed} failed")
        return 1 if failed or tried == 0 else 0


def main(name, make, length, usual):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default=usual)
    parser.add_argument("--seed")
    parser.add_argument("--steps")
    parser.add_argument("--length", type=int, default=length)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    seeds = Seeds(name, make, arguments.length)
    if arguments.seed is not None:
        words = arguments.steps.split(",") if arguments.steps else range(arguments.length)
        return seeds.one(arguments.seed, [int(word) for word in words])
    first, last = (int(number) for number in arguments.seeds.split("-"))
    if arguments.seconds is not None:
        first, last = random.SystemRandom().randrange(10**9), 10**12
    return seeds.many(first, last, arguments.seconds, arguments.verbose)
