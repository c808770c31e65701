#!/usr/bin/env python3
"""Faults while states are saved, against a real training (kill_target.cpp) and the real command.

    faults.py KILL_TARGET ISOCHRON --kills 300

After every fault the newest valid state of each kind must be loadable and no older than the last one that was announced,
and a training that goes on must repeat the losses it had, bit for bit. The kills come at random moments, with other
processes busy on the CPUs and the disk.
"""
import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

KINDS = ("backup", "generations", "last")


class Failure(Exception):
    pass


class Training:
    """What trainings in one folder have said so far."""

    def __init__(self, target, folder):
        self.target, self.folder = target, folder
        self.losses = {}  # bits by step, of whichever run was there first
        self.announced = dict.fromkeys(KINDS, -1)
        self.errors = ""
        self.ended = None
        self.repeated = 0

    def start(self, *arguments, **options):
        self.ended = None
        self.process = subprocess.Popen([self.target, self.folder, *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **options)

    def read(self):
        """Everything until the process is gone."""
        errors = []
        reader = threading.Thread(target=lambda: errors.append(self.process.stderr.read()))
        reader.start()
        problem, first = None, True
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "saved":
                self.announced[words[1]] = max(self.announced[words[1]], int(words[2]))
            elif words[0] == "step":
                if first:
                    # It went on from the backup, and will do the steps since then again.
                    place, first = int(words[1]) - 1, False
                    if place < self.announced["backup"]:
                        problem = f"went on at step {place}, step {self.announced['backup']} had been announced"
                    self.announced = {kind: min(steps, place) for kind, steps in self.announced.items()}
                before = self.losses.setdefault(int(words[1]), words[2])
                self.repeated += before is not words[2]
                if before != words[2]:
                    problem = problem or f"step {words[1]} had the loss {before}, and after going on {words[2]}"
            elif words[0] == "ended":
                self.ended = words[1]
        reader.join()
        self.errors = errors[0]
        self.process.wait()
        if problem:
            raise Failure(problem)

    def check(self):
        said = subprocess.run([self.target, "--check", self.folder], capture_output=True, text=True, check=True).stdout
        newest = {line.split()[1]: int(line.split()[2]) for line in said.splitlines()}
        for kind in KINDS:
            if newest[kind] < self.announced[kind]:
                raise Failure(f"{kind}: the newest valid state is of step {newest[kind]}, "
                              f"step {self.announced[kind]} had been announced")
        return newest


def load(folder):
    """Other processes that want the CPUs and the disk."""
    burn = [sys.executable, "-c", "while True: pass"]
    write = [sys.executable, "-c",
             "import os,sys\nwhile True:\n f=open(sys.argv[1],'wb')\n for _ in range(64): f.write(os.urandom(1<<20))\n"
             " f.flush(); os.fsync(f.fileno())", os.path.join(folder, "noise")]
    return [subprocess.Popen(["nice", *burn]), subprocess.Popen(["nice", *write])]


def kills(target, count, seed):
    rng = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="isochron-kills-")
    noise = tempfile.mkdtemp(prefix="isochron-noise-")
    burners = load(noise)
    training = Training(target, os.path.join(folder, "run"))
    during = 0
    try:
        for i in range(count):
            training.start()
            # From before its first step to a few hundred of them.
            timer = threading.Timer(rng.choice((0.03, 0.1, 0.3, 0.6)) * rng.random() + 0.01, training.process.kill)
            timer.start()
            training.read()
            timer.join()
            if training.process.returncode != -signal.SIGKILL:
                raise Failure(f"kill {i}: exit code {training.process.returncode}: {training.errors[-2000:]}")
            left = [name for kind in ("backup", "generations", ".") if os.path.isdir(os.path.join(folder, "run", kind))
                    for name in os.listdir(os.path.join(folder, "run", kind)) if name.startswith(".")]
            during += bool(left)
            training.check()
            # One kept, its successor, and one that was under way; two kept and the same.
            for kind, most in (("backup", 3), ("generations", 4)):
                path = os.path.join(folder, "run", kind)
                if os.path.isdir(path) and len(os.listdir(path)) > most:
                    raise Failure(f"after kill {i} {kind} holds {sorted(os.listdir(path))}")
    finally:
        for process in burners:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(noise, ignore_errors=True)
    if count >= 15 and (not training.losses or training.repeated == 0):
        raise Failure("no step was ever repeated after a kill: this tested nothing")
    return (f"{count} kills, {during} in the middle of a save; {max(training.losses)} steps, {training.repeated} of them "
            "repeated bit for bit; 0 unreadable states, 0 announced ones lost")


def mounted(folder, bytes_):
    return os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={bytes_}", "tmpfs", folder], stderr=subprocess.DEVNULL).returncode == 0


