"""What can go wrong, one class for each reason; and which errors pass by themselves."""

import ssl

from redis.exceptions import (AuthenticationError, AuthorizationError, BusyLoadingError,
                              ConnectionError, NoPermissionError, ReadOnlyError, ResponseError,
                              TimeoutError)

__all__ = ["ClaimError", "Full", "Incomplete", "Limited", "Lost", "Mismatch", "MissingPartitions",
           "NoHold", "NoTable", "NotATable", "OutOfMemory", "Overflow", "Partial", "ReplyGone",
           "Running", "ServerError", "Unacknowledged", "Untrusted"]


class Unacknowledged(Exception):
    """No answer in time, too few replicas, or another error after that, which is the __cause__: the
    operation may or may not have been applied. Sent again with this id, within the table's window,
    it is still applied once. The id is None of what has none: what only reads, and a deletion,
    which may remove more if it is sent again."""

    def __init__(self, identity, reason):
        which = "" if identity is None else f"; id {identity}"
        super().__init__(f"not acknowledged ({reason}){which}")
        self.id, self.reason = identity, reason


class Untrusted(ConnectionError):
    """A certificate was not accepted, by this side or by the server. It is not retried."""


class Incomplete(Exception):
    """Some operations of a batch failed, or some ids could not be remembered. results has, in
    order, what became of each: its result, or the exception that it would have raised alone."""

    def __init__(self, results):
        failed = [one for one in results if isinstance(one, Exception)]
        super().__init__(f"{len(failed)} of {len(results)} operations failed; the first: "
                         f"{failed[0]}")
        self.results = results


class ServerError(ResponseError):
    """What a server answered; nothing was changed."""


class NoTable(ServerError):
    """There is no such table (NOTABLE)."""


class MissingPartitions(NoTable):
    """Partitions of a table are gone, with what was counted in them: what was read rests on them,
    and would be too little. partitions has their names."""

    def __init__(self, table, partitions, count):
        names = ", ".join(partitions[:3]) + (" and more" if len(partitions) > 3 else "")
        super().__init__(f"of the {count} partitions of {table}, {len(partitions)} "
                         f"{'is' if len(partitions) == 1 else 'are'} missing: {names}; what was "
                         "counted there is lost. Restore them from a backup; or go on without: "
                         "the next operation makes its partition again, empty, and so does "
                         "'lethe count'")
        self.partitions = partitions


class NotATable(ServerError, ValueError):
    """The key holds something else (WRONGTYPE), such as the description of a table in
    partitions."""


class Full(ServerError):
    """The table has reached its own cap on memory (FULL)."""


class OutOfMemory(ServerError):
    """The server, or the largest value that it allows, has no room (OOM)."""


class Partial(ServerError):
    """The table is being loaded in pieces (PARTIAL)."""


class Overflow(ServerError):
    """A sum would not fit into 64 bits."""


class NoHold(ServerError):
    """Nobody knows a hold of this id (NOHOLD)."""


class ClaimError(Exception):
    """Something about a claim; id is its id."""

    def __init__(self, identity, text):
        super().__init__(f"{identity}: {text}")
        self.id = identity


class Running(ClaimError):
    """Somebody else has the claim, for left_ms milliseconds at least unless it is done before."""

    def __init__(self, identity, left_ms):
        super().__init__(identity, f"somebody else is doing it, for {left_ms} ms at least")
        self.left_ms = left_ms


class Mismatch(ClaimError, ServerError):
    """The id stands for something else: other work, another command, or a hold that was settled
    with another amount."""


class ReplyGone(ClaimError):
    """The work is done, and its answer is not kept any more, or never was."""


class Lost(ClaimError):
    """The work was done here, but the claim had been given to another, or was forgotten: what is
    recorded is the other's. result is what was done here."""

    def __init__(self, identity, result=None):
        super().__init__(identity, "the lease was over, and the claim has gone to another")
        self.result = result


class Limited(Exception):
    """A hold, or what was to be settled beyond its amount, did not fit under the limit."""

    def __init__(self, identity, value, left, resets_ms):
        super().__init__(f"{identity}: limited; the value is {value}, and {left} are left")
        self.id, self.value, self.left, self.resets_ms = identity, value, left, resets_ms


# How answers begin that mean "not here" or "not now". The last two come when a master becomes a
# replica between an operation and the end of its WAIT.
_PASSING = ("MOVED ", "ASK ", "CLUSTERDOWN ", "TRYAGAIN ", "MASTERDOWN ", "NOREPLICAS ", "LOADING ",
            "READONLY ", "FAILOVER ", "BUSY ", "UNBLOCKED ", "WAIT cannot be used ")
# Newer versions of redis-py make classes of some of these words and cut them off; older ones lack
# some of the classes.
_WORDS = {"MovedError": "MOVED", "AskError": "ASK", "ClusterDownError": "CLUSTERDOWN",
          "TryAgainError": "TRYAGAIN", "MasterDownError": "MASTERDOWN", "OutOfMemoryError": "OOM"}
_REASONS = {"NOTABLE": NoTable, "WRONGTYPE": NotATable, "FULL": Full, "OOM": OutOfMemory,
            "PARTIAL": Partial, "NOHOLD": NoHold, "increment": Overflow,
            "WRONGPASS": AuthenticationError, "NOAUTH": AuthenticationError,
            "NOPERM": NoPermissionError}


def _text(error):
    """What the server said, without ERR."""
    word, text = _WORDS.get(type(error).__name__), str(error)
    if word is not None and not text.startswith(word):
        return f"{word} {text}"
    return text.removeprefix("ERR ")


def _is_denied(error):
    """A missing or wrong password: trying again could lock the user out. redis-py takes these for
    lost connections."""
    return (isinstance(error, (AuthenticationError, AuthorizationError)) or
            _text(error).startswith(("NOAUTH ", "WRONGPASS ", "NOPERM ")))


def _is_untrusted(error):
    """A certificate that is wrong, of the server or of this side, stays so."""
    while error is not None:
        if isinstance(error, (Untrusted, ssl.SSLCertVerificationError)):
            return True
        # What the other side says, for which there is no class; redis-py keeps only the text.
        if "[SSL:" in str(error) and "_ALERT_" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_passing(error):
    if _is_denied(error) or _is_untrusted(error):
        return False
    if isinstance(error, (ConnectionError, TimeoutError, BusyLoadingError, ReadOnlyError)):
        return True
    return isinstance(error, ResponseError) and (_text(error) + " ").startswith(_PASSING)


def _named(error, identity):
    """The error of its reason, of what a server or a connection said. What redis-py has a class for
    keeps that one, such as NoPermissionError; older versions know some words not yet."""
    if _is_untrusted(error) and not isinstance(error, Untrusted):
        named = Untrusted(str(error))
    elif type(error) is not ResponseError and type(error).__name__ not in _WORDS:
        return error
    elif _text(error).startswith("MISMATCH"):
        named = Mismatch(identity, _text(error))
    else:
        text = _text(error)
        word = "NOTABLE" if text == "no such table" else text.split(" ", 1)[0]
        named = _REASONS.get(word, ServerError)(text)
    named.__cause__ = error
    return named
