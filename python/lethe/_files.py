"""Whole files, for structures that the C library has no file functions for."""

import os
import secrets


def replace(path, data):
    """Writes a file in place of the one that is there, as a whole or not at all."""
    path = os.fsdecode(path)
    beside = f"{path}.{secrets.token_hex(8)}.tmp"
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        try:
            os.unlink(beside)
        except FileNotFoundError:
            pass
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path):
    """All bytes of a file."""
    with open(path, "rb") as file:
        return file.read()
