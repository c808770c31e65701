"""Waits until the machine has nothing left to do, so that no contestant pays for the one before it.

A process of a gigabyte leaves work behind when it ends: the kernel hands its pages back to the host, on one of two CPUs,
for some tenths of a second. Everybody waits alike, before every run.
"""

import os
import time

WINDOW_SECONDS = 0.25
BUSY = 0.05  # of one CPU: the share that ends the waiting
PATIENCE_SECONDS = 10


def busy_seconds(stat):
    """What all CPUs together have done since boot, by the first line of /proc/stat: idle and waiting for disks aside."""
    ticks = [int(field) for field in stat.split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def read_stat():
    with open("/proc/stat") as file:
        return file.read()


def wait_until_idle(read=read_stat, clock=time.monotonic, sleep=time.sleep):
    """Returns whether it became idle; on a machine that others use it gives up after a while."""
    deadline = clock() + PATIENCE_SECONDS
    before = busy_seconds(read())
    while clock() < deadline:
        sleep(WINDOW_SECONDS)
        now = busy_seconds(read())
        if now - before <= BUSY * WINDOW_SECONDS:
            return True
        before = now
    return False
