"""Goal: what is asked for in a way that cannot be meant is refused, with words that help; and an answer says what it lacks.

Method: real servers; wrong and contradictory arguments at every address that reads; stores that have dropped periods, that
got them late, that are damaged or in use; the words of the answers, and of the command line beside them."""

import socket
import subprocess

import pytest

from conftest import BINARIES, ask

READS = ["/v1/counters/k", "/v1/counters", "/v1/top", "/v1/usage", "/v1/holds", "/v1/holds/h", "/v1/claims/c", "/v1/status",
         "/v1/live"]


def run(*words, lines=b""):
    done = subprocess.run([BINARIES / "lethe", *words], input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, check=False)
    return done.returncode, done.stderr.decode()


def count(folder, *words, lines):
    code, errors = run("count", "-q", "--db", folder, *words, lines=lines)
    assert code == 0, errors


def refused(server, path):
    status, answer = server.get(path)
    assert status == 400, (path, answer)
    return answer["detail"]


def test_arguments_that_are_not_known(serve):
    server = serve("--per", "1d")
    server.post("/v1/events", {"id": "1", "key": "k"})
    for path in READS:
        assert "'frm'" in refused(server, f"{path}?frm=2024-01-01"), path
    known = refused(server, "/v1/usage?key=k&frm=2024-01-01")
    assert all(name in known for name in ("by", "key", "key_base64", "prefix", "from", "to", "limit")), known
    assert "there are none" in refused(server, "/v1/counters/k?%6Bey=1")
    assert server.post("/v1/events?x=1", {"id": "2", "key": "k"})[0] == 400 and server.value("k") == 1
    for path in ("/healthz", "/readyz", "/metrics", "/"):  # what asks for these adds what it likes
        assert ask(server.port, "GET", f"{path}?x=1")[0] == 200, path
    for path in ("/v1/counters?", "/v1/counters?&limit=3&"):
        assert server.get(path)[0] == 200, path


def test_arguments_that_contradict_each_other(serve):
    server = serve("--per", "1d")
    server.post("/v1/events", {"id": "1", "key": "k"})
    assert "'limit'" in refused(server, "/v1/counters?limit=3&limit=4")
    for two in ("key=k&prefix=k", "key_base64=aw&prefix=k", "key=k&prefix_base64=aw"):
        assert "not both" in refused(server, f"/v1/usage?{two}"), two
    for path in ("/v1/usage?key=k&key_base64=aw", "/v1/counters?prefix=k&prefix_base64=aw", "/v1/holds?prefix=&prefix_base64=aw"):
        assert "give one of them" in refused(server, path)
    for times in ("from=2024-02-01&to=2024-01-01", "from=2024-02-01&to=2024-02-01"):
        assert "to is not after from" in refused(server, f"/v1/usage?{times}")
    assert len(server.get("/v1/usage?key=k&prefix=&from=&to=")[1]["usage"]) == 1


def test_a_backup_has_nothing_to_say(serve, tmp_path):
    server = serve("--backups", str(tmp_path / "copies"))
    status, answer = server.post("/v1/backup", {"x": 1})
    assert status == 400 and "'x'" in answer["detail"]
    assert server.post("/v1/backup", "[]")[0] == 400 and not (tmp_path / "copies").exists()
    assert server.post("/v1/backup", {})[0] == 200 and server.post("/v1/backup", "")[0] == 200


def test_periods_that_were_dropped(serve, tmp_path):
    """An empty list would say that nothing was counted then."""
    folder = tmp_path / "db"
    fields = ("--fields", "id=1,key=2,time=3")
    count(folder, "--per", "1h,1d", "--keep", "1h=1d", *fields, lines=b"1\tk\t2018-11-04T10:00:00Z\n")
    count(folder, *fields, lines=b"2\tk\t2018-11-14T10:00:00Z\n")
    server = serve()
    assert run("top", "--db", folder, "--by", "1h", "--at", "2018-11-04")[0] == 1
    status, answer = server.get("/v1/top?by=1h&at=2018-11-04T10:30:00Z")
    assert status == 410 and "begins at 2018-11-13T" in answer["detail"], answer
    for by, at in (("1h", "2018-11-14T10:30:00Z"), ("1d", "2018-11-04"), ("1d", "2018-11-14")):
        status, answer = server.get(f"/v1/top?by={by}&at={at}")
        assert (status, answer) == (200, {"counters": [{"key": "k", "value": "1"}], "is_whole": True})
    assert server.get("/v1/top")[1] == {"counters": [{"key": "k", "value": "2"}]}


