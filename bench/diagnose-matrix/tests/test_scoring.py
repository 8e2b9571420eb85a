"""`python -m unittest discover -s tests` in this directory."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from diagnose_matrix import scoring, wire
from diagnose_matrix.path import injected
from diagnose_matrix.case import Shows


def run(case, kind, expected, findings, verdict="bound", number=1, is_injected=True):
    truth = {"case": case, "kind": kind, "expected": expected, "accepted": {}, "not_first": ["symptom"], "injected": is_injected, "broken": [], "number": number, "figures": {}}
    return scoring.Run(truth, {"verdict": verdict, "findings": [{"id": id, "confidence": confidence} for id, confidence in findings]})


class Scoring(unittest.TestCase):
    def test_the_interval_is_that_of_the_published_example(self):
        # Newcombe (1998), table I: 15 of 148, 81 of 263.
        for hits, number, low, high in ((15, 148, 0.0624, 0.1605), (81, 263, 0.2553, 0.3662)):
            got = scoring.wilson(hits, number)
            self.assertAlmostEqual(got[0], low, 3)
            self.assertAlmostEqual(got[1], high, 3)

    def test_only_what_is_named_with_confidence_counts_and_what_did_not_bind_does_not(self):
        runs = [
            run("a", "fault", ["a"], [("a", "supported"), ("b", "supported")]),
            run("a", "fault", ["a"], [("a", "suspected")], "not_enough_evidence"),
            run("b", "fault", ["b"], [("symptom", "supported"), ("b", "supported")]),
            run("b", "fault", ["b"], [], is_injected=False),
            run("h", "healthy", [], [("a", "suspected")], "not_enough_evidence"),
            run("h", "healthy", [], [("a", "supported")]),
        ]
        score = scoring.score(runs)
        self.assertEqual((score.faults, score.right, score.not_enough, score.suspected_right, score.wrong, score.not_first), (3, 1, 1, 1, 1, 1))
        self.assertEqual((score.healthy, score.healthy_named, score.not_injected), (2, 1, 1))

    def test_a_pair_counts_when_both_are_named_and_again_when_in_order(self):
        runs = [
            run("a+b", "pair", ["a", "b"], [("a", "supported"), ("b", "supported")]),
            run("a+b", "pair", ["a", "b"], [("b", "supported"), ("a", "supported")]),
            run("a+b", "pair", ["a", "b"], [("a", "supported"), ("b", "suspected")]),
        ]
        score = scoring.score(runs)
        self.assertEqual((score.pairs, score.pairs_both, score.pairs_order), (3, 2, 1))

    def test_a_sign_without_its_comparison_is_not_there(self):
        shows = (Shows("acknowledge_ms", times_min=3),)
        self.assertTrue(injected(shows, {"acknowledge_ms": 30}, {"acknowledge_ms": 5})[0]["there"])
        self.assertFalse(injected(shows, {"acknowledge_ms": 10}, {"acknowledge_ms": 5})[0]["there"])
        self.assertFalse(injected(shows, {"acknowledge_ms": 30}, {})[0]["there"])
        self.assertFalse(injected(shows, {}, {"acknowledge_ms": 5})[0]["there"])

    def test_runs_by_earlier_programs_are_apart_from_those_that_score(self):
        runs = [run("a", "fault", ["a"], [], number=number) for number in (1, 2, 3, 4)]
        for one, program in zip(runs, ("old", "new", "older", "new")):
            one.truth["program_sha256"] = program
        earlier, last = scoring.halves(runs)
        self.assertEqual([one.truth["number"] for one in earlier], [1, 3])
        self.assertEqual([one.truth["number"] for one in last], [2, 4])
        self.assertEqual(scoring.halves([]), ([], []))

    def test_the_checksum_is_crc_32c(self):
        # RFC 3720, B.4.
        self.assertEqual(wire.crc32c(bytes(32)), 0x8A9136AA)
        self.assertEqual(wire.crc32c(b"123456789"), 0xE3069283)


unittest.main() if __name__ == "__main__" else None
