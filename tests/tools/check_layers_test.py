"""tools/check_layers.py finds each kind of forbidden edge, and nothing in a clean tree."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.write("isochron/base/CMakeLists.txt", "isochron_folder(base SOURCES error.cpp)")
        self.write("isochron/base/error.cpp", '#include "isochron/base/error.h"\n#include <string>\n')
        self.write("isochron/tensor/CMakeLists.txt", "isochron_folder(tensor\n  DEPENDS base\n  SOURCES shape.cpp)")
        self.write("isochron/tensor/shape.cpp", '#include "isochron/base/error.h"\n')

    def tearDown(self):
        self.folder.cleanup()

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self):
        done = subprocess.run([sys.executable, CHECK, self.root], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def rejected(self, *words):
        code, text = self.check()
        self.assertEqual(code, 1)
        for word in words:
            self.assertIn(word, text)

    def test_a_clean_tree_passes(self):
        self.assertEqual(self.check(), (0, ""))

    def test_an_include_that_depends_does_not_list(self):
        self.write("isochron/base/error.cpp", '#include "isochron/tensor/shape.h"\n')
        self.rejected("isochron/base/error.cpp", "isochron/tensor/", "base does not list")

    def test_an_include_in_a_subfolder_and_with_angle_brackets(self):
        self.write("isochron/tensor/inner/deep.h", "#  include <isochron/train/fit.h>\n")
        self.rejected("isochron/tensor/inner/deep.h", "isochron/train/")

    def test_an_edge_against_the_order(self):
        self.write("isochron/base/CMakeLists.txt", "isochron_folder(base DEPENDS tensor SOURCES error.cpp)")
        self.rejected("base must not depend on tensor")

    def test_the_doctor_does_not_know_the_engine(self):
        self.write("isochron/diagnose/CMakeLists.txt", "isochron_folder(diagnose DEPENDS base tensor SOURCES a.cpp)")
        self.rejected("diagnose must not depend on tensor")

    def test_training_may_print_reports(self):
        self.write("isochron/train/CMakeLists.txt", "isochron_folder(train DEPENDS base tensor report SOURCES a.cpp)")
        self.assertEqual(self.check(), (0, ""))

    def test_a_commented_edge_does_not_count(self):
        self.write("isochron/tensor/CMakeLists.txt", "isochron_folder(tensor\n  # DEPENDS base\n  SOURCES shape.cpp)")
        self.rejected("isochron/tensor/shape.cpp")

    def test_a_folder_without_a_place(self):
        self.write("isochron/misc/CMakeLists.txt", "isochron_folder(misc SOURCES a.cpp)")
        self.rejected("isochron/misc", "no place")

    def test_sources_without_a_target(self):
        self.write("isochron/graph/a.cpp", "")
        self.rejected("isochron/graph", "no CMakeLists.txt")


if __name__ == "__main__":
    unittest.main()
