"""The score as text and as a page of the docs. Pure."""

from collections import Counter

from .case import FAULT, HEALTHY, PAIR
from .scoring import OTHERS_MIN, confusion, halves, score, wilson


def share(hits, number):
    if not number:
        return "none"
    low, high = wilson(hits, number)
    return f"{hits} of {number} ({100 * hits / number:.0f} %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %)"


def lines_of(counts):
    return [
        f"named first and right: {share(counts.right, counts.faults)}",
        f"not enough evidence: {share(counts.not_enough, counts.faults)}; of these the right cause is suspected first in {counts.suspected_right}",
        f"another cause named first: {share(counts.wrong, counts.faults)}; of these {counts.not_first} are a symptom or a usual mistake",
        f"healthy paths with a confident finding: {share(counts.healthy_named, counts.healthy)}",
        f"pairs with both named: {share(counts.pairs_both, counts.pairs)}; in the order of their share: {counts.pairs_order}",
        f"runs whose fault did not bind, not scored: {counts.not_injected}",
        f"runs in which programs of others used {OTHERS_MIN:.0%} of the machine (noisy-neighbour is true of these and left out): {counts.disturbed}",
    ]


def text(runs):
    first, later = halves(runs)
    out = []
    for title, part in (("all runs", runs), ("runs by earlier programs (rules and thresholds may have been set on these)", first), ("runs by the last program (scored on these)", later)):
        out += [f"{title}: {len(part)}", *(f"  {line}" for line in lines_of(score(part))), ""]
    out.append("expected -> named first")
    matrix = confusion(runs)
    width = max((len(expected) for expected in matrix), default=0)
    for expected in sorted(matrix):
        out.append(f"  {expected:<{width}}  " + ", ".join(f"{name} {number}" for name, number in matrix[expected].most_common()))
    out += ["", "runs"]
    for run in runs:
        out.append("  " + line_of(run))
    return "\n".join(out)


def line_of(run):
    truth = run.truth
    mark = "not injected" if not truth["injected"] else "broken" if truth["broken"] else verdict_of(run)
    names = " ".join([*run.confident, *(f"({name}?)" for name in run.suspected)][:5])
    return f"{truth['number']:4d} {truth['case']:<34} {mark:<13} {names or run.named}"


def verdict_of(run):
    kind = run.truth["kind"]
    if kind == HEALTHY:
        return "right" if not run.confident else "false alarm"
    if kind == PAIR:
        both, order = run.both
        return "both" if order else "other order" if both else "not both"
    if run.right:
        return "right"
    return "no name" if not run.confident else "wrong"


INTRODUCTION = """# What `plumb diagnose` names when the truth is known

Made by `make diagnose-matrix` (bench/diagnose-matrix) and written by its `score --markdown`; not edited by hand.

Each run starts real brokers and real clients, does one real harm to them, has a measurement of its own that the harm binds, and lets
`plumb diagnose` watch. A fault counts as *right* when the first cause that is named with confidence is the one that was injected, or one that
the case accepts as equally right with a reason. Rules and thresholds were set on runs by earlier programs, whose documents are
judged by the last one here; the runs by the last one score them.
"""


def markdown(runs, remark=""):
    if not runs:
        return INTRODUCTION + "\nNo runs yet.\n"
    first, later = halves(runs)
    programs = sorted({run.truth["program"] or "?" for run in runs})
    out = [INTRODUCTION, f"{len(runs)} runs of {', '.join(programs)} on a machine of two processors.", "", *([remark, ""] if remark else [])]
    out += ["| | all | by earlier programs | by the last one |", "|---|---|---|---|"]
    columns = [score(part) for part in (runs, first, later)]
    rows = [
        ("faults: named first and right", lambda c: share(c.right, c.faults)),
        ("faults: not enough evidence", lambda c: share(c.not_enough, c.faults)),
        ("faults: another cause named first", lambda c: share(c.wrong, c.faults)),
        ("healthy paths with a confident finding", lambda c: share(c.healthy_named, c.healthy)),
        ("pairs: both named", lambda c: share(c.pairs_both, c.pairs)),
        ("pairs: in the order of their share", lambda c: share(c.pairs_order, c.pairs)),
        ("runs whose fault did not bind (not scored)", lambda c: str(c.not_injected)),
        ("runs in which others used 30 % of the machine (`noisy-neighbour` is true of these, and left out)", lambda c: str(c.disturbed)),
    ]
    out += [f"| {title} | " + " | ".join(of(column) for column in columns) + " |" for title, of in rows]
    out += ["", "## Faults", "", "| injected | path | runs | right | named first |", "|---|---|---:|---:|---|"]
    out += rows_of(runs, FAULT)
    out += ["", "## Pairs", "", "| injected, larger share first | path | runs | both | named first |", "|---|---|---:|---:|---|"]
    out += rows_of(runs, PAIR)
    out += ["", "## Healthy paths", "", "| path | runs | false alarms | named |", "|---|---:|---:|---|"]
    for case in cases_of(runs, HEALTHY):
        own = [run for run in runs if run.truth["case"] == case]
        named = Counter(run.named for run in own if run.confident)
        out.append(f"| {own[0].truth['is']} | {len(own)} | {sum(bool(run.confident) for run in own)} | {counted(named)} |")
    lost = [run for run in runs if not run.truth["injected"] or run.truth["broken"]]
    if lost:
        out += ["", "## Not scored", "", "| run | why |", "|---|---|"]
        out += [f"| {run.truth['run']} | {why(run.truth)} |" for run in lost]
    from .catalogue import LEFT_OUT

    out += ["", "## Causes that are not injected", "", "| cause | why |", "|---|---|"]
    out += [f"| {id} | {reason} |" for id, reason in LEFT_OUT.items()]
    return "\n".join(out) + "\n"


def cases_of(runs, kind):
    return sorted({run.truth["case"] for run in runs if run.truth["kind"] == kind})


def counted(names):
    return ", ".join(f"{name} {number}" if number > 1 else name for name, number in names.most_common()) or "-"


def rows_of(runs, kind):
    rows = []
    for case in cases_of(runs, kind):
        own = [run for run in runs if run.truth["case"] == case]
        scored = [run for run in own if run.truth["injected"] and not run.truth["broken"]]
        hits = sum(run.right if kind == FAULT else run.both[0] for run in scored)
        named = Counter(" + ".join(run.confident[:2]) if kind == PAIR and run.confident else run.named for run in scored)
        rows.append(f"| {' + '.join(own[0].truth['expected'])} | {own[0].truth['is']} | {len(scored)} | {hits} | {counted(named)} |")
    return rows


def why(truth):
    if truth["broken"]:
        return "a client ended: " + truth["broken"][0].splitlines()[0][:120].replace("|", "/")
    absent = [sign for sign in truth["signs"] if not sign["there"]]
    figure = lambda value: "absent" if value is None else f"{value:.3g}"
    return "; ".join(f"{sign['measure']} {figure(sign['value'])}, without the fault {figure(sign['without'])}" for sign in absent)
