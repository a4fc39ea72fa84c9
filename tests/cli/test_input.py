"""Goal: every command that reads lines or events reads them by the same rules, whatever they are compressed by.
Method: a table of commands, of compressions and of ways to write a text. Each command is given the same lines in every
way, from a file and from a pipe, and must answer as for the plain text."""

import bz2
import gzip
import lzma
import random
import shutil
import subprocess
import zlib

import pytest
from conftest import BINARIES, run_lethe
from sizes import SIZE, sized

BAD_DATA, DONE, NEGATIVE = 3, 0, 1


def pack_zstd(data):
    if shutil.which("zstd") is None:
        pytest.skip("there is no zstd to make files with")
    return subprocess.run(["zstd", "-qc"], input=data, stdout=subprocess.PIPE, check=True).stdout


PACKS = {"plain": bytes, "gzip": gzip.compress, "zstd": pack_zstd, "bzip2": bz2.compress, "xz": lzma.compress}
PACKED = [name for name in PACKS if name != "plain"]
BOM = b"\xef\xbb\xbf"

random.seed(7)
MANY_LINES = [b"%x\tk" % random.getrandbits(64) for _ in range(20000)]
LINES = [b"id-%d\tkey-%d" % (i % 60, i % 7) for i in range(100)]


def text(lines, end=b"\n"):
    return b"".join(line + end for line in lines)


# How a text may be written that has the same lines.
WAYS = {
    "newlines": lambda pack: pack(text(LINES)),
    "carriage returns": lambda pack: pack(text(LINES, b"\r\n")),
    "both line ends": lambda pack: pack(text(LINES[:50], b"\r\n") + text(LINES[50:])),
    "byte order mark": lambda pack: pack(BOM + text(LINES)),
    "byte order marks where files were joined": lambda pack: pack(BOM + text(LINES[:40])) + pack(2 * BOM + text(LINES[40:])),
    "an empty file with a byte order mark at the end": lambda pack: pack(text(LINES)) + pack(BOM),
    "from Windows": lambda pack: pack(BOM + text(LINES, b"\r\n")),
    "no newline at the end": lambda pack: pack(text(LINES)[:-1]),
    "two members": lambda pack: pack(text(LINES)[:333]) + pack(text(LINES)[333:]),
    "an empty member": lambda pack: pack(b"") + pack(text(LINES)) + pack(b""),
    "carriage return at the end": lambda pack: pack(text(LINES, b"\r\n")[:-1]),
}


class Command:
    """Runs one command on an input. Files beside it are made from the plain lines."""

    def __init__(self, lethe, folder):
        self.lethe, self.folder, self.runs = lethe, folder, 0
        (folder / "plain").write_bytes(text(LINES))

    def run(self, *words, code=DONE, stdin=b""):
        answer = self.lethe(*words, stdin=stdin)
        assert answer.returncode == code, answer.stderr
        return answer.stdout.replace(b"\r\n", b"\n")

    def new(self, name):
        self.runs += 1
        return f"{name}-{self.runs}"

    def count(self, answer_to):
        store = self.new("store")
        answer = answer_to("count", "-q", "--last-line", "--db", store)
        return answer, lambda: self.run("list", "--db", store)

    def dedup(self, answer_to):
        answer = answer_to("dedup", "-q")
        return answer, lambda: answer.stdout

    def dedup_db(self, answer_to):
        answer = answer_to("dedup", "-q", "--last-line", "--field", "2", "--db", self.new("seen"))
        return answer, lambda: answer.stdout

    def filter_build(self, answer_to):
        out = self.new("filter")
        answer = answer_to("filter", "build", "-q", "--capacity", "1000", "--error", "1e-9", "--out", out)
        return answer, lambda: self.run("filter", "test", out, "plain") + (self.folder / out).read_bytes()

    def filter_test(self, answer_to):
        self.run("filter", "build", "-q", "--error", "1e-9", "--out", "odd", stdin=b"",
                 *self.written("lines", LINES[1::2]))
        answer = answer_to("filter", "test", "odd")
        return answer, lambda: answer.stdout

    def filter_remove(self, answer_to):
        out = self.new("filter")
        self.run("filter", "build", "-q", "--kind", "quotient", "--error", "1e-9", "--out", out,
                 *self.written("more", LINES + [b"more"]))
        answer = answer_to("filter", "remove", "-q", out)
        return answer, lambda: self.run("filter", "test", out, "more")

    def freq_build(self, answer_to):
        out = self.new("sketch")
        answer = answer_to("freq", "build", "-q", "--field", "2", "--out", out)
        return answer, lambda: self.run("freq", "query", out, *(f"key-{i}" for i in range(8)))

    def freq_remove(self, answer_to):
        out = self.new("sketch")
        self.run("freq", "build", "-q", "--out", out, *self.written("most", LINES + [b"more"] + 2 * MANY_LINES))
        answer = answer_to("freq", "remove", "-q", out)
        return answer, lambda: self.run("freq", "query", out, *LINES, "more")

    def freq_query(self, answer_to):
        self.run("freq", "build", "-q", "--out", "sketch", "plain")
        answer = answer_to("freq", "query", "sketch", file=("--keys",))
        return answer, lambda: answer.stdout

    def written(self, name, lines):
        (self.folder / name).write_bytes(text(lines))
        return [name]


