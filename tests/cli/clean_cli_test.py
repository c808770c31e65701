"""isochron clean: shows what killed runs left, removes it when told to, and leaves living runs alone."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

command = sys.argv[1]


def clean(folder, *arguments):
    done = subprocess.run([command, "clean", *arguments], env={**os.environ, "ISOCHRON_TMPDIR": folder}, text=True,
                          capture_output=True, check=True)
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    assert "Nothing is left behind" in clean(folder)
    assert not os.listdir(folder), "a command that needs no temporary file makes no folder"

    root = pathlib.Path(folder) / f"isochron-{os.getuid()}"
    outside = pathlib.Path(folder) / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")

    dead = root / "run-1-1"
    dead.mkdir(parents=True)
    (dead / "owner").write_text("pid 999999999\nstart 1\nboot none\ncommand train \"it\"\n")
    (dead / "data").write_bytes(b"x" * 100_000)
    (dead / "link").symlink_to(outside)

    alive = root / "run-2-2"
    alive.mkdir()
    stat = pathlib.Path(f"/proc/{os.getpid()}/stat").read_text()
    start = stat.rsplit(")", 1)[1].split()[19]
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (alive / "owner").write_text(f"pid {os.getpid()}\nstart {start}\nboot {boot}\ncommand test\n")

    shown = clean(folder)
    assert "left behind" in shown and "in use" in shown and "would be removed" in shown, shown
    assert (dead / "data").exists(), "a look removes nothing"
    described = json.loads(clean(folder, "--json"))
    assert [f["alive"] for f in described["folders"]] == [False, True], described
    assert described["folders"][0]["command"] == 'train "it"' and described["folders"][0]["files"] == 3, described
    assert not any(f["removed"] for f in described["folders"])

    done = json.loads(clean(folder, "--yes", "--json"))
    assert {f["path"]: f["removed"] for f in done["folders"]} == {str(dead): True, str(alive): False}, done
    assert not dead.exists() and alive.exists() and (outside / "precious").exists()
    assert "Nothing is left behind" in clean(folder, "--yes")
print("clean: ok")
