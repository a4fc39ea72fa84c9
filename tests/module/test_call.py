"""Goal:   what ONCE.CALL knows about a command is never older than the command: modules come and go, rights change, commands
        are renamed.

Method: each kind of change after the command was called, so that it is known, and compared with a table that calls it for
the first time."""

import os
import pathlib
import subprocess

import pytest
import redis


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    library = tmp_path_factory.mktemp("peer") / "peer.so"
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", library,
                    pathlib.Path(__file__).with_name("peer.c")], check=True)
    return str(library)


def error_of(server, *words):
    with pytest.raises(redis.ResponseError) as caught:
        server.call(*words)
    return str(caught.value)


def test_modules_that_come_and_go(start, peer):
    server = start(enable_module_command="yes")
    unknown = error_of(server, "ONCE.CALL", "t", "a", "PEER.PUT", "k")
    for round_ in range(2):
        server.call("MODULE", "LOAD", peer, "write")
        for i in range(3):
            assert server.call("ONCE.CALL", "t", f"{round_}-{i}", "PEER.PUT", "k") == [1, i + 1]
        assert server.call("ONCE.CALL", "t", f"{round_}-1", "PEER.PUT", "k") == [0, None]
        server.call("MODULE", "UNLOAD", "peer")
        assert error_of(server, "ONCE.CALL", "t", "b", "PEER.PUT", "k") == unknown
        server.call("MODULE", "LOAD", peer, "readonly")
        assert "plain write" in error_of(server, "ONCE.CALL", "t", "b", "PEER.PUT", "k")
        server.call("MODULE", "UNLOAD", "peer")
    # What was refused is not remembered.
    server.call("MODULE", "LOAD", peer, "write")
    assert server.call("ONCE.CALL", "t", "b", "PEER.PUT", "k") == [1, 1]


def test_rights_that_change(server):
    server.call("ACL", "SETUSER", "u", "on", "nopass", "allkeys", "+@all")
    client = redis.Redis(port=server.port, username="u", password="x")
    assert client.execute_command("ONCE.CALL", "t", "a", "LPUSH", "l", 1) == [1, 1]
    server.call("ACL", "SETUSER", "u", "-lpush")
    with pytest.raises(redis.ResponseError):
        client.execute_command("ONCE.CALL", "t", "b", "LPUSH", "l", 1)
    server.call("ACL", "SETUSER", "u", "+lpush")
    assert client.execute_command("ONCE.CALL", "t", "b", "LPUSH", "l", 1) == [1, 2]
    server.call("ACL", "SETUSER", "u", "resetkeys", "~t")
    with pytest.raises(redis.ResponseError):
        client.execute_command("ONCE.CALL", "t", "c", "LPUSH", "l", 1)
    client.close()
    server.call("ACL", "DELUSER", "u")


def test_names_in_any_case_and_commands_that_share_a_place(server):
    """More commands than are remembered, each twice, between others that are refused."""
    for i, name in enumerate(["LPUSH", "lpush", "LPush", "RPUSH", "SADD", "PFADD", "APPEND", "INCRBY", "DECRBY", "SETRANGE"] * 2):
        words = ["key-" + name.upper(), *(["1", "x"] if name == "SETRANGE" else ["1"])]
        assert server.call("ONCE.CALL", "t", f"id-{i}", name, *words)[0] == 1
        for refused in (["GET", "k"], ["BLPOP", "k", "0"], ["EVAL", "return 1", "1", "k"], ["NOSUCH", "k"],
                        ["ONCE.CALL", "u", "a", "LPUSH", "l", "1"], ["XGROUP", "HELP"]):
            error_of(server, "ONCE.CALL", "t", f"refused-{i}", *refused)
    assert server.call("ONCE.CALL", "t", "g", "XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")[0] == 1
    assert server.call("LLEN", "key-LPUSH") == 6


def test_renamed_commands(start):
    server = start(rename_command="LPUSH push-it")
    for name in ("a", "b"):
        assert server.call("ONCE.CALL", "t", name, "PUSH-IT", "l", 1)[0] == 1
        error_of(server, "ONCE.CALL", "t", "c", "LPUSH", "l", 1)
