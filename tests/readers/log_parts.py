"""What the lists of unusual logs are made of: runs by their epochs' seconds, and lines that tell them."""
import itertools

LATER, FIRST, EVEN, GROWING = (60, 61, 60, 150, 152), (80, 20, 21, 20), (42, 41, 42, 42), (10, 15, 20, 25, 30, 35)
SYMPTOM = {LATER: "slower-later", FIRST: "slow-first", EVEN: "healthy", GROWING: "slowing"}


class Logs(list):
    """(name, symptom, seconds of the epochs, text, cause or None), one for each log."""

    def log(self, name, symptom, epochs, text, cause=None):
        self.append((name, symptom, list(epochs), text, cause))

    def each(self, name, times, line, head="", start=1, tail="", end="\n", symptom=None, cause=None):
        """`line(epoch, seconds, seconds so far)` for every epoch."""
        lines = (line(e, s, t) + end for (e, s), t in zip(enumerate(times, start), itertools.accumulate(times)))
        self.log(name, symptom or SYMPTOM[times], times, head + "".join(lines) + tail, cause)


def clock(t, form="{:02}:{:02}:{:02}", hour=9):
    return form.format(hour + int(t) // 3600, int(t) // 60 % 60, int(t) % 60)


def steps(times, count, line, points=(0.25, 0.5, 0.75, 1.0)):
    """`line(epoch, step, seconds a step, seconds so far)` some times an epoch."""
    begun, text = 0, ""
    for e, s in enumerate(times, 1):
        for part in points:
            text += line(e, int(count * part), s / count, begun + s * part) + "\n"
        begun += s
    return text
