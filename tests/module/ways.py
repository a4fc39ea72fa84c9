"""Ways on which a table is made again from what was saved of it."""

from servers import wait_for

# On the same server, while it runs; and by starting it again.
AGAIN = ["restore", "copy", "pieces", "reload"]
RESTARTED = ["log", "rewritten log", "snapshot"]


def _restore(server):
    payload = server.client.dump("t")
    server.client.delete("t")
    server.client.restore("t", 0, payload)


def _copy(server):
    server.client.copy("t", "u")
    server.client.rename("u", "t")


def _pieces(server):
    number, last, data = server.call("ONCE.DUMP", "t", 0)
    server.client.delete("t")
    server.call("ONCE.LOAD", "t", number, last, data)


def _rewrite(server):
    server.call("BGREWRITEAOF")
    def is_done():
        state = server.client.info("persistence")
        return not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]
    wait_for(is_done, what="the rewritten log")


def make_again(server, way):
    """Makes the table t of a server again. For logs the server must have one."""
    {"restore": _restore, "copy": _copy, "pieces": _pieces, "reload": lambda one: one.call("DEBUG", "RELOAD"),
     "log": lambda one: None, "rewritten log": _rewrite, "snapshot": lambda one: one.client.save()}[way](server)
    if way in RESTARTED:
        server.restart()
