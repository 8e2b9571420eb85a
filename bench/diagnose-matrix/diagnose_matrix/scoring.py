"""The score of a results directory: what was named first beside what was there. Reads files only."""

import json
import math
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path as File

from .case import FAULT, HEALTHY, PAIR

CONFIDENT = ("supported", "confirmed")
NEIGHBOUR = "noisy-neighbour"
# Share of the processors that others use from which the rule speaks of neighbours.
OTHERS_MIN = 0.3
PROCESSORS = os.cpu_count() or 1
NOT_ENOUGH, NOTHING, NO_DOCUMENT = "not enough evidence", "healthy", "no document"


@dataclass(frozen=True)
class Run:
    truth: dict
    diagnosis: dict | None

    @property
    def disturbed(self):
        """True when programs that are no part of the run used so much of the machine that `noisy-neighbour` is true of it."""
        others = self.truth.get("figures", {}).get("processors_of_others", 0.0)
        return NEIGHBOUR not in self.truth["expected"] and others >= OTHERS_MIN * PROCESSORS

    @property
    def confident(self):
        """Ids that were named with confidence, first first; without the neighbours of a run that has them by accident."""
        findings = self.diagnosis["findings"] if self.diagnosis else []
        named = [finding["id"] for finding in findings if finding.get("confidence") in CONFIDENT]
        return [id for id in named if not (id == NEIGHBOUR and self.disturbed)]

    @property
    def suspected(self):
        findings = self.diagnosis["findings"] if self.diagnosis else []
        return [finding["id"] for finding in findings if finding.get("confidence") not in CONFIDENT]

    @property
    def named(self):
        if self.diagnosis is None:
            return NO_DOCUMENT
        if self.confident:
            return self.confident[0]
        return NOTHING if self.diagnosis["verdict"] == "healthy" else NOT_ENOUGH

    def fits(self, expected, name):
        return name == expected or (name in self.truth["accepted"])

    @property
    def right(self):
        return self.fits(self.truth["expected"][0], self.named)

    @property
    def both(self):
        """Of a pair: whether both were named with confidence, and in their order."""
        first, second = self.truth["expected"]
        places = [next((at for at, name in enumerate(self.confident) if name == id or (id == first and name in self.truth["accepted"])), None) for id in (first, second)]
        named = None not in places
        return named, named and places[0] < places[1]


def load(results, judged=None):
    """Every complete run. `judged` is the name of a judgement of the kept documents by other rules."""
    runs = []
    for file in sorted(File(results).glob("runs/*/truth.json")):
        name = f"judged-{judged}.json" if judged else "plumb.json"
        try:
            diagnosis = json.loads((file.parent / name).read_text())
            diagnosis = diagnosis if judged else diagnosis["diagnosis"]
        except (OSError, json.JSONDecodeError, KeyError, TypeError):
            diagnosis = None
        runs.append(Run(json.loads(file.read_text()), diagnosis))
    return runs


def wilson(hits, number, z=1.959964):
    """Wilson's interval of a proportion (JASA 1927): low, high."""
    if number == 0:
        return 0.0, 1.0
    share = hits / number
    centre = (share + z * z / (2 * number)) / (1 + z * z / number)
    half = z / (1 + z * z / number) * math.sqrt(share * (1 - share) / number + z * z / (4 * number * number))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True)
class Score:
    """Counts of some runs."""

    faults: int
    right: int
    suspected_right: int
    not_enough: int
    wrong: int
    not_first: int
    healthy: int
    healthy_named: int
    pairs: int
    pairs_both: int
    pairs_order: int
    not_injected: int
    disturbed: int


def score(runs):
    injected = [run for run in runs if run.truth["injected"] and not run.truth["broken"]]
    faults = [run for run in injected if run.truth["kind"] == FAULT]
    healthy = [run for run in injected if run.truth["kind"] == HEALTHY]
    pairs = [run for run in injected if run.truth["kind"] == PAIR]
    unnamed = [run for run in faults if run.named in (NOT_ENOUGH, NOTHING, NO_DOCUMENT)]
    return Score(
        faults=len(faults),
        right=sum(run.right for run in faults),
        suspected_right=sum(bool(run.suspected) and run.fits(run.truth["expected"][0], run.suspected[0]) for run in unnamed),
        not_enough=len(unnamed),
        wrong=sum(not run.right for run in faults) - len(unnamed),
        not_first=sum(run.named in run.truth["not_first"] for run in faults),
        healthy=len(healthy),
        healthy_named=sum(bool(run.confident) for run in healthy),
        pairs=len(pairs),
        pairs_both=sum(run.both[0] for run in pairs),
        pairs_order=sum(run.both[1] for run in pairs),
        not_injected=len(runs) - len(injected),
        disturbed=sum(run.disturbed for run in injected),
    )


def halves(runs):
    """Runs by earlier programs, on which rules and thresholds may have been set, and those by the last one, which score it."""
    last = max(runs, key=lambda run: run.truth["number"], default=None)
    is_last = lambda run: run.truth.get("program_sha256") == last.truth.get("program_sha256")
    return [run for run in runs if not is_last(run)], [run for run in runs if is_last(run)]


def confusion(runs):
    """Expected -> named first -> runs; of injected faults and healthy paths."""
    matrix = defaultdict(Counter)
    for run in runs:
        if run.truth["injected"] and not run.truth["broken"] and run.truth["kind"] in (FAULT, HEALTHY):
            expected = run.truth["expected"][0] if run.truth["expected"] else NOTHING
            matrix[expected][run.named] += 1
    return matrix