def full_disk(target):
    """A small file system that is filled to the last byte while training goes on."""
    folder = tempfile.mkdtemp(prefix="isochron-full-")
    small = mounted(folder, 16 << 20)
    limit = None if small else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    try:
        training = Training(target, os.path.join(folder, "run"))
        training.start("2")
        training.read()
        before = training.check()
        if small:
            with open(os.path.join(folder, "ballast"), "wb", buffering=0) as ballast:
                try:
                    while True:
                        ballast.write(b"x" * 4096)
                except OSError:
                    pass
        training.start("4", preexec_fn=limit)
        training.read()
        if training.process.returncode != 0 or training.ended != "unsaved":
            raise Failure(f"a full disk must not end training: {training.process.returncode} {training.errors}")
        for part in ("can't save", "needs", "are free", "NOT on disk"):
            if training.errors.count(part) != 1:
                raise Failure(f"\"{part}\" should be said once: {training.errors}")
        if training.check() != before:
            raise Failure("states from before were touched")
        if small:
            os.remove(os.path.join(folder, "ballast"))
        training.start("6")
        training.read()
        if training.ended != "saved" or training.check()["generations"] <= before["generations"]:
            raise Failure("nothing was saved when there was room again")
    finally:
        if small:
            subprocess.run(["umount", folder])
        shutil.rmtree(folder, ignore_errors=True)
    return "a full " + ("file system (tmpfs of 16 MB)" if small else "disk (by a limit on the size of files)")


def read_only(target):
    """A folder that takes no writes: for root a file system mounted read-only, or a file in the place of a folder."""
    folder = tempfile.mkdtemp(prefix="isochron-readonly-")
    small = False
    try:
        training = Training(target, os.path.join(folder, "run"))
        small = mounted(folder, 16 << 20)
        training.start("2")
        training.read()
        before = training.check()
        if small:
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        elif os.geteuid() != 0:
            for kind in ("backup", "generations", "."):
                os.chmod(os.path.join(folder, "run", kind), 0o555)
        else:
            for kind in ("backup", "generations", "."):
                subprocess.run(["chattr", "+i", os.path.join(folder, "run", kind)], check=True)
        training.start("4")
        training.read()
        if training.process.returncode != 0 or training.ended != "unsaved" or "can't save" not in training.errors:
            raise Failure(f"a read-only folder must not end training: {training.errors}")
        if training.check() != before:
            raise Failure("states from before were touched")
    finally:
        if small:
            subprocess.run(["umount", folder])
        elif os.geteuid() == 0:
            subprocess.run(["chattr", "-R", "-i", folder], stderr=subprocess.DEVNULL)
        else:
            subprocess.run(["chmod", "-R", "u+w", folder])
        shutil.rmtree(folder, ignore_errors=True)
    return "a read-only folder"


def damage(target, isochron):
    """Each region of the newest state damaged in turn: the command says so, and training goes on from the one before."""
    folder = tempfile.mkdtemp(prefix="isochron-damage-")
    try:
        run = os.path.join(folder, "run")
        training = Training(target, run)
        training.start("3")
        training.read()
        place = os.path.join(run, "generations")

        def command(*arguments):
            return subprocess.run([isochron, "checkpoint", *arguments, "--json"], capture_output=True, text=True)

        listed = json.loads(command("ls", place).stdout)
        if [entry["valid"] for entry in listed] != [True, True]:
            raise Failure(f"two valid generations expected: {listed}")
        newest, older = listed[0]["path"], listed[1]
        if command("verify", place).returncode != 0:
            raise Failure("verify refuses sound states")
        for name in ("state.safetensors", "manifest.json"):
            path = os.path.join(newest, name)
            with open(path, "rb") as file:
                sound = file.read()
            for region in range(16):
                at = len(sound) * region // 16
                with open(path, "wb") as file:
                    file.write(sound[:at] + bytes([sound[at] ^ 0x40]) + sound[at + 1:])
                verified = command("verify", place)
                if verified.returncode != 1 or [e["valid"] for e in json.loads(verified.stdout)] != [False, True]:
                    raise Failure(f"{name}, byte {at}: not found out: {verified.stdout}")
                shown = command("show", place)
                if json.loads(shown.stdout)["total_steps"] != older["total_steps"] or newest not in shown.stderr:
                    raise Failure(f"{name}, byte {at}: did not fall back: {shown.stderr}")
                named = command("show", newest)
                if named.returncode == 0 or newest not in named.stderr:
                    raise Failure(f"{name}, byte {at}: showed another one than was named")
            with open(path, "wb") as file:
                file.write(sound)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "16 damaged regions of each file"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("isochron")
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    try:
        for test in (lambda: damage(options.target, options.isochron), lambda: full_disk(options.target),
                     lambda: read_only(options.target), lambda: kills(options.target, options.kills, options.seed)):
            print("passed:", test(), flush=True)
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")


if __name__ == "__main__":
    main()