def test_the_first_moment_of_1970_is_a_time(serve, tmp_path):
    """It is not as if none were given, which asks for everything, or for now."""
    fields = ("--fields", "id=1,key=2,delta=3,time=4", "--time-unit", "s")
    count(tmp_path / "db", "--per", "1h", *fields, lines=b"1\tk\t5\t600\n2\tk\t7\t7200\n")
    server = serve()
    for query in ("at=0", "at=1970-01-01", "by=1h&at=1970-01-01T00:00:00Z"):
        assert server.get(f"/v1/top?{query}")[1]["counters"] == [{"key": "k", "value": "5"}], query
    assert server.get("/v1/top?at=")[1]["counters"] == [{"key": "k", "value": "12"}]
    for query in ("to=0", "to=1970-01-01", "from=0&to=0"):
        assert "to is not after from" in refused(server, f"/v1/usage?{query}"), query
    assert [row["value"] for row in server.get("/v1/usage?from=0&to=1970-01-01T01:00:00Z")[1]["usage"]] == ["5"]
    server.post("/v1/events", {"id": "3", "key": "late", "delta": 9, "time": "1970-01-01T03:00:00Z"})
    everything = server.get("/v1/usage?key=late")[1]
    assert [row["value"] for row in everything["usage"]] == ["9"] and len(everything["rest"]) == 1
    for beginning in ("0", "1970-01-01", "1", "1970-01-01T00:00:00Z"):
        answer = server.get(f"/v1/usage?key=late&from={beginning}")[1]
        assert [row["value"] for row in answer["usage"]] == ["0", "0", "0", "9"] and answer["rest"] == [], beginning


def test_periods_that_came_later(serve, tmp_path):
    count(tmp_path / "db", lines=b"1\tk\n")
    server = serve("--per", "1d")
    server.post("/v1/events", {"id": "2", "key": "k"})
    answer = server.get("/v1/top?by=1d")[1]
    assert (answer["counters"], answer["is_whole"]) == ([{"key": "k", "value": "1"}], False)
    assert answer["whole_from"].endswith("T00:00:00+00:00"), answer


def test_a_period_ends_where_the_next_begins(serve, tmp_path):
    """Also where clocks change within it: in the offset that is then."""
    lines = b"".join(b"%d\tk\t2024-%02d-15T12:00:00Z\n" % (month, month) for month in range(1, 13))
    count(tmp_path / "db", "--per", "1mo,1d,1h", "--zone", "America/St_Johns", "--window", "30d", "--forever", "--fields",
          "id=1,key=2,time=3", lines=lines)
    server = serve()
    rows = server.get("/v1/usage?by=1mo&key=k")[1]["usage"]
    assert (rows[2]["period"], rows[2]["to"]) == ("2024-03", "2024-04-01T00:00:00-02:30")
    for by in ("1mo", "1d", "1h"):
        rows = server.get(f"/v1/usage?by={by}&key=k&limit=10000&from=2024-02-15&to=2024-12-01")[1]["usage"]
        assert [row["to"] for row in rows[:-1]] == [row["from"] for row in rows[1:]] and len(rows) >= 10


def test_a_store_that_is_damaged_or_in_use(serve, tmp_path):
    """The words and the exit code are those of the other commands."""
    folder = tmp_path / "db"
    server = serve()
    server.post("/v1/events", {"id": "1", "key": "k"})
    busy = run("serve", "--db", folder, "--listen", "127.0.0.1:0")
    assert busy == run("count", "--db", folder) and busy[0] == 4 and "; wait until it is done, or stop it" in busy[1]
    server.stop()
    for file in (folder / "data").glob("MANIFEST*"):
        file.write_bytes(b"")
    damaged = run("serve", "--db", folder, "--listen", "127.0.0.1:0")
    assert damaged == run("count", "--db", folder) and damaged[0] == 3 and "restore a backup" in damaged[1], damaged


