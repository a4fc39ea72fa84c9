"""Goal: docs/http.md and docs/start/http.md show what the server does; the first names every address that there is.

Method: run their sessions, in order, against a real server, with the port that it got. Compare the addresses of
/openapi.json with those that the sessions ask for."""

import json
import re

import pytest
import transcript
from conftest import BINARIES, SOURCE, ask

TEXT = (SOURCE / "docs/http.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["docs/http.md", "docs/start/http.md"])
def test_the_sessions_of_the_document(serve, tmp_path, name):
    server = serve("--per", "1h,1d", "--backups", str(tmp_path / "copies"))
    text = (SOURCE / name).read_text(encoding="utf-8").replace("127.0.0.1:8420", f"127.0.0.1:{server.port}")
    problems = transcript.run(text, name, tmp_path, BINARIES)
    assert problems == "", problems


def test_every_address_is_in_the_document(serve):
    server = serve()
    paths = json.loads(ask(server.port, "GET", "/openapi.json")[2])["paths"]
    asked = set(re.findall(r"http://127\.0\.0\.1:8420(/[^\s'?]*)", TEXT))
    for path in paths:
        pattern = re.escape(path).replace(re.escape("{name}"), "[^/]+")
        assert any(re.fullmatch(pattern, one) for one in asked), path
