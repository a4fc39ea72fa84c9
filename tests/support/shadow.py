"""The synced image that tests/faults/preload_shadow.c keeps of a folder: beginning one, and building the folder from it."""

import os
import shutil


def begin(folder, shadow):
    """From now on what is not synced can be lost; all that is there now is safe. Returns what lethe needs to know."""
    shutil.rmtree(shadow, ignore_errors=True)
    shadow.mkdir()
    for place, folders, names in os.walk(folder):
        lines = []
        for name in folders + names:
            path = os.path.join(place, name)
            number = os.lstat(path).st_ino
            lines.append(f"{number} {'d' if name in folders else 'f'} {name}\n")
            if name in names:
                shutil.copyfile(path, shadow / f"f-{number}")
        (shadow / f"d-{os.stat(place).st_ino}").write_text("".join(lines))
    return {"LETHE_FAULT_SHADOW": str(shadow)}


def cut_power(folder, shadow, keeps_names=False, keeps_file=lambda: False):
    """Builds the folder as a disk may hold it after a power cut. keeps_file says of a file whether all of it came to the disk."""
    old = folder.with_name("before-the-cut")
    folder.rename(old)
    visible = {}
    for place, _, names in os.walk(old):
        for name in names:
            path = os.path.join(place, name)
            visible[os.lstat(path).st_ino] = path

    def entries_of(number, seen):
        if keeps_names and seen is not None:
            return {entry.name: (entry.inode(), "d" if entry.is_dir() else "f") for entry in os.scandir(seen)}
        listing = shadow / f"d-{number}"
        if not listing.exists():
            return {}
        lines = (line.split(" ", 2) for line in listing.read_text().splitlines())
        return {name: (int(inode), kind) for inode, kind, name in lines}

    def build(number, to, seen):
        to.mkdir()
        for name, (inode, kind) in sorted(entries_of(number, seen).items()):
            if kind == "d":
                inner = seen / name if seen is not None and (seen / name).is_dir() else None
                build(inode, to / name, inner)
            elif inode in visible and keeps_file():
                shutil.copyfile(visible[inode], to / name)
            elif (shadow / f"f-{inode}").exists():
                shutil.copyfile(shadow / f"f-{inode}", to / name)
            else:
                (to / name).touch()

    build(os.stat(old).st_ino, folder, old)
    shutil.rmtree(old)
    shutil.rmtree(shadow)
