"""The steps of a store that follows a log: a writer appends in pieces, rotates in every way and goes on, and the
follower is killed now and then. In the end the store has what the model has of all lines, in their order."""

import signal
import subprocess
import time

from inputs import Input
from model import Event, Expectation, Wrong
from world import BINARIES, LIMIT_SECONDS


class Log:
    """A log under one name: its file now, the files that it was before, and a program that writes to it."""

    def __init__(self, source):
        self.path, self.file = source.path, source
        self.style, self.line_end = source.style, source.line_end
        self.rotated = []  # paths of earlier files
        self.must_name = False  # the last of them has lines that nobody has read
        self.finished = []  # what they had

    def append(self, draw, events, path=None):
        start = len(self.file.content)
        for event in events:
            self.file.add(event)
        data = self.file.content[start:]
        with open(path or self.path, "ab", buffering=0) as file:
            while data:
                size = draw.randint(1, 300)
                file.write(data[:size])
                data = data[size:]

    def begin_file(self):
        self.finished.append(self.file.content)
        self.file = Input(self.path, self.style, False, self.line_end)

    def cut(self, copy):
        """As copytruncate does."""
        copy.write_bytes(self.path.read_bytes())
        self.rotated.append(copy)
        self.finished.append(self.file.content)
        self.file.content, self.file.lines = b"", []
        with open(self.path, "r+b") as file:
            file.truncate(0)


class FollowSteps:
    """What a Simulation can do besides."""

    def start_following(self, draw, log):
        names = [*log.rotated[-1:], log.path] if draw.random() < 0.5 or log.must_name else [log.path]
        return self.world.start("count", "--db", "store", "--json", "--follow", *self.mode_words(draw),
                                *self.other_words(draw), *log.style.words(), *names)

    def wait_for(self, process, event):
        """Until the store has the event, and so all before it."""
        end = time.monotonic() + LIMIT_SECONDS
        words = [BINARIES / "lethe", "get", "--db", "store", "-q", event.witness]
        while subprocess.run(words, cwd=self.world.folder, env=self.world.environment(), check=False,
                             capture_output=True).returncode != 0:
            if process.poll() is not None or time.monotonic() > end:
                raise Wrong(f"{event.witness} is not counted: "
                            f"{process.stderr.read().decode() if process.poll() is not None else 'nothing happens'}")
            time.sleep(0.02)
        self.exists = True

    def sentinel(self, style):
        """An event that is applied for certain."""
        self.next_id += 1
        return Event(f"f{self.next_id:06d}", self.time_ms if self.modes.event_time else None,
                     is_double=style.doubles == "all")

    def write_and_wait(self, draw, log, process, events, path=None):
        more = [*self.draw_events(draw, log.style, 30), self.sentinel(log.style)]
        if not log.file.lines:
            more.insert(0, self.sentinel(log.style))  # no other file begins like it
        log.append(draw, more, path)
        self.wait_for(process, more[-1])
        events += more

    def rotate(self, draw, log, process, events):
        """The log gets a new file. Its program goes on with the old one for a while."""
        self.next_file += 1
        old = self.files / f"rotated-{self.next_file}"
        kind = draw.random()
        self.trace(f"rotates, {kind:.2f}")
        if kind < 0.3 and not log.style.has_header():
            log.cut(old)
            return
        log.path.rename(old)
        if kind > 0.7:
            self.write_and_wait(draw, log, process, events, old)
        log.rotated.append(old)
        log.begin_file()

    def rotate_unseen(self, draw, log, events):
        """The same while nobody follows, with lines that nobody has read."""
        self.next_file += 1
        old = self.files / f"rotated-{self.next_file}"
        more = self.draw_events(draw, log.style, 30)
        log.append(draw, more)
        log.path.rename(old)
        log.rotated.append(old)
        log.begin_file()
        log.must_name = True
        events += more

    def step_follow(self, draw):
        source = self.new_input(draw)
        self.inputs.remove(source)
        log = Log(source)
        events = source.events_from(self.model.resume_at(source.key(), source.content))
        kills = 0
        self.model.clock.begin(self.world)
        words, process = self.start_following(draw, log)
        for _ in range(draw.randint(1, 5)):
            self.write_and_wait(draw, log, process, events)
            kind = draw.random()
            if kind < 0.4:
                self.rotate(draw, log, process, events)
            elif kind < 0.7:
                kills += 1
                more = self.draw_events(draw, log.style, 30)
                log.append(draw, more)
                events += more
                time.sleep(draw.choice([0, 0, 0.01, 0.05]))
                process.kill()
                self.world.finish(words, process)
                if draw.random() < 0.5:
                    self.rotate_unseen(draw, log, events)
                words, process = self.start_following(draw, log)
                log.must_name = False
        self.write_and_wait(draw, log, process, events)
        process.send_signal(draw.choice([signal.SIGTERM, signal.SIGINT]))
        result = self.world.finish(words, process)
        expectation = Expectation(self.model, events, *self.model.clock.end(self.world))
        self.check_run(result, expectation, is_rerun=kills > 0)
        for content in [*log.finished, log.file.content]:
            self.model.note_read(source.key(), content, expectation.outcomes)
        # Each file is known, under whatever name: nothing is left to count.
        self.count(draw, [*log.style.words(), *log.rotated[-1:], log.path], [])
