#!/usr/bin/env python3
"""The HTML reports and the live page in a browser: they draw, load nothing from elsewhere, and fit a narrow screen.

    pages_test.py ISOCHRON [--images FOLDER]      needs chromium; --images keeps the screenshots
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

COMMAND = Path(sys.argv.pop(1)).resolve()
IMAGES = Path(sys.argv.pop(2)) if sys.argv[1:2] == ["--images"] else None
if IMAGES:
    sys.argv.pop(1)
RUNS = Path(__file__).resolve().parent.parent / "runs"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "img", "link", "input", "hr"}
PROGRAM = """
import time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def load_batch(): work(0.02)
def validate(): work(0.2)
for epoch in range(1, 60):
    start = time.time()
    for step in range(10):
        load_batch()
        work(0.03)
    validate()
    print(f"Epoch {epoch}/60 - {time.time() - start:.2f}s", flush=True)
"""


def browse(address, *options, width=900, height=1200):
    """The page's elements after its scripts ran."""
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}",
               "--virtual-time-budget=4000", *options, address]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


class Balanced(HTMLParser):
    """Every element that opens closes, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.outside = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.outside += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1] if self.open else ''}>"
        self.open.pop()


class Pages(unittest.TestCase):
    def check(self, html):
        parser = Balanced()
        parser.feed(html)
        self.assertEqual(parser.open, [])
        self.assertEqual(parser.outside, [])

    def keep(self, address, name, width, height, *options):
        if IMAGES:
            browse(address, f"--screenshot={IMAGES / name}.png", *options, width=width, height=height)

    def check_on_a_phone(self, page):
        """Neither the page nor a table that is not meant to be pushed aside may be wider than 360 pixels, narrower than
        the browser's own window can be: a frame measures."""
        frame = page.with_name("frame.html")
        frame.write_text(f"""<body><iframe src="{page.name}" width=360 height=800></iframe><script>onload = () => {{
            const inside = document.querySelector("iframe").contentDocument;
            const parts = [inside.documentElement, ...inside.querySelectorAll(".scroll.fits, .legend")];
            document.title = Math.max(...parts.map(part => part.scrollWidth - part.clientWidth));
        }}</script></body>""")
        drawn = browse(f"file://{frame}", "--dump-dom", "--allow-file-access-from-files")
        self.assertLessEqual(int(re.search("<title>(-?\\d+)", drawn).group(1)), 0)

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            subprocess.run([COMMAND, "doctor", "--html", page, RUNS / "keras-gru-sensor"], check=True, capture_output=True)
            self.check(page.read_text())
            drawn = browse(f"file://{page}", "--dump-dom")
            self.assertEqual(len(re.findall('class="label"', drawn)), 6)
            self.assertIn("startup.graph", drawn)
            self.keep(f"file://{page}", "doctor-report", 900, 1150)
            self.keep(f"file://{page}", "doctor-report-dark", 900, 1150, "--blink-settings=preferredColorScheme=0")
            self.check_on_a_phone(page)
            self.keep(f"file://{page}", "doctor-report-phone", 500, 1000)

    def test_run_page(self):
        with tempfile.TemporaryDirectory() as folder:
            record, page = Path(folder) / "run.json", Path(folder) / "run.html"
            subprocess.run([COMMAND, "bench", "mlp32", "--epochs", "12", "--profile", "--record", record], check=True, capture_output=True)
            subprocess.run([COMMAND, "report", record, "--html", page], check=True, capture_output=True)
            self.check(page.read_text())
            drawn = browse(f"file://{page}", "--dump-dom")
            for part in ("Epochs by phase", "The first epoch, explained", "Time of a step", "Operations in profiler"):
                self.assertIn(part, drawn)
            self.assertEqual(len(re.findall('class="label"', drawn)), 12)
            self.assertGreaterEqual(len(re.findall("<svg", drawn)), 2)
            self.keep(f"file://{page}", "run-report", 900, 1500)
            self.keep(f"file://{page}", "run-report-dark", 900, 1500, "--blink-settings=preferredColorScheme=0")
            self.check_on_a_phone(page)
            self.keep(f"file://{page}", "run-report-phone", 500, 1500)

    def test_live_page(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "train.py").write_text(PROGRAM)
            watch = subprocess.Popen([COMMAND, "watch", "--live", "0", "--quiet", "--", sys.executable, "train.py"], cwd=folder,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                address = re.search(r"http://127\.0\.0\.1:\S+", watch.stderr.readline()).group(0)
                for _ in range(4):
                    watch.stdout.readline()
                drawn = browse(address, "--dump-dom")
                self.assertIn("epochs done", drawn)
                self.assertIn("epoch 3", drawn)
                self.assertGreaterEqual(len(re.findall("<svg", drawn)), 4)
                self.keep(address, "watch-live", 900, 800)
                self.keep(address, "watch-live-dark", 900, 800, "--blink-settings=preferredColorScheme=0")
                self.assertNotIn("epochs done", browse(address.split("?")[0], "--dump-dom"))  # without its token
            finally:
                watch.terminate()
                watch.communicate()


if __name__ == "__main__":
    if not BROWSER:
        sys.exit("pages_test.py needs chromium: apt install chromium")
    unittest.main()
