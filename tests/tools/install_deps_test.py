"""tools/install_deps.sh against stand-ins for dpkg-query, apt-get and sudo."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "install_deps.sh"
NEEDED = ["bash", "dirname", "grep", "env"]


class InstallDeps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bin = pathlib.Path(self.folder.name)
        self.log = self.bin / "log"
        for name in NEEDED:
            (self.bin / name).symlink_to(shutil.which(name))
        self.stand_in("id", "echo 0")

    def tearDown(self):
        self.folder.cleanup()

    def stand_in(self, name, body):
        file = self.bin / name
        file.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        file.chmod(0o755)

    def debian(self, missing):
        self.stand_in("dpkg-query", f'case "$4" in {missing}) exit 1;; *) echo "ii ";; esac')
        self.stand_in("apt-get", f'echo "apt-get $*" >> {self.log}')

    def run_script(self):
        done = subprocess.run([SCRIPT], env={"PATH": str(self.bin)}, capture_output=True, text=True, cwd=os.sep)
        return done.returncode, done.stdout, done.stderr, self.log.read_text() if self.log.exists() else ""

    def test_nothing_happens_when_all_is_there(self):
        self.debian(missing="none")
        self.assertEqual(self.run_script(), (0, "", "", ""))

    def test_only_the_missing_ones_are_installed(self):
        self.debian(missing="libfmt-dev|zlib1g-dev")
        code, _, _, log = self.run_script()
        self.assertEqual(code, 0)
        update, install = log.splitlines()
        self.assertIn("update", update)
        self.assertTrue(install.endswith("libfmt-dev zlib1g-dev"), install)

    def test_sudo_is_used_by_others_than_root(self):
        self.debian(missing="libfmt-dev")
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", f'echo "sudo $*" >> {self.log}; "$@"')
        code, _, _, log = self.run_script()
        self.assertEqual(code, 0)
        self.assertIn("sudo apt-get update", log)
        self.assertIn("sudo env", log)

    def test_without_root_and_sudo_the_command_is_shown(self):
        self.debian(missing="libfmt-dev")
        self.stand_in("id", "echo 1000")
        code, _, errors, log = self.run_script()
        self.assertEqual((code, log), (1, ""))
        self.assertIn("apt-get install libfmt-dev", errors)

    def test_another_system_gets_the_list_and_goes_on(self):
        code, _, errors, _ = self.run_script()
        self.assertEqual(code, 0)
        self.assertIn("not a Debian system", errors)
        self.assertIn("  libhwy-dev\n", errors)

    def test_make_installs_before_it_configures(self):
        for target in ("build", "demo", "test", "install"):
            steps = subprocess.run(["make", "-n", target], cwd=SCRIPT.parents[1], capture_output=True, text=True).stdout
            self.assertLess(-1, steps.find("install_deps.sh"), target)
            self.assertLess(steps.find("install_deps.sh"), steps.find("cmake --preset"), target)


if __name__ == "__main__":
    unittest.main()
