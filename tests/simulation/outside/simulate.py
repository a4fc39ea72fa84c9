#!/usr/bin/python3
"""Simulates the life of stores from outside: real processes, real RocksDB, clocks and faults under control.

usage: simulate.py [--seeds A-B | --seed S [--steps 3,7,...]] [--length N] [--seconds N] [--verbose]

A seed draws a store's modes and a sequence of steps (steps.py); each step draws from the seed and its own number,
so that steps can be left out and the others stay what they are. A failure prints the seed, what is wrong, and the
shortest sequence of steps that was found to fail too. With --seconds new seeds are tried for that long."""

import argparse
import random
import sys
import time
import traceback

from dedup_steps import DedupSimulation
from model import Wrong
from steps import Simulation

LENGTH = 25
SHORTEN_SECONDS = 90


def attempt(seed, steps):
    """Runs some of a seed's steps. Returns (what is wrong or None, the trace, where it ended)."""
    trace, at = [], None
    draw = random.Random(f"{seed}")
    kind = DedupSimulation if draw.random() < 0.2 else Simulation
    simulation = kind(draw, trace.append)
    try:
        for at in steps:
            trace.append(f"step {at}")
            simulation.step(random.Random(f"{seed}/{at}"))
        return None, trace, None
    except Wrong as problem:
        return str(problem), trace, at
    except Exception:  # a mistake of the simulation's own must show as well
        return traceback.format_exc(), trace, at
    finally:
        simulation.close()


def shorten(seed, steps, is_worth):
    """Leaves out what is not needed for the failure, in ever smaller pieces."""
    until = time.monotonic() + SHORTEN_SECONDS
    size = len(steps) // 2
    while size >= 1:
        at = 0
        while at < len(steps) and time.monotonic() < until:
            fewer = steps[:at] + steps[at + size:]
            if fewer and is_worth(seed, fewer):
                steps = fewer
            else:
                at += size
        size //= 2
    return steps


def report(seed, steps):
    steps = shorten(seed, steps, lambda seed, fewer: attempt(seed, fewer)[0] is not None)
    problem, trace, _ = attempt(seed, steps)
    print("\n".join(trace))
    print(f"WRONG, seed {seed}: {problem}\nagain: simulate.py --seed {seed} --steps "
          f"{','.join(map(str, steps))}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1-20")
    parser.add_argument("--seed")
    parser.add_argument("--steps")
    parser.add_argument("--length", type=int, default=LENGTH)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        steps = [int(step) for step in arguments.steps.split(",")] if arguments.steps \
            else list(range(arguments.length))
        problem, trace, _ = attempt(arguments.seed, steps)
        print("\n".join(trace))
        print(f"WRONG: {problem}" if problem else "right")
        return 1 if problem else 0
    first, last = (int(number) for number in arguments.seeds.split("-"))
    if arguments.seconds is not None:
        first, last = random.SystemRandom().randrange(10**9), 10**12
    start, failed, seed = time.monotonic(), 0, first
    while seed <= last and (arguments.seconds is None or time.monotonic() - start < arguments.seconds):
        steps = list(range(arguments.length))
        problem, trace, at = attempt(seed, steps)
        if arguments.verbose:
            print("\n".join(trace), flush=True)
        if problem is not None:
            failed += 1
            report(seed, steps[:at + 1])
        seed += 1
    tried = seed - first
    print(f"store, outside: {tried - failed} passed, {failed} failed")
    return 1 if failed or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