COMMANDS = [name for name in vars(Command) if name not in ("run", "new", "written") and name[0] != "_"]


def crossed(names, packs):
    """Every command with every format; in the tests of every day, with a format each, and counting with all."""
    return [(name, pack) for i, name in enumerate(names) for j, pack in enumerate(packs)
            if SIZE != "day" or i % len(packs) == j or name == "count"]


def some_of(cases, name, pack):
    """All of the cases; in shorter tests every second or third, not the same with each format."""
    step = sized(3, 2, 1)
    return list(cases.items())[(COMMANDS.index(name) + list(PACKS).index(pack)) % step::step]


def from_file(lethe, folder, data):
    def answer_to(*words, file=()):
        (folder / "input").write_bytes(data)
        return lethe(*words, *file, "input")
    return answer_to


def from_pipe(lethe, folder, data):
    del folder
    return lambda *words, file=(): lethe(*words, *file, "-", stdin=data)


@pytest.mark.parametrize("name, pack", crossed(COMMANDS, list(PACKS)))
def test_every_way_to_write_lines(name, pack, lethe, tmp_path):
    command = Command(lethe, tmp_path)
    answer, result = getattr(command, name)(from_file(lethe, tmp_path, text(LINES)))
    assert answer.returncode == DONE and answer.stderr == b""
    expected = result().replace(b"\r\n", b"\n")
    assert expected
    for way, write in some_of(WAYS, name, pack):
        if pack == "plain" and way == "an empty member":
            continue
        for give in (from_file, from_pipe) if way == "from Windows" else (from_file,):
            answer, result = getattr(command, name)(give(lethe, tmp_path, write(PACKS[pack])))
            assert (answer.returncode, answer.stderr) == (DONE, b""), (way, give)
            assert result().replace(b"\r\n", b"\n") == expected, (way, give)


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1:]


