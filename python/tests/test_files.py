"""Goal: files and stores are those of the command line, byte for byte, in both directions.
Method: what Python writes is read by the program, and what the program writes by Python."""

import json

import pytest

import lethe

LINES = [f"line {i} grün" for i in range(500)]
TEXT = "".join(line + "\n" for line in LINES).encode()
KINDS = {
    "bloom": lambda: lethe.Bloom(capacity=500, error=0.01),
    "blocked": lambda: lethe.Bloom(capacity=500, error=0.01, layout="blocked"),
    "quotient": lambda: lethe.Quotient(capacity=500, error=0.01),
    "gaussian": lambda: lethe.Gaussian(capacity=500, error=0.01),
}


@pytest.mark.parametrize("kind", KINDS)
def test_filters_are_equal_bytes(kind, tmp_path, lethe_program):
    made = KINDS[kind]()
    made.add_many(LINES)
    made.save(tmp_path / "python")
    lethe_program("filter", "build", "--kind", kind, "--capacity", 500, "--error", 0.01, "--out",
                  tmp_path / "program", input=TEXT)
    assert (tmp_path / "python").read_bytes() == (tmp_path / "program").read_bytes()
    assert lethe_program("filter", "test", tmp_path / "python", input=TEXT) == TEXT
    assert all(type(made).load(tmp_path / "program").test_many(LINES))
    info = json.loads(lethe_program("filter", "info", "--json", tmp_path / "python"))
    assert info["kind"] == kind and info["seed"] == hex(made.seed)


def test_cascades_are_shared(tmp_path, lethe_program):
    with lethe.Cascade(tmp_path / "c", capacity=10_000, error=1e-6) as cascade:
        cascade.add_many(LINES[:250])
    assert lethe_program("filter", "test", "--count", tmp_path / "c", input=TEXT) == b"250\n"
    lethe_program("filter", "build", "--kind", "cascade", "--capacity", 500, "--out",
                  tmp_path / "d", input=TEXT)
    with lethe.Cascade(tmp_path / "d", must_exist=True) as cascade:
        assert all(cascade.test_many(LINES))


@pytest.mark.parametrize("word,kind", [("cm", "count-min"), ("cu", "conservative"),
                                       ("count", "count"), ("cml", "log"), ("fid", "fid")])
def test_sketches(word, kind, tmp_path, lethe_program):
    """The program adds equal lines together, so only kinds whose counters do not depend on the
    order have equal bytes."""
    lethe_program("freq", "build", "--kind", word, "--width", 1000, "--out", tmp_path / "program",
                  input=TEXT)
    sketch = lethe.Sketch.load(tmp_path / "program")
    assert sketch.to_bytes() == (tmp_path / "program").read_bytes()
    info = sketch.info()
    assert info["kind"] == kind and sketch.total == len(LINES)
    own = lethe.Sketch(kind=kind, width=info["width"], depth=info["depth"])
    own.add_many(LINES)
    if word in ("cm", "count"):
        assert own.to_bytes() == sketch.to_bytes()
    own.save(tmp_path / "python")
    asked = lethe_program("freq", "query", tmp_path / "python", LINES[0])
    assert asked == f"{LINES[0]}\t{own.count(LINES[0])}\n".encode()


def test_stores(tmp_path, lethe_program):
    folder = tmp_path / "store"
    with lethe.Store(folder, create=True, per="1h") as store:
        store.apply_many([f"id {i}" for i in range(100)], ["clicks"] * 100)
        store.apply("grün", "grün", -5)
        store.claim_begin("job", "token", 60_000)
    assert lethe_program("get", "--db", folder, "clicks") == b"clicks\t100\n"
    assert lethe_program("list", "--db", folder) == "clicks\t100\ngrün\t-5\n".encode()
    lethe_program("check", "--db", folder)
    lethe_program("count", "--db", folder, "--quiet", input=b"id 5\tclicks\nid 500\tclicks\t7\n")
    lethe_program("set", "--db", folder, "new", 3)
    assert b"job" in lethe_program("claim", "list", "--db", folder)
    with lethe.Store(folder) as store:
        assert dict(store.items()) == {b"clicks": 107, "grün".encode(): -5, b"new": 3}
        assert store.apply("id 500", "clicks") is lethe.Outcome.DUPLICATE
        assert store.claim_get("job").answer == "running"


def test_ids_of_several_fields_are_the_programs(tmp_path, lethe_program):
    folder = tmp_path / "store"
    with lethe.Store(folder, create=True) as store:
        store.apply(lethe.join_id("eu", "7"), "n")
    lethe_program("count", "--db", folder, "--quiet", "--csv", "--fields",
                  "id=region,id=number,key=key",
                  input=b"region,number,key\neu,7,n\neu,8,n\n")
    assert lethe_program("get", "--db", folder, "n") == b"n\t2\n"
