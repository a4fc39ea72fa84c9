"""How one implementation serves programs with and without asyncio.

What the client does is written as generators that yield what they need done: an Exchange with
servers, a Pause, or Items for whoever reads a list. They touch no socket and never sleep. A driver
does that, and sends them what came of it: links.py has the one that blocks, asyncio.py the other.
`operation` and `listing` make methods of such generators, which call the driver of their object.
"""

import functools

__all__ = ["Exchange", "Items", "Pause", "Reply", "blocking", "listing", "operation"]


class Exchange:
    """Commands for servers, all at once: a list of (address, end, commands), at most one of each
    address. The driver returns a Reply for each, and raises nothing."""

    def __init__(self, parts):
        self.parts = parts


class Reply:
    """The answers that came, errors of the server among them; why there are no more, or None;
    whether anything was sent: if not, nothing was carried out; and whether the connection is
    new."""

    def __init__(self):
        self.answers, self.failure, self.was_sent, self.is_new = [], None, False, False


class Pause:
    """Nothing, for so many seconds."""

    def __init__(self, seconds):
        self.seconds = seconds


class Items:
    """Some of what a listing lists."""

    def __init__(self, items):
        self.items = items


def operation(function):
    """A method of a generator. Within another generator: `yield from self.name.steps(self,
    ...)`."""
    @functools.wraps(function)
    def run(self, *words, **named):
        return self._drive(function(self, *words, **named))
    run.steps = function
    return run


def listing(function):
    """A method that iterates over what a generator yields as Items."""
    @functools.wraps(function)
    def run(self, *words, **named):
        return self._iterate(function(self, *words, **named))
    run.steps = function
    return run


def blocking(perform, steps):
    """Runs a generator to its end: yields Items, and returns what it returns. perform does
    whatever else it asks for."""
    try:
        wanted = next(steps)
        while True:
            try:
                if isinstance(wanted, Items):
                    yield wanted.items
                    found = None
                else:
                    found = perform(wanted)
            except BaseException as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(found)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()
