"""For the distribution's setuptools; everything is in pyproject.toml."""

from setuptools import setup

setup()
