"""The steps of the simulation of a store that are about the server: the same store, served over HTTP for a while.

Events go to POST /v1/events in a few requests, one after the other, as arrays and as lines. What was not answered with 200 is
sent again while the server lives. A kill or a power cut at any write leaves a first part of the events, and at least what
was answered. Takes, claims and holds go through the same door (door.py): the steps about them sometimes open it."""

import http.client
import json
import random
import re
import signal
import time

from door import Door
from model import Expectation, Wrong
from styles import Style

RECOVERY_S = 60  # a server that has met a failing disk opens the store again within that, also on a busy machine


class ServeSteps:
    door = None  # open: takes, claims and holds go through it

    def open_door(self, draw, may_kill=True):
        """Serves the store, in some of the steps. Some servers are killed at one of their writes."""
        if draw.random() < 0.5 or (self.modes.event_time and not self.model.known):
            return  # the first event that is applied decides on the kind of time
        faults = {"LETHE_FAULT_AT": str(draw.randint(1, 150)), "LETHE_FAULT_ACTION": "kill"} if draw.random() < 0.3 else None
        self.door = Door(self.world, faults if may_kill else None)

    def close_door(self):
        """How the server ended is right."""
        door, self.door = self.door, None
        if door is None:
            return
        result = door.close()
        if result.code != 0 and (door.faults is None or result.code not in (-9, 4)):
            raise Wrong(str(result))

    def command(self, *words, faults=None):
        return (self.door or self.world).lethe(*words, faults=faults)

    def as_json(self, event):
        """An event as it is sent."""
        fields = {"series": event.identity[0], "number": event.identity[1:]} if self.has_joined_ids else {"id": event.identity}
        if event.is_double:
            fields["changes"] = [{"key": event.witness, "delta": self.modes.amount}, {"key": "sum", "delta": self.modes.amount}]
        else:
            fields |= {"key": event.witness, "delta": self.modes.amount}
        return fields | ({"time": event.time_ms} if self.modes.event_time else {})

    @staticmethod
    def post(port, events, draw):
        """The status and the answer; None if the server is not there any more."""
        as_lines = draw.random() < 0.5
        body = "".join(json.dumps(event) + "\n" for event in events) if as_lines else json.dumps(events)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("POST", "/v1/events", body,
                               {"Content-Type": "application/x-ndjson" if as_lines else "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def send(self, draw, port, events):
        """Sends all in a few requests. Returns the outcomes that were answered, and whether something was sent twice."""
        outcomes, twice = [], False
        while len(outcomes) < len(events):
            piece = events[len(outcomes):len(outcomes) + draw.randint(1, 20)]
            until = time.monotonic() + RECOVERY_S
            while True:
                answer = self.post(port, [self.as_json(event) for event in piece], draw)
                if answer is None:
                    return outcomes, twice
                if answer[0] == 200:
                    break
                if answer[0] not in (503, 507):
                    raise Wrong(f"the server answers {answer}")
                if time.monotonic() > until:
                    raise Wrong(f"the server does not recover: {answer}")
                twice = True
                time.sleep(0.01)
            outcomes += [one["outcome"] for one in answer[1]["events"]]
        return outcomes, twice

    def serve(self, draw, events, faults):
        """Serves the store until all events are answered, or it is killed. Returns its exit code and what was answered."""
        fields = ["--fields", "id=series,id=number,key=key,delta=delta"] if self.has_joined_ids else []
        words, process = self.world.start("serve", "--db", "store", "--listen", "127.0.0.1:0", *fields, faults=faults)
        line = b"lethe: "
        while line and b"serving" not in line:
            line = process.stderr.readline()
        outcomes, twice = [], False
        if line:
            port = int(re.search(rb":(\d+)$", line.strip()).group(1))
            # A generator of its own: how often it is asked depends on time.
            outcomes, twice = self.send(random.Random(draw.random()), port, events)
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        return self.world.finish(words, process), outcomes, twice

    def step_serve(self, draw):
        if not self.exists or (self.modes.event_time and not self.model.known):
            return  # the first event that is applied decides on the kind of time
        style = Style("jsonl", has_time=self.modes.event_time, is_joined=self.has_joined_ids, doubles="some")
        events = [event for event in self.draw_events(draw, style) if not event.is_broken]
        faults = self.draw_faults(draw) if draw.random() < 0.4 else None
        if faults is not None and "LETHE_FAULT_TIMES" in faults:
            faults["LETHE_FAULT_TIMES"] = "1"
        cuts = faults is not None and faults.pop("cut", None) is not None
        if cuts:
            faults.update(self.world.shadow_begin())
        self.model.clock.begin(self.world)
        result, outcomes, twice = self.serve(draw, events, faults)
        expectation = Expectation(self.model, events, *self.model.clock.end(self.world, faults is None))
        if cuts:
            self.world.cut_power(draw)
        if len(outcomes) == len(events):
            if result.code != 0 and faults is None:
                raise Wrong(str(result))
            if not twice and not expectation.open and outcomes != expectation.outcomes:
                raise Wrong(f"answered {outcomes}, should be {expectation.outcomes}")
            expectation.settle(self.totals())
            self.check_meters()
            return
        if faults is None or result.code not in (-9, 4, 0):
            raise Wrong(f"{result}\nanswered {len(outcomes)} of {len(events)} events")
        self.recover(expectation, acknowledged=False)
        if len(events) - len(self.rest) < len(outcomes):
            raise Wrong(f"{len(outcomes)} events were answered, and {len(events) - len(self.rest)} are there")