@pytest.mark.parametrize("option", ["--fields", "--cloud-fields"])
def test_fields_that_make_no_sense_make_no_store(option, tmp_path):
    """A store that they left behind would refuse what is asked for when they are right."""
    folder = tmp_path / "db"
    code, errors = run("serve", "--db", folder, "--listen", "127.0.0.1:0", option, "id=id,ky=key")
    assert code == 2 and option in errors and "'ky=key'" in errors and not folder.exists(), errors
    count(folder, "--scale", "2", lines=b"1\tk\t1.50\n")
    code, errors = run("serve", "--db", folder, "--listen", "127.0.0.1:0", "--fields", "id=id,key=key,delta=:1.234")
    assert code == 2 and "--fields: " in errors and "1.234" in errors, errors


def test_what_is_refused_makes_no_store(tmp_path):
    """It would keep what it was made with, and somebody may mean another folder."""
    folder, wrong = tmp_path / "db", tmp_path / "wrong.pem"
    wrong.write_text("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n")
    (tmp_path / "link").symlink_to(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        cases = [([], taken.getsockname()[1], 4, "Address already in use"),
                 (["--tls-cert", wrong, "--tls-key", wrong], 0, 4, "check the certificate"),
                 (["--tls-cert", tmp_path / "none", "--tls-key", wrong], 0, 4, "No such file"),
                 (["--backups", folder / "a" / "b"], 0, 2, "is in the store itself")]
        for words, port, expected, message in cases:
            code, errors = run("serve", "--db", folder, "--listen", f"127.0.0.1:{port}", *words)
            assert code == expected and message in errors and not folder.exists(), errors
    for place in (folder, f"{folder}/", tmp_path / "link/db/copies"):
        code, errors = run("serve", "--db", f"{folder}/", "--listen", "127.0.0.1:0", "--backups", place)
        assert code == 2 and "is in the store itself" in errors and not folder.exists(), errors
    for other in ("--exact", "--check-payload"):
        code, errors = run("serve", "--db", folder, "--listen", "127.0.0.1:0", "--forever", other)
        assert code == 2 and "--forever cannot be used with --exact or --check-payload" in errors and not folder.exists(), errors


def test_a_time_is_not_used_and_ignored(tmp_path):
    folder = tmp_path / "db"
    code, errors = run("serve", "--db", folder, "--listen", "127.0.0.1:0", "--event-time", "--ignore-time")
    assert code == 2 and "cannot be used together" in errors and not folder.exists(), errors
    count(folder, "--per", "1h", "--fields", "id=1,key=2,time=3", lines=b"1\tk\t2018-11-04T10:00:00Z\n")
    code, errors = run("serve", "--db", folder, "--listen", "127.0.0.1:0", "--ignore-time")
    assert code == 2 and "goes by the time of events" in errors, errors


def test_caps_are_called_by_their_options(serve):
    server = serve("--max-holds", "1", "--max-counters", "2")
    place = {"key": "k", "amount": 1, "limit": 9, "lease_ms": 3600000}
    assert server.post("/v1/holds/a/place", place)[0] == 201
    status, answer = server.post("/v1/holds/b/place", place)
    assert status == 403 and "--max-holds 1 " in answer["detail"] and "settle or release" in answer["detail"]


@pytest.mark.parametrize("text", ["YR==", "YR", "YWK=", "YWJjZB=="])
def test_base64_has_one_spelling(serve, text):
    server = serve()
    assert server.post("/v1/events", {"id_base64": text, "key": "k"})[0] == 400
    assert server.post("/v1/take", {"id_base64": text, "key": "k", "limit": 1})[0] == 400
    assert server.get(f"/v1/counters?prefix_base64={text.replace('=', '%3D')}")[0] == 400
    assert server.value("k") is None
