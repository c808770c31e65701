"""isochron checkpoint ls|verify|show on whatever may lie in a folder: what is wrong is said, and the exit code tells."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

command, trainer = sys.argv[1:]


def checkpoint(action, path, *options):
    """Exit code, stdout, stderr; a hang is a failure."""
    done = subprocess.run([command, "checkpoint", action, str(path), *options], text=True, capture_output=True,
                          timeout=60, errors="replace")
    assert done.returncode in (0, 1, 2), (action, path, done)
    return done.returncode, done.stdout, done.stderr


def refused(path, *words, actions=("ls", "verify", "show")):
    for action in actions:
        code, out, errors = checkpoint(action, path)
        assert code != 0, (action, path, out, errors)
        said = out + errors
        assert any(word in said for word in words), (action, path, words, said)
        assert "bug" not in said, (action, path, said)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    subprocess.run([trainer, folder / "run", "3"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    good = folder / "run" / "last"
    for action in ("ls", "verify", "show"):
        assert checkpoint(action, good)[0] == 0, checkpoint(action, good)
        assert checkpoint(action, folder / "run")[0] == 0, checkpoint(action, folder / "run")
        json.loads(checkpoint(action, good, "--json")[1])

    refused(folder / "nothing", "No such file or directory")
    (folder / "empty").mkdir()
    refused(folder / "empty", "no checkpoint, and there is none in it")
    (folder / "notes.txt").write_text("a text")
    refused(folder / "notes.txt", "no checkpoint, which is a folder")
    refused("/dev/null", "no checkpoint, which is a folder")
    refused("", "No such file or directory", "required")
    for ending in ("safetensors", "npz", "weights.h5", "iso"):
        foreign = folder / f"foreign.{ending}"
        for content in (b"", b"no weights at all", b"\xff" * 64, bytes(8)):
            foreign.write_bytes(content)
            refused(foreign, str(foreign), actions=("verify", "show"))
    os.mkfifo(folder / "pipe.safetensors")
    refused(folder / "pipe.safetensors", "no checkpoint, which is a folder")
    os.symlink(folder / "gone", folder / "dangling")
    refused(folder / "dangling", "No such file or directory")
    os.symlink(folder / "loop", folder / "loop")
    refused(folder / "loop", "symbolic links")

    copies = 0

    def copy():
        global copies
        copies += 1
        shutil.copytree(good, folder / f"copy-{copies}")
        return folder / f"copy-{copies}"

    half = copy()
    (half / "manifest.json").unlink()
    refused(half, "incomplete: the manifest, which is written last, is missing")
    stateless = copy()
    (stateless / "state.safetensors").unlink()
    refused(stateless, "state.safetensors is missing")
    cut = copy()
    with open(cut / "state.safetensors", "r+b") as state:
        state.truncate(1000)
    refused(cut, "has 1000 bytes, its manifest says")
    for content, words in ((b"", "empty"), (b"{}", "foreign"), (b"[1]", "foreign"), (b"\xff\xfe\x00", "foreign"),
                           (b'{"format": "isochron-checkpoint"}', "checksum"), (b"[" * 100_000, "foreign")):
        odd = copy()
        (odd / "manifest.json").write_bytes(content)
        refused(odd, words)
    changed = copy()
    bytes_ = bytearray((changed / "state.safetensors").read_bytes())
    bytes_[-5] ^= 1
    (changed / "state.safetensors").write_bytes(bytes_)
    assert checkpoint("ls", changed)[0] == 0, "ls reads manifests alone"
    refused(changed, "does not match its checksum", actions=("verify", "show"))
    for part in ("manifest.json", "state.safetensors"):
        folders = copy()
        (folders / part).unlink()
        (folders / part).mkdir()
        refused(folders, "no file", "has 4096 bytes", "bytes, its manifest says")
        pipes = copy()
        (pipes / part).unlink()
        os.mkfifo(pipes / part)
        refused(pipes, "no file", "has 0 bytes")

    # Among others: ls and verify tell of all, show takes the newest that is valid and says what it passed over.
    mixed = folder / "mixed"
    mixed.mkdir()
    shutil.copytree(good, mixed / "good")
    shutil.copytree(changed, mixed / "changed")
    shutil.copytree(half, mixed / "half")
    (mixed / "note").write_text("a text")
    code, out, _ = checkpoint("ls", mixed)
    assert code == 1 and "UNUSABLE" in out and "good" in out, out
    code, out, _ = checkpoint("verify", mixed)
    assert code == 1 and out.count("DAMAGED") == 2 and out.count("valid    ") == 1, out
    code, out, errors = checkpoint("show", mixed)
    assert code == 0 and "good" in out and "passed over" in errors, (out, errors)
    assert [entry["valid"] for entry in json.loads(checkpoint("verify", mixed, "--json")[1])].count(True) == 1
    shutil.rmtree(mixed / "good")
    refused(mixed, "UNUSABLE", "DAMAGED", "there is no valid checkpoint among 2")

    # What a living process is writing is no damage; what a dead one left is said.
    with subprocess.Popen([trainer, folder / "live"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as living:
        living.stdout.readline()
        for line in living.stdout:
            if line.startswith(b"saved last"):
                break
        for _ in range(20):
            code, out, errors = checkpoint("ls", folder / "live")
            assert code == 0 or "is being written" in errors, (out, errors)
        living.kill()
        living.stdout.read()

    if os.getuid() == 0:  # root reads everything
        os.chmod(folder, 0o755)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        can = shutil.which("setpriv") and subprocess.run([*as_nobody, "true"], check=False).returncode == 0
    else:
        as_nobody, can = [], True
    can = can and subprocess.run([*as_nobody, command, "--version"], capture_output=True, check=False).returncode == 0
    for hidden in (copy(), copy() / "manifest.json", copy() / "state.safetensors") if can else ():
        os.chmod(hidden, 0)
        where = hidden if hidden.is_dir() else hidden.parent
        for action in ("verify", "show"):
            done = subprocess.run([*as_nobody, command, "checkpoint", action, where], text=True, capture_output=True,
                                  timeout=60, check=False)
            said = done.stdout + done.stderr
            assert done.returncode != 0 and "Permission denied" in said, (action, hidden, said)
        os.chmod(hidden, 0o755)
print("checkpoint: ok")
