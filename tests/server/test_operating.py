"""Goal: what stands around the server fits it: the dashboard asks for figures that there are, the unit is one that systemd
reads, the service manager hears when the server is ready, logs are JSON, backups can be restored, and a reader serves what
another process writes.

Method: real servers; the figures of /metrics against the expressions of docs/serve/grafana.json."""

import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest
from conftest import SOURCE, Asked, ask
from test_faults import FAULTS, Faulty


def figures(server):
    return ask(server.port, "GET", "/metrics")[2].decode()


def test_the_dashboard_asks_for_figures_that_there_are(serve):
    server = serve("--forever")
    text = figures(server)
    board = json.loads((SOURCE / "docs/serve/grafana.json").read_text())
    asked = {name for panel in board["panels"] for target in panel["targets"]
             for name in re.findall(r"lethe_\w+", target["expr"])}
    assert len(asked) > 10
    for name in asked - {"lethe_redis_up", "lethe_tables", "lethe_table_partitions_missing"}:  # see test_tables.py
        assert re.search(rf"^{name}[ {{]", text, re.MULTILINE), name
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) lethe_\w+ .+|lethe_\w+(\{\w+="[^"]*"\})? [0-9.e+-]+', line), line
    for name in re.findall(r"^# TYPE (\S+) counter", text, re.MULTILINE):
        assert name.endswith("_total"), name


def test_figures_and_status_agree(serve):
    server = serve()
    server.post("/v1/events", [{"id": "a", "key": "secret-key"}, {"id": "a", "key": "secret-key"}])
    text, status = figures(server), server.get("/v1/status")[1]
    assert 'lethe_events_total{outcome="applied"} 1\n' in text and status["totals"]["applied"] == "1"
    assert 'lethe_events_total{outcome="duplicate"} 1\n' in text and status["totals"]["duplicate"] == "1"
    assert status["window"]["ids"] == "1" and "lethe_window_ids 1\n" in text
    assert "secret-key" not in text
    buckets = [int(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith("lethe_commit_seconds_bucket")]
    assert buckets == sorted(buckets) and f"lethe_commit_seconds_count {buckets[-1]}\n" in text and buckets[-1] >= 1


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_the_unit_is_one(tmp_path):
    unit = (SOURCE / "docs/serve/lethe.service").read_text().replace("/usr/bin/lethe", "/bin/true")
    (tmp_path / "lethe.service").write_text(unit)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / "lethe.service"], stderr=subprocess.PIPE, check=False)
    assert b"lethe.service" not in done.stderr, done.stderr


def test_the_unit_shows_the_boot_id():
    """A store that cannot read it takes each start of the service for one of the machine."""
    unit = (SOURCE / "docs/serve/lethe.service").read_text()
    lines = [line for line in unit.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if line.startswith("ProcSubset=") and line != "ProcSubset=all"]
    assert not [line for line in lines if line.startswith(("InaccessiblePaths=", "TemporaryFileSystem=")) and "/proc" in line]


HIDDEN = "boot_id cannot be read, so the wall clock decides how old ids are"


