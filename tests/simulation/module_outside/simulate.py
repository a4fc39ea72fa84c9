#!/usr/bin/python3
"""Simulates the life of once-tables from outside: three real servers, their clocks under control.

usage: simulate.py [--seeds A-B | --seed S [--steps 3,7,...]] [--length N] [--seconds N] [--verbose]"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import seeds  # noqa: E402
from steps import Simulation  # noqa: E402

if __name__ == "__main__":
    sys.exit(seeds.main("module, outside", Simulation, length=25, usual="1-6"))
