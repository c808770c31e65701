"""Tests of the judging: python3 -m unittest discover -s bench. No peer is needed."""

import unittest

from bars import judge
from contestants import to_run
from growth import slope_over_run
from idle import wait_until_idle
from report import BAR_HEADER, RESULT_HEADER, aligned, bar_rows, result_rows, with_section
from run import visits


def run(step_us, start_ms=10.0, epochs_ms=(4.2, 4.0, 4.0), rss_mb=20.0):
    result = {
        "first_step_monotonic_ns": int(1e9 + start_ms * 1e6),
        "epochs_ms": list(epochs_ms),
        "step_us": step_us,
        "compile_ms": 1.0,
        "rss_mb": rss_mb,
    }
    return to_run(result, start_ns=int(1e9))


def outcomes(results):
    return {(verdict.measure, verdict.against): verdict.passed for verdict in judge(results)}


class Machine:
    """A clock and a /proc/stat in hundredths of a second: two CPUs, one of them busy until a certain time."""

    def __init__(self, busy_until):
        self.now, self.busy_until = 0.0, busy_until

    def sleep(self, seconds):
        self.now += seconds

    def stat(self):
        busy = round(100 * min(self.now, self.busy_until))
        return f"cpu  {busy // 2} 0 {busy - busy // 2} {round(200 * self.now) - busy} 0 0 0 0 0 0\ncpu0 1 2 3\n"

    def wait(self):
        return wait_until_idle(self.stat, lambda: self.now, self.sleep)


class Idle(unittest.TestCase):
    def test_it_is_waited_for_until_nothing_runs(self):
        machine = Machine(busy_until=1.9)
        self.assertTrue(machine.wait())
        self.assertEqual(machine.now, 2.25)

    def test_an_idle_machine_costs_one_look(self):
        machine = Machine(busy_until=0)
        self.assertTrue(machine.wait())
        self.assertEqual(machine.now, 0.25)

    def test_a_machine_that_others_use_is_not_waited_for_forever(self):
        machine = Machine(busy_until=1e9)
        self.assertFalse(machine.wait())
        self.assertEqual(machine.now, 10)


class Order(unittest.TestCase):
    def test_ours_comes_before_every_peer_and_another_peer_begins_each_time(self):
        self.assertEqual(visits(["isochron", "jax", "torch"], 0), ["isochron", "jax", "isochron", "torch"])
        self.assertEqual(visits(["isochron", "jax", "torch"], 1), ["isochron", "torch", "isochron", "jax"])

    def test_either_may_be_alone(self):
        self.assertEqual(visits(["isochron"], 2), ["isochron"])
        self.assertEqual(visits(["jax", "torch"], 1), ["torch", "jax"])


