"""Tests of the judging of pipelines: python3 -m unittest discover -s bench. No peer is needed."""

import unittest

from bars import judge_pipelines


def run(*passes_ms):
    return {"threads": 2, "passes_ms": list(passes_ms), "first_batch_ms": 1, "rss_mb": 1, "expected_mb": 1}


class PipelineBars(unittest.TestCase):
    def test_images_are_judged_against_the_fastest_peer(self):
        contestants = {"isochron": [run(120, 100, 100)], "tf.data": [run(900, 140, 140)], "DataLoader-2": [run(125, 125, 125)]}
        memory, verdict = judge_pipelines({"pipeline-jpeg": contestants})
        self.assertTrue(memory.passed)
        self.assertEqual(verdict.against, "DataLoader-2 125 ms")
        self.assertFalse(verdict.passed)
        contestants["DataLoader-2"] = [run(131, 131, 131)]
        self.assertTrue(all(verdict.passed for verdict in judge_pipelines({"pipeline-jpeg": contestants})))

    def test_tables_are_judged_by_the_first_pass(self):
        contestants = {"isochron": [run(200, 1, 1)], "pandas": [run(900, 900)], "tf.data": [run(700, 700)]}
        verdicts = {verdict.against: verdict.passed for verdict in judge_pipelines({"pipeline-csv": contestants}) if verdict.against}
        self.assertEqual(verdicts, {"pandas 900 ms": False, "tf.data 700 ms": True})

    def test_images_from_memory_have_limits_of_their_own(self):
        good = {"threads": 2, "passes_ms": [104, 100, 100], "first_batch_ms": 9, "rss_mb": 2000, "expected_mb": 1800}
        bad = good | {"passes_ms": [106, 100, 100], "first_batch_ms": 11, "rss_mb": 2300}
        for run_, passed in ((good, True), (bad, False)):
            verdicts = list(judge_pipelines({"pipeline-images": {"isochron": [run_]}}))
            self.assertEqual([verdict.passed for verdict in verdicts], [passed] * 3)


if __name__ == "__main__":
    unittest.main()