@pytest.mark.skipif(not FAULTS.exists(), reason="the clock that can be set is not built")
def test_a_boot_id_that_is_hidden_is_reported(tmp_path, ended, lethe):
    hidden = {"LD_PRELOAD": str(FAULTS), "LETHE_CLOCK_BOOT_ID": str(tmp_path / "hidden")}
    server = ended(Faulty(tmp_path, **hidden))
    server.stop()
    assert (tmp_path / "server.log").read_text().count(HIDDEN) == 1

    def count(folder, *words, **environment):
        done = subprocess.run([lethe, "count", "-q", "--db", folder, *words], input=b"1\tk\n", stderr=subprocess.PIPE,
                              env={**os.environ, **environment}, check=True)
        return done.stderr.decode().count(HIDDEN)

    assert count(tmp_path / "db", **hidden) == 1
    assert count(tmp_path / "db") == 0
    reading = subprocess.run([lethe, "get", "--db", tmp_path / "db", "k"], env={**os.environ, **hidden}, check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (reading.stdout, reading.stderr) == (b"k\t1\n", b"")


@pytest.mark.skipif(not FAULTS.exists(), reason="the clock that can be set is not built")
def test_what_the_unit_shows_is_enough(tmp_path, ended):
    """A server that is killed and started again, with the wall clock a day ahead, knows its ids, with /proc as the unit has it."""
    unit = (SOURCE / "docs/serve/lethe.service").read_text()
    option = "subset=pid" if re.search("^ProcSubset=pid", unit, re.MULTILINE) else "hidepid=invisible"
    inside = ["unshare", "-m", "sh", "-c", f'mount -t proc -o {option} proc /proc && exec "$@"', "sh"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    for ahead, outcome in ((0, "applied"), (24 * 3600 * 1000, "duplicate")):
        server = Asked(ended(Faulty(tmp_path, "--window", "10m", inside=inside, LD_PRELOAD=str(FAULTS),
                                    LETHE_CLOCK_WALL_MS=str(ahead))))
        assert server.post("/v1/events", {"id": "a", "key": "k"})[1]["events"][0]["outcome"] == outcome
        server.process.kill()
        server.process.wait()


def test_the_service_manager_is_told(tmp_path, ended):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        server = ended(Faulty(tmp_path, NOTIFY_SOCKET=str(tmp_path / "notify")))
        assert manager.recv(100) == b"READY=1"
        server.stop()
        assert manager.recv(100) == b"STOPPING=1"


def test_logs_are_json(serve, tmp_path):
    server = serve("--log", "json")
    server.stop()
    lines = [json.loads(line) for line in (tmp_path / "server.log").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["started", "ending"] and all(line["time_ms"] > 0 for line in lines)


def test_a_backup_while_it_serves(serve, lethe, tmp_path):
    server = serve("--backups", str(tmp_path / "copies"))
    server.post("/v1/events", {"id": "a", "key": "k", "delta": 7})
    assert server.post("/v1/backup", {})[1]["number"] == "1"
    server.post("/v1/events", {"id": "b", "key": "k", "delta": 7})
    subprocess.run([lethe, "restore", "-q", "--from", tmp_path / "copies", "--db", tmp_path / "restored"], check=True)
    done = subprocess.run([lethe, "get", "--db", tmp_path / "restored", "k"], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"k\t7\n"


def test_a_working_folder_that_is_gone(tmp_path, ended):
    """Where --backups would be cannot be found out then, and the server starts without knowing."""
    (tmp_path / "gone").mkdir()
    inside = ["sh", "-c", f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec "$@"', "sh"]
    server = Asked(ended(Faulty(tmp_path, "--backups", "copies", inside=inside)))
    assert server.post("/v1/events", {"id": "a", "key": "k"})[0] == 200
    assert server.post("/v1/backup", {})[0] >= 400
    server.stop()


def test_a_reader_beside_a_writer(serve, lethe, tmp_path):
    subprocess.run([lethe, "count", "-q", "--db", tmp_path / "db"], input=b"1\tk\n", check=True)
    server = serve("--read-only")
    assert server.value("k") == 1
    assert server.post("/v1/events", {"id": "b", "key": "k"})[0] == 403
    subprocess.run([lethe, "count", "-q", "--db", tmp_path / "db"], input=b"2\tk\n", check=True)
    end = time.monotonic() + 30
    while server.value("k") != 2:
        assert time.monotonic() < end
        time.sleep(0.1)


def test_one_process_one_store(serve, lethe, tmp_path):
    serve()
    done = subprocess.run([lethe, "serve", "--db", tmp_path / "db", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
                          timeout=60, check=False)
    assert done.returncode == 4 and b"is being written by process" in done.stderr, done.stderr
