"""`matrix.py run | list | score | judge | restore`: see README.md."""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def arguments():
    parser = argparse.ArgumentParser(prog="matrix.py", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True)
    run = words.add_parser("run", help="run what is not there yet")
    run.add_argument("--results", required=True, type=Path)
    run.add_argument("--only", action="append", default=[], metavar="ID", help="a case, or all whose id begins so; may be repeated")
    run.add_argument("--quick", action="store_true", help="five faults and three healthy paths")
    run.add_argument("--kind", choices=["fault", "pair", "healthy"])
    run.add_argument("--repeat", type=int, default=1)
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--dry", action="store_true", help="inject and measure, without plumb")
    run.add_argument("--again", action="store_true", help="runs whose fault did not bind or whose clients ended, once more")
    run.add_argument("--lock", help="a file to lock around each run, where others measure on this machine too")
    words.add_parser("list", help="the cases")
    score = words.add_parser("score", help="the score of a results directory")
    score.add_argument("--results", required=True, type=Path)
    score.add_argument("--judged", metavar="LABEL", help="by that judgement in place of the first one")
    score.add_argument("--markdown", type=Path, metavar="FILE")
    score.add_argument("--remark", default="", help="a sentence for the page, such as what was changed after the runs")
    judge = words.add_parser("judge", help="judge the kept documents again, by the program that is there now")
    judge.add_argument("--results", required=True, type=Path)
    judge.add_argument("--label", required=True)
    words.add_parser("restore", help="put back what a run that was killed left")
    return parser.parse_args()


def chosen(options):
    from diagnose_matrix.catalogue import QUICK, cases

    found = cases()
    if options.quick:
        found = [case for case in found if case.id in QUICK]
    if options.only:
        wanted = [case for case in found if any(case.id == id for id in options.only)]
        wanted += [case for case in found if case not in wanted and any(case.id.startswith(id) for id in options.only if not any(c.id == id for c in found))]
        unknown = [id for id in options.only if not any(case.id.startswith(id) for case in found)]
        if unknown:
            raise SystemExit(f"no case is called {', '.join(unknown)}; there are: {', '.join(case.id for case in found)}")
        found = wanted
    if options.kind:
        found = [case for case in found if case.kind == options.kind]
    return found


def stopped(*_):
    raise KeyboardInterrupt


def run(options):
    import signal

    from diagnose_matrix import host
    from diagnose_matrix.journal import Journal
    from diagnose_matrix.series import Series, ordered

    lacks = host.missing()
    if lacks:
        raise SystemExit(f"this host lacks {', '.join(lacks)}")
    cases = chosen(options)
    tasks = ordered(cases, options.repeat, options.seed)
    print(f"{len(tasks)} runs, about {len(tasks) * 25 / 60:.0f} minutes", flush=True)
    # Also where the shell that started this in the background has it ignore Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopped)
    journal = Journal()
    host.set_apart(journal)
    series = Series(journal, options.results, options.lock, options.dry)
    try:
        series.run(tasks, options.again)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", flush=True)
        raise SystemExit(130) from None
    finally:
        journal.restore(0)


def list_cases(_):
    from diagnose_matrix.catalogue import LEFT_OUT, cases

    for case in cases():
        print(f"{case.kind:<8} {case.id:<36} {case.is_}")
    for id, reason in LEFT_OUT.items():
        print(f"left out {id:<36} {reason}")


def score(options):
    from diagnose_matrix import scoring, table

    runs = scoring.load(options.results, options.judged)
    print(table.text(runs))
    if options.markdown:
        options.markdown.write_text(table.markdown(runs, options.remark))


def judge(options):
    from diagnose_matrix import plumb

    for file in sorted(options.results.glob("runs/*/truth.json")):
        document = file.parent / "document"
        if document.exists():
            (file.parent / f"judged-{options.label}.json").write_text(json.dumps(plumb.judge(document)))


def restore(_):
    from diagnose_matrix.journal import Journal

    Journal()


if __name__ == "__main__":
    options = arguments()
    {"run": run, "list": list_cases, "score": score, "judge": judge, "restore": restore}[options.word](options)