# What may have happened to a compressed file, and what the message says of it.
DAMAGES = {
    "cut in the middle": (lambda data: data[:len(data) // 2], b"cut short at byte"),
    "last byte missing": (lambda data: data[:-1], b"cut short at byte"),
    "begun only": (lambda data: data[:11], b"cut short at byte 11"),
    "a bit changed": (flip, b" at byte "),
    "junk after it": (lambda data: data + 5 * b"junk", b"damaged at byte"),
    "second member cut": (lambda data: data + data[:-9], b"cut short at byte"),
}


@pytest.mark.parametrize("name, pack", crossed(COMMANDS, PACKED))
def test_damage_is_never_an_early_end(name, pack, lethe, tmp_path):
    """A command fails with the name of the file and the place; a file that it would have written stays as it was.
    Of a file, nothing is used and nothing is printed, wherever in it the damage is."""
    good = PACKS[pack](text(MANY_LINES))
    for damage, (harm, message) in some_of(DAMAGES, name, pack):
        for give in (from_file, from_pipe) if damage == "cut in the middle" else (from_file,):
            before = list(tmp_path.glob("store-*"))
            answer, _ = getattr(Command(lethe, tmp_path), name)(give(lethe, tmp_path, harm(good)))
            assert answer.returncode == BAD_DATA, (damage, give, answer)
            last = answer.stderr.splitlines()[-1]
            place = b"input: " if give is from_file else b"standard input: "
            assert place + f"the {pack} data is ".encode() in last and message in last, (damage, last)
            if give is from_file:
                assert answer.stdout == b"" and b"nothing was taken from any input" in last, (damage, answer)
                assert list(tmp_path.glob("store-*")) == before, damage
    assert not any(path.name.startswith(("filter-", "sketch-")) for path in tmp_path.iterdir()) or "remove" in name


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize("kind", ["zstd", "pzstd", "xz"])
def test_files_without_a_checksum_are_named(kind, checked, lethe, tmp_path):
    path = tmp_path / "events"
    if kind == "xz":
        packed = lzma.compress(b"a\tk\n", check=lzma.CHECK_CRC64 if checked else lzma.CHECK_NONE)
    else:
        if shutil.which("zstd") is None:
            pytest.skip("there is no zstd to make files with")
        packed = subprocess.run(["zstd", "-qc", "--check" if checked else "--no-check"], input=b"a\tk\n", stdout=subprocess.PIPE,
                                check=True).stdout
    if kind == "pzstd":
        packed = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + packed
    path.write_bytes(packed)
    result = lethe("count", "-q", "--db", "d", path)
    assert result.returncode == 0 and (b"has no checksum" in result.stderr) == (not checked), result.stderr
    with path.open("rb") as file:
        result = subprocess.run([BINARIES / "lethe", "count", "-q", "--db", tmp_path / "other"], stdin=file, stderr=subprocess.PIPE,
                                check=True)
    assert (b"standard input has no checksum" in result.stderr) == (not checked)


@pytest.mark.parametrize("name, pack", crossed(COMMANDS, list(PACKS)))
def test_no_lines(name, pack, lethe, tmp_path):
    """An empty file, and a compressed one with nothing in it, have no lines: not an empty line, and no failure."""
    for empty in (PACKS[pack](b""), PACKS[pack](BOM), 2 * PACKS[pack](b"")):
        for give in (from_file, from_pipe) if empty == PACKS[pack](b"") else (from_file,):
            answer, _ = getattr(Command(lethe, tmp_path), name)(give(lethe, tmp_path, empty))
            assert answer.returncode in (DONE, NEGATIVE) and (answer.stdout, answer.stderr) == (b"", b"")


ENDINGS = {"gzip": ".gz", "zstd": ".zst", "bzip2": ".bz2", "xz": ".xz"}
# So many first bytes of a format are no text in UTF-8.
UNTEXTUAL = {"gzip": 2, "zstd": 2, "bzip2": 10, "xz": 1}


@pytest.mark.parametrize("name, pack", crossed(["count", "dedup", "dedup_db", "filter_build", "freq_build"], PACKED))
def test_a_file_that_is_cut_within_its_first_bytes(name, pack, lethe, tmp_path):
    """Its name says what it was, or the bytes do: then it is damaged. Otherwise it is a text."""
    data = PACKS[pack](text(LINES))
    for size in sized((1, 2, 10), range(12), range(12)):
        def named(*words, file=(), beginning=data[:size]):
            (tmp_path / f"cut{ENDINGS[pack]}").write_bytes(beginning)
            return lethe(*words, *file, f"cut{ENDINGS[pack]}")
        answer, _ = getattr(Command(lethe, tmp_path), name)(named)
        assert answer.returncode == BAD_DATA, size
        assert f"cut{ENDINGS[pack]}: the {pack} data is cut short at byte {size} of".encode() in answer.stderr
        is_known = size >= UNTEXTUAL[pack]
        for give in (from_file, from_pipe):
            answer, _ = getattr(Command(lethe, tmp_path), name)(give(lethe, tmp_path, data[:size]))
            assert (b"cut short" in answer.stderr) == is_known, (size, give, answer)
            assert answer.returncode == BAD_DATA or not is_known


@pytest.mark.parametrize("pack", PACKED)
def test_a_text_with_the_name_of_compressed_data(pack, lethe, tmp_path):
    (tmp_path / f"text{ENDINGS[pack]}").write_bytes(b"B\n(\n")
    answer = lethe("dedup", f"text{ENDINGS[pack]}")
    assert (answer.returncode, answer.stdout) == (DONE, b"B\n(\n")


# Lines that begin like compressed data, or like a byte order mark, and are none.
NOT_MAGIC = [b"\x1f", b"\x1f\x8b", b"(\xb5/", b"(", b"BZ", b"BZh", b"BZh9", b"BZh91AY&S", b"BZhello world",
             b"\xfd7zXZ", b"P*M", b"\xef", b"\xef\xbb", b"\xff\xfe", b"\xff", b"\xfe\xffab", b"\0", b"\r", b"a\rb"]


@pytest.mark.parametrize("first", NOT_MAGIC, ids=repr)
def test_lines_that_look_like_something_else(first, lethe, tmp_path):
    is_cut = first in (b"\x1f\x8b", b"(\xb5/", b"\xfd7zXZ")  # no text, and nothing after it
    for data in (first + b"\nsecond\n", first + b"\n", *(() if is_cut else (first,))):
        lines = [line.removesuffix(b"\r") for line in data.removesuffix(b"\n").split(b"\n")]
        for give in (from_file, from_pipe):
            answer = give(lethe, tmp_path, data)("dedup", "-q", "--binary")
            assert (answer.returncode, answer.stderr) == (DONE, b"")
            assert [line.removesuffix(b"\r") for line in answer.stdout.removesuffix(b"\n").split(b"\n")] == lines


def test_every_byte_belongs_to_its_line(lethe, tmp_path):
    """Binary lines come out as they went in; only newlines, and the carriage returns before them, are line ends."""
    lines = [bytes([a, b]) for a in range(256) for b in (0, 9, 10, 13, 32, 255) if 10 not in (a, b)]
    wanted = {line.removesuffix(b"\r") for line in lines}
    for pack in PACKS:
        data = PACKS[pack](text([b"first"] + lines))
        answer = from_file(lethe, tmp_path, data)("dedup", "-q", "--binary")
        printed = answer.stdout.split(b"\n")[1:-1]
        assert len(printed) == len(wanted)
        assert {line.removesuffix(b"\r") for line in printed} == wanted and set(printed) <= set(lines)


def with_a_large_dictionary(data):
    """An xz file whose first block says that it needs 1.5 GiB."""
    size = 4 * (data[12] + 1)
    block = bytearray(data[12:12 + size])
    assert block[2:4] == b"\x21\x01"
    block[4] = 37
    block[-4:] = zlib.crc32(block[:-4]).to_bytes(4, "little")
    return data[:12] + bytes(block) + data[12 + size:]


@pytest.mark.parametrize("pack,data", [
    ("zstd", b"\x28\xb5\x2f\xfd\x00\xa0\x01\x00\x00"),  # a window of 1 GiB
    ("xz", with_a_large_dictionary(lzma.compress(b"a\n"))),
], ids=["zstd", "xz"])
def test_memory_that_a_file_may_ask_for(pack, data, lethe, tmp_path):
    answer = from_file(lethe, tmp_path, data)("dedup", "-q")
    assert answer.returncode == BAD_DATA
    assert f"input: the {pack} data needs too much memory to decompress".encode() in answer.stderr


def test_frames_without_data(lethe, tmp_path):
    """pzstd puts a frame without data before each other."""
    skipped = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
    answer = from_file(lethe, tmp_path, skipped + pack_zstd(b"a\n") + skipped)("dedup", "-q")
    assert (answer.returncode, answer.stdout, answer.stderr) == (DONE, b"a\n", b"")


def test_zeros_after_the_end_of_gzip(lethe, tmp_path):
    """They are what is left of a block, and ignored as gzip(1) does; whatever comes after them is not."""
    packed = gzip.compress(text(LINES[:50])) + gzip.compress(text(LINES[50:]))
    for zeros in (1, 2, 511, 300000, 2000000):
        for give in (from_file, from_pipe):
            answer = give(lethe, tmp_path, packed + bytes(zeros))("dedup", "-q")
            assert (answer.returncode, answer.stdout, answer.stderr) == (DONE, text(dict.fromkeys(LINES)), b""), zeros
        for more in (b"\1", packed, b"x" + bytes(10)):
            answer = from_file(lethe, tmp_path, packed + bytes(zeros) + more)("dedup", "-q")
            damage = f"the gzip data is damaged at byte {len(packed) + zeros} of the file (there is data after the zeros".encode()
            assert answer.returncode == BAD_DATA and damage in answer.stderr and answer.stdout == b"", answer.stderr
    (tmp_path / "events.gz").write_bytes(packed + bytes(512))
    assert lethe("count", "-q", "--db", "d", "events.gz").returncode == DONE
    again = lethe("count", "--json", "--db", "d", "events.gz")
    assert again.returncode == DONE and b'"applied": 0' in again.stderr + again.stdout


@pytest.mark.parametrize("pack", PACKED)
def test_zeros_that_are_not_after_the_end(pack, lethe, tmp_path):
    """Within a member they are damage, and after the end of other formats too, as their tools have it."""
    packed = PACKS[pack](text(LINES))
    cut = from_file(lethe, tmp_path, packed[:-5] + bytes(512))("dedup", "-q")
    assert cut.returncode == BAD_DATA and cut.stdout == b""
    if pack != "gzip":
        answer = from_file(lethe, tmp_path, packed + bytes(511))("dedup", "-q")
        assert answer.returncode == BAD_DATA and answer.stdout == b"", answer.stderr


@pytest.mark.parametrize("pack", PACKED)
def test_compressed_files_are_resumed(pack, lethe, tmp_path):
    """dedup --db goes on in a compressed file that has grown, and knows it under another name."""
    lines = [b"%d" % i for i in range(5000)]
    log = tmp_path / "log"
    log.write_bytes(PACKS[pack](text(lines[:3000])))
    assert lethe("dedup", "-q", "--db", "seen", "log").stdout == text(lines[:3000])
    log.write_bytes(PACKS[pack](text(lines)))
    answer = lethe("dedup", "--json", "--db", "seen", "log")
    assert answer.stdout == text(lines[3000:])
    assert f'"resumed_at": {len(text(lines[:3000]))}'.encode() in answer.stderr
    log.rename(tmp_path / "log.1")
    answer = lethe("dedup", "--json", "--db", "seen", "log.1")
    assert answer.stdout == b"" and f'"resumed_at": {len(text(lines))}'.encode() in answer.stderr
    # Another file that begins alike is read from its start, and so is the same one if that is asked for.
    log.write_bytes(PACKS[pack](text(lines[:2000] + [b"other"] + lines[2000:])))
    assert lethe("dedup", "-q", "--db", "seen", "log").stdout == b"other\n"
    assert b'"lines": 5000' in lethe("dedup", "--json", "--db", "seen", "--from-start", "log.1").stderr


@pytest.mark.parametrize("pack", sized(["gzip", "zstd"], PACKED, PACKED))
def test_large_compressed_files_are_read_twice(pack, lethe, tmp_path):
    """Without --db, dedup reads large files twice: what comes out is what a text has."""
    random.seed(3)
    lines = [b"%x" % random.getrandbits(17) for _ in range(300000)]
    expected = text(dict.fromkeys(lines))
    (tmp_path / "a").write_bytes(PACKS[pack](text(lines[:200000])))
    (tmp_path / "b").write_bytes(text(lines[200000:]))
    for words in (["--memory", "4MiB"], ["--memory", "1GiB"], ["--memory", "4MiB", "--db", "seen"]):
        assert lethe("dedup", "-q", *words, "a", "b").stdout == expected


def test_capacity_of_compressed_files(lethe, tmp_path):
    """filter build counts the lines of compressed files, not their bytes."""
    for pack in PACKS:
        for way, write in list(WAYS.items())[::sized(3, 1, 1)]:
            (tmp_path / "input").write_bytes(write(PACKS[pack]))
            assert lethe("filter", "build", "-q", "--out", "f", "input").returncode == DONE
            assert b'"capacity": 100,' in lethe("filter", "info", "--json", "f").stdout, (pack, way)


@pytest.mark.parametrize("name, data, records, code", [
    ("quote not doubled", b'id,key,comment\na,k,"Dear John,\nsee you, soon, then\nhe said, really, "yes" to it"\nb,k,fine\n', 1, 5),
    ("no end", b'id,key,comment\nb,k,fine\na,k,"oops\nsee you soon\nc,k,fine\n', 1, 3),
], ids=lambda value: value if isinstance(value, str) else "")
def test_lines_within_wrong_quotes_are_no_events(name, data, records, code, tmp_path):
    """Also where the quotes are in a column that is not asked for."""
    result = run_lethe("count", "--db", name, "--csv", "--fields", "id=id,key=key", stdin=data, cwd=tmp_path)
    assert result.returncode == code and b"quoted field" in result.stderr, result.stderr
    assert run_lethe("list", "--db", name, cwd=tmp_path).stdout == b"k\t%d\n" % records


def test_a_file_that_had_nothing_but_a_mark_of_the_byte_order(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf")
    assert run_lethe("count", "-q", "--db", "d", "f", cwd=tmp_path).returncode == 0
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\tk\n")
    assert run_lethe("count", "-q", "--db", "d", "f", cwd=tmp_path).returncode == 0
    assert run_lethe("list", "--db", "d", cwd=tmp_path).stdout == b"k\t1\n"


def test_a_delimiter_is_one_character(tmp_path):
    for text in "\tzzz", ";;", "\\tx":
        result = run_lethe("count", "--db", "d", "--csv", "--delimiter", text, stdin=b"a\n", cwd=tmp_path)
        assert result.returncode == 2 and b"--delimiter" in result.stderr


@pytest.mark.parametrize("words", [[], ["--fields", "id=1,key=2,time=3"]], ids=["one after the other", "merged"])
def test_utf_16_is_found_before_anything_is_counted(words, lethe, tmp_path):
    """Also in the second file, and although nothing asks for a header."""
    line = "a\tk\t1700000000000\n"
    (tmp_path / "first").write_text(line if words else "a\tk\n")
    (tmp_path / "second").write_text(line if words else "a\tk\n", encoding="utf-16")
    answer = lethe("count", "-q", "--db", "d", *words, "first", "second")
    assert answer.returncode == BAD_DATA and b"second is text in UTF-16" in answer.stderr
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("words", [["count", "--db", "d", "--csv", "--fields", "id=1,key=2"],
                                   ["count", "--db", "d", "--fields", "id=1,key=2"],
                                   ["dedup"], ["dedup", "--db", "d"], ["freq", "build", "--kind", "cm", "--out", "f"],
                                   ["filter", "build", "--capacity", "100", "--out", "f"]], ids=" ".join)
def test_lines_that_end_with_carriage_returns(words, pack, lethe, tmp_path):
    """All of such a text would be one line, with status 0 in most commands."""
    for lines in (3, 2000):
        data = PACKS[pack](b"".join(b"id-%d,k%d\tk,1\r" % (i, i) for i in range(lines)))
        (tmp_path / "in").write_bytes(data)
        for result in (lethe(*words, stdin=data), lethe(*words, "in")):
            assert result.returncode == BAD_DATA and b"carriage return alone" in result.stderr
            assert result.stdout == b"" and not (tmp_path / "f").exists()
    if words[0] == "count":
        assert lethe("list", "--db", "d").stdout == b""
    result = lethe(*words, "--binary", stdin=data)
    assert result.returncode == DONE and b"carriage return alone" not in result.stderr


def test_a_carriage_return_that_is_no_end(lethe, tmp_path):
    """Within quotes, at the end of what there is of a line, and in a line among others."""
    csv = ["count", "--db", "d", "-q", "--csv", "--fields", "id=1,key=2"]
    assert lethe(*csv, stdin=b'1,a,"x\ry"\r\n2,a\n').returncode == DONE
    (tmp_path / "in").write_bytes(b"3,a\r")
    assert b"has no newline yet" in lethe(*csv, "in").stderr
    (tmp_path / "in").write_bytes(b"3,a\r\n")
    assert lethe(*csv, "in").returncode == DONE
    assert lethe("list", "--db", "d").stdout == b"a\t3\n"
    assert lethe("dedup", "-q", stdin=b"a\rb\na\rb\n").stdout == b"a\rb\n"
