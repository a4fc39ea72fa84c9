#!/usr/bin/python3
"""Simulates the life of stores from outside: real processes, real RocksDB, clocks and faults under control.

usage: simulate.py [--seeds A-B | --seed S [--steps 3,7,...]] [--length N] [--seconds N] [--verbose]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import seeds  # noqa: E402
from dedup_steps import DedupSimulation  # noqa: E402
from steps import Simulation  # noqa: E402


def make(draw, trace):
    return (DedupSimulation if draw.random() < 0.2 else Simulation)(draw, trace)


if __name__ == "__main__":
    sys.exit(seeds.main("store, outside", make, length=25, usual="1-9"))
