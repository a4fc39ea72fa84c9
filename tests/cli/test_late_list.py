"""Goal: the list of --late-out can be counted with the options that made it, has each late event once however its files
are read again, and a run that cannot write it changes nothing.

Method: files with headers, killed and repeated runs, --from-start; the list is counted with --late count."""

import re

import pytest

DONE, NEGATIVE, USAGE, BAD_DATA, ENVIRONMENT, SKIPPED = range(6)
CSV = ["--csv", "--fields", "id=id,key=key,time=at", "--time-unit", "s", "--window", "1h"]
PLAIN = ["--fields", "id=1,key=2,time=3", "--time-unit", "s", "--window", "1h"]
LATE = 1500000000
NOW = 1600000000
HEADER = "\"the\nid's name\",id,key,at\n"


def record(number, at, header=HEADER):
    return f"x,{number},k,{at}\n" if header == HEADER else f"{at},k,{number}\n"


def file_of(numbers, header=HEADER, text='"of two\nlines"'):
    """Every third one is late."""
    lines = [record(n, LATE + n if n % 3 == 1 else NOW + n, header).replace("x,", text + ",") for n in numbers]
    return header + "".join(lines), [line for line in lines if f",{LATE // 1000}" in line or line.startswith(str(LATE // 1000))]


def test_the_list_has_the_header(count, lethe, tmp_path):
    text, late = file_of(range(10))
    (tmp_path / "a.csv").write_text(text)
    assert count(*CSV, "--late-out", "late", "a.csv", code=SKIPPED)["late"] == 3
    assert (tmp_path / "late").read_text() == HEADER + "".join(late)
    # Another file with that header: it is not repeated, also by another store.
    text, more = file_of(range(10, 20))
    (tmp_path / "b.csv").write_text("\ufeff" + re.sub(r"(\d|at)\n", r"\1\r\n", text), newline="")
    assert count(*CSV, "--late-out", "late", "b.csv", code=SKIPPED)["late"] == 4
    listed = (tmp_path / "late").read_bytes().replace(b"\r", b"").decode()
    assert listed == HEADER + "".join(late + more)
    summary = count(*CSV, "--late", "count", "late")
    assert (summary["applied_late"], summary["events"]) == (7, 7)
    assert lethe("get", "--db", "d", "k").stdout == b"k\t20\n"


def test_another_header_needs_another_list(count, tmp_path):
    text, late = file_of(range(10))
    (tmp_path / "a.csv").write_text(text)
    other, others = file_of(range(10, 20), "at,key,id\n")
    (tmp_path / "b.csv").write_text(other)
    (tmp_path / "c.csv").write_text(file_of(range(0, 60, 3), "at,key,id\n")[0])
    count(*CSV, "--late-out", "late", "a.csv", code=SKIPPED)
    summary = count(*CSV, "--late-out", "late", "b.csv", code=BAD_DATA)
    assert "b.csv has late events, and another header than the list late" in summary["messages"]
    assert (tmp_path / "late").read_text() == HEADER + "".join(late)
    assert count(*CSV, "--late-out", "late", "c.csv")["late"] == 0
    assert count(*CSV, "--late-out", "more", "b.csv", code=SKIPPED)["late"] == 4
    assert (tmp_path / "more").read_text() == "at,key,id\n" + "".join(others)
    # Both in one run, which cannot be.
    summary = count(*CSV, "--late-out", "both", "a.csv", "b.csv", db="e", code=BAD_DATA)
    assert "another header" in summary["messages"]


def test_a_list_without_header_is_not_continued(count, tmp_path):
    text, _ = file_of(range(10))
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "late").write_text("x,1,k,1500000000\n")
    assert "another header" in count(*CSV, "--late-out", "late", "a.csv", code=BAD_DATA)["messages"]
    assert (tmp_path / "late").read_text() == "x,1,k,1500000000\n"


@pytest.mark.parametrize("kind", ["csv", "plain"])
def test_from_start_adds_what_is_not_there(kind, count, tmp_path):
    words = CSV if kind == "csv" else PLAIN
    header = HEADER if kind == "csv" else ""

    def event(number, at):
        return f'"two\nlines",{number},k,{at}\n' if kind == "csv" else f"{number}\tk\t{at}\n"
    late = [event(n, LATE + n) for n in (1, 2, 2, 3)]  # one of them twice
    path = tmp_path / "events"
    path.write_text(header + "".join(event(n, NOW + n) for n in range(10, 20)) + "".join(late) + event(9, NOW + 1))
    assert count(*words, "--late-out", "late", "events", code=SKIPPED)["late"] == 4
    assert (tmp_path / "late").read_text() == header + "".join(late)
    with open(tmp_path / "late", "a", encoding="ascii") as file:
        file.write("added by others\n")
    for _ in range(2):
        summary = count(*words, "--from-start", "--late-out", "late", "events", code=SKIPPED)
        assert (summary["late"], summary["duplicates"]) == (4, 11)
        assert (tmp_path / "late").read_text() == header + "".join(late) + "added by others\n"
    # What is new comes to the end, and what was taken out comes back.
    path.write_text(path.read_text() + event(4, LATE) + event(1, LATE + 1))
    (tmp_path / "late").write_text(header + "".join(late[1:]))
    assert count(*words, "--from-start", "--late-out", "late", "events", code=SKIPPED)["late"] == 6
    assert (tmp_path / "late").read_text() == header + "".join(late[1:]) + late[0] + event(4, LATE) + late[0]


def test_a_list_that_cannot_be_made(lethe, tmp_path):
    (tmp_path / "events").write_text(f"a\tk\t{NOW}\n")
    for late, why in (("no/such/late", b"No such file"), ("events/late", b"Not a directory")):
        result = lethe("count", "--db", "d", *PLAIN, "--late-out", late, "events")
        assert result.returncode == ENVIRONMENT and b"cannot open " + late.encode() in result.stderr
        assert why in result.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["events"]


def test_which_jump_is_believed_does_not_depend_on_the_batch(lethe, count, tmp_path):
    """Events after a pause, which are outvoted or not by what comes later."""
    for pause, after in ((30, 31), (10, 50)):
        times = [NOW + i for i in range(10)] + [NOW + 90000 + i for i in range(pause)]
        times += [NOW + 10 + i for i in range(after)] + [NOW + 90040 + i for i in range(70)]
        (tmp_path / "events").write_text("".join(f"{n}\tk\t{at}\n" for n, at in enumerate(times)))
        results = set()
        for batch in ("1", "7", "64", "4096"):
            summary = count(*PLAIN, "--batch", batch, "events", db=f"d{after}-{batch}", code=SKIPPED)
            assert summary["events"] == len(times)
            results.add((summary["applied"], summary["late"], summary["future"]))
        assert len(results) == 1, results
