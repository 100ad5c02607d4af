"""What Sonde found in a session, beside what was planted in it."""

import json
import statistics
import subprocess
from collections import Counter
from dataclasses import dataclass, field

from causes import CAUSES

GOAL = 0.9
MOST = 0.9  # of a request's time
TWICE = 2
BUSY = 0.1  # of the processors, that other programs use
APART = 0.02  # of the client's time, which parts may differ

REASONS = """
SELECT x_request_id AS client, why, why_next, is_slow, client_ns, t.reason FROM request_time t
JOIN request USING (request_id)
"""
FINDINGS = "SELECT subject, message FROM finding WHERE rule = 'slow_request'"


@dataclass
class Counts:
    causes: Counter = field(default_factory=Counter)  # planted
    found: Counter = field(default_factory=Counter)  # in a finding
    hit: Counter = field(default_factory=Counter)  # requests that a cause hit
    right: Counter = field(default_factory=Counter)  # of them with the cause as a reason
    alarms: list = field(default_factory=list)  # findings of what was not planted
    unplanted: int = 0
    others: list = field(default_factory=list)  # share of the processors that other programs used
    requests: int = 0
    apart: list = field(default_factory=list)  # those whose parts do not add up

    def report(self):
        """Prints the table; the exit status."""
        print(f"{'cause':18}planted  found  requests hit  with the reason")
        for name in self.causes:
            print(f"{name:18}{self.causes[name]:7}{self.found[name]:7}{self.hit[name]:14}"
                  f"{self.right[name]:17}")  # fmt: skip
        planted, found = sum(self.causes.values()), sum(self.found.values())
        hit, right = sum(self.hit.values()), sum(self.right.values())
        if planted:
            print(f"{'all':18}{planted:7}{found:7}{hit:14}{right:17}")
        print(f"sessions without a cause: {self.unplanted}")
        median = statistics.median(self.others)
        print(f"processors used by other programs: {min(self.others):.0%} to "
              f"{max(self.others):.0%}, median {median:.0%}")  # fmt: skip
        print(f"findings of what was not planted: {len(self.alarms)}")
        for line in self.alarms:
            print(f"  {line}")
        print(f"requests whose parts differ by more than {APART:.0%} from their client's time: "
              f"{len(self.apart)} of {self.requests}")  # fmt: skip
        for line in sorted(self.apart, key=lambda one: -one[0])[:10]:
            print(f"  {line[0]:.1%}: {line[1]}")
        return int(found < GOAL * planted or right < GOAL * hit or bool(self.alarms))


def query(sonde, folder, sql):
    words = [sonde, "query", folder, sql, "--format", "json"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def look_at(sonde, session, counts):
    """Analyses a session and adds it to the counts."""
    subprocess.run([sonde, "analyse", session.folder], capture_output=True, text=True, check=True)
    findings = {row["subject"]: row["message"] for row in query(sonde, session.folder, FINDINGS)}
    reasons = {row["client"]: row for row in query(sonde, session.folder, REASONS)}
    allowed = set()
    for name, planted in zip(session.causes, session.planted):
        cause = CAUSES[name]
        allowed |= {cause.part, *cause.beside}
        counts.causes[name] += 1
        message = findings.get(cause.part, "")
        counts.found[name] += bool(message) and (cause.rank < 0 or f"rank {cause.rank}" in message)
        for request in hit_by(planted, session.requests):
            row = reasons.get(request.name)
            is_right = row and row["is_slow"] and cause.part in (row["why"], row["why_next"])
            counts.hit[name] += 1
            counts.right[name] += bool(is_right)
            if not is_right:
                print(f"{session.title}: {request.name} ({request.seconds:.2f} s), hit by "
                      f"{name}: {row and row['reason']}")  # fmt: skip
    if session.others >= BUSY:
        allowed.add("processor")  # it is true then
    counts.others.append(session.others)
    counts.unplanted += not session.causes
    counts.alarms += [
        f"{session.title}: {message}" for part, message in findings.items() if part not in allowed
    ]
    add_up(session, reasons, counts)


def hit_by(planted, requests):
    half = (planted.end - planted.begin) / 2
    others = [one for one in requests if one not in planted.own]
    usual = statistics.median(one.seconds for one in requests)
    return planted.hit or [
        one
        for one in others
        if one.overlap(planted.begin, planted.end) >= min(half, MOST * one.seconds)
        and one.seconds >= TWICE * usual
    ]


def add_up(session, reasons, counts):
    for request in session.requests:
        row = reasons.get(request.name)
        if row is None:
            continue
        counts.requests += 1
        seconds = request.seconds
        apart = abs(row["client_ns"] / 1e9 - seconds) / seconds
        if apart > APART:
            counts.apart.append((apart, f"{session.title}: {request.name}, client {seconds:.3f} s, "
                                        f"parts {row['client_ns'] / 1e9:.3f} s"))  # fmt: skip
