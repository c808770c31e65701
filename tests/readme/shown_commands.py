"""Runs every `$ isochron …` that a page shows in a console block, and compares what it prints with what the page shows.

    shown_commands.py ISOCHRON PAGE…
"""
import re
import shlex
import subprocess
import sys
from pathlib import Path


def main(command, pages):
    shown = failed = 0
    for page in pages:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.S):
            first, _, expected = block.partition("\n")
            words = shlex.split(first.removeprefix("$ "))
            assert words[0] == "isochron", f"{page.name} shows {first!r}, which is no isochron command"
            got = subprocess.run([command, *words[1:]], cwd=page.parent, capture_output=True, text=True, timeout=60)
            shown += 1
            if got.stdout.rstrip() != expected.rstrip():
                failed += 1
                print(f"{page.name}: {first}\nshown:\n{expected}\nprinted:\n{got.stdout}{got.stderr}")
    print(f"{shown} commands shown, {failed} print something else")
    return 1 if failed or not shown else 0


sys.exit(main(sys.argv[1], [Path(page) for page in sys.argv[2:]]))
