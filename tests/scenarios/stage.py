"""What the live tests need around a program: `isochron watch` over it, and the machine's troubles on demand."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

CGROUP_V1, CGROUP_V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def evict(path):
    """Puts a file on the disk and out of memory."""
    with open(path, "rb+") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold_file(folder):
    """A file of 200 MB that is on the disk and not in memory."""
    path = folder / "data.bin"
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        for _ in range(200):
            f.write(block)
    evict(path)
    return path


class Quota:
    """A control group whose CPU quota can be set; make() is false where we may not have one."""

    def __init__(self):
        self.v1 = (CGROUP_V1 / "cpu.cfs_quota_us").exists() or (CGROUP_V1 / "cpu.shares").exists()
        self.path = (CGROUP_V1 if self.v1 else CGROUP_V2) / f"isochron_{os.getpid()}"

    def make(self):
        try:
            self.path.mkdir()
            self.limit(None)
            return True
        except OSError:
            return False

    def limit(self, cores):
        if self.v1:
            (self.path / "cpu.cfs_quota_us").write_text(str(-1 if cores is None else int(cores * 100000)))
        else:
            (self.path / "cpu.max").write_text("max 100000" if cores is None else f"{int(cores * 100000)} 100000")

    def inside(self, command):
        return ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs; exec "$@"', "sh", *command]

    def remove(self):
        try:
            self.path.rmdir()
        except OSError:
            pass


class SmallDisk:
    """A file system of a few megabytes, where we may mount one."""

    def __init__(self, path, megabytes):
        self.path = path
        path.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
        self.mounted = subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0

    def remove(self):
        if self.mounted:
            subprocess.run(["umount", str(self.path)])


def watch(isochron, command, folder, *, stall="60s", timeout=180, disturb=None, environment=None):
    """Runs a command under `isochron watch` and returns its diagnosis. `disturb` is (seconds, what): "burn" keeps all
    cores busy from then on, a function is called. After the timeout the watch is ended as a user would end it."""
    result = folder / "diagnosis.json"
    options = ["--quiet", "--stall", stall, "--json", str(result), "--record", str(folder / "record.json"), "--fail-on", "stuck"]
    with open(folder / "console.txt", "wb") as console:
        watched = subprocess.Popen([isochron, "watch", *options, "--", *command], cwd=folder, stdout=console, stderr=console,
                                   stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    burners = []
    try:
        if disturb:
            time.sleep(disturb[0])
            if disturb[1] == "burn":
                burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
            else:
                disturb[1]()
        watched.wait(timeout)
    except subprocess.TimeoutExpired:
        watched.send_signal(signal.SIGTERM)
        watched.wait(60)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
        if watched.poll() is None:
            watched.kill()
            watched.wait()
    return json.loads(result.read_text())