class Bars(unittest.TestCase):
    def test_step_is_judged_against_the_best_peer(self):
        contestants = {"isochron": [run(180)], "jax": [run(550)], "libtorch": [run(500, start_ms=400)]}
        verdicts = outcomes({("mlp32", 1): contestants})
        self.assertFalse(verdicts["step", "libtorch 500 us"])
        contestants["isochron"] = [run(174)]
        self.assertTrue(outcomes({("mlp32", 1): contestants})["step", "libtorch 500 us"])

    def test_steps_dispatched_ahead_are_shown_but_not_judged_against(self):
        contestants = {"isochron": [run(180)], "jax": [run(550)], "jax-resident": [run(300)]}
        self.assertTrue(outcomes({("mlp32", 1): contestants})["step", "jax 550 us"])

    def test_start_has_an_absolute_and_a_relative_bar(self):
        contestants = {"isochron": [run(100, start_ms=19)], "libtorch": [run(500, start_ms=270)]}
        verdicts = outcomes({("mlp32", 2): contestants})
        self.assertTrue(verdicts["start to first step", ""])
        self.assertFalse(verdicts["start to first step", "libtorch 270 ms"])

    def test_first_epoch_may_cost_two_milliseconds_more(self):
        cases = {(4.3, 4.0, 4.0): True, (5.9, 4.0, 4.0): True, (6.1, 4.0, 4.0): False, (108, 100, 100): True}
        for epochs, passed in cases.items():
            later = f"later {epochs[1]:.2f} ms"
            verdicts = outcomes({("linreg", 1): {"isochron": [run(100, epochs_ms=epochs)]}})
            self.assertEqual(verdicts["first epoch", later], passed, epochs)

    def test_the_median_of_repeats_counts(self):
        runs = [run(100), run(5000), run(110)]
        verdicts = outcomes({("mlp32", 1): {"isochron": runs, "jax": [run(500)]}})
        self.assertTrue(verdicts["step", "jax 500 us"])

    def test_the_way_to_an_accuracy_is_judged_among_those_that_reach_it(self):
        def reaching(accuracy, seconds):
            result = {"first_step_monotonic_ns": 0, "epochs_ms": [1.0], "step_us": 1.0, "compile_ms": 1.0, "rss_mb": 1.0}
            return to_run(result | {"accuracy": accuracy, "evaluated_monotonic_ns": int(seconds * 1e9)}, start_ns=0)

        contestants = {"isochron": [reaching(0.985, 20)], "torch": [reaching(0.97, 10)], "tf-function": [reaching(0.99, 40)]}
        verdicts = outcomes({("mnist", 2): contestants})
        self.assertTrue(verdicts["start to accuracy", "tf-function 40.0 s"])
        self.assertTrue(verdicts["accuracy", ""])
        contestants["isochron"] = [reaching(0.9, 25)]
        verdicts = outcomes({("mnist", 2): contestants})
        self.assertFalse(verdicts["start to accuracy", "tf-function 40.0 s"])
        self.assertFalse(verdicts["accuracy", ""])

    def test_nothing_is_judged_without_ours(self):
        self.assertEqual(judge({("mlp32", 1): {"isochron": [], "jax": [run(500)]}}), [])

    def test_a_missed_bar_shows_in_the_table(self):
        table = aligned(BAR_HEADER, bar_rows(judge({("mlp32", 1): {"isochron": [run(100, rss_mb=41)]}})))
        self.assertRegex(table, r"resident memory .* 41\.0 MB .* FAIL")


class Growth(unittest.TestCase):
    def test_slope_is_the_change_over_the_run(self):
        self.assertAlmostEqual(slope_over_run([5.0] * 1000), 0)
        rising = [5.0 * (1 + 0.02 * epoch / 1000) for epoch in range(1000)]
        self.assertAlmostEqual(slope_over_run(rising), 0.02, places=3)

    def test_interference_does_not_bend_it(self):
        disturbed = [5.0 + (3.0 if epoch > 600 and epoch % 3 else 0.0) for epoch in range(1000)]
        self.assertAlmostEqual(slope_over_run(disturbed), 0)


class Rows(unittest.TestCase):
    def test_everybody_has_a_share_of_peak_by_the_same_operations(self):
        ours = to_run({"first_step_monotonic_ns": 0, "epochs_ms": [1.0], "step_us": 50.0, "compile_ms": 1.0, "rss_mb": 9.0, "percent_of_peak": 80.0}, 0)
        rows = list(result_rows({("cnn", 2): {"isochron": [ours], "jax": [run(200)]}}))
        self.assertEqual([row[RESULT_HEADER.index("% of peak")] for row in rows], ["80", "20"])


class Page(unittest.TestCase):
    PAGE = "# Performance\nwhat for\n\n## A, 2 cores\nold\n\n### Bars\nold\n\n## B\nkept\n"

    def test_a_machine_replaces_its_own_section_alone(self):
        page = with_section(self.PAGE, "## A, 2 cores\n\nnew\n")
        self.assertEqual(page, "# Performance\nwhat for\n\n## A, 2 cores\n\nnew\n\n## B\nkept\n")
        self.assertEqual(with_section(page, "## A, 2 cores\n\nnew\n"), page)

    def test_the_last_section_is_replaced_to_the_end(self):
        self.assertTrue(with_section(self.PAGE, "## B\n\nnew\n").endswith("### Bars\nold\n\n## B\n\nnew\n"))

    def test_another_machine_comes_behind(self):
        self.assertEqual(with_section(self.PAGE, "## C\n\nnew\n"), self.PAGE + "\n## C\n\nnew\n")
        self.assertEqual(with_section("", "## C\n\nnew\n"), "## C\n\nnew\n")


if __name__ == "__main__":
    unittest.main()
