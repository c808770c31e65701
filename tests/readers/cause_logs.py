"""Logs that tell by some word or number of theirs why epochs are slow."""
LOGS = []
THIRDS = (2, 2, 6, 2, 2, 6.2, 2, 2, 6.1)


def say(name, symptom, cause, times, before=None, line="epoch {e}/{n} loss 0.3 time {s:.1f}s\n", head=""):
    """`before`: words that stand before the line of an epoch, by its number."""
    lines = ((before or {}).get(e, "") + line.format(e=e, n=len(times), s=s) for e, s in enumerate(times, 1))
    LOGS.append((name, symptom, list(times), head + "".join(lines), cause))


say("weights-are-written", "uneven", "disk.checkpoint", THIRDS, {e: f"=> writing weights to out/model_{e}.pth\n" for e in (3, 6, 9)})
say("validation-has-a-line", "uneven", "train.validation", THIRDS, {e: "  validation: acc=0.91 loss=0.33\n" for e in (3, 6, 9)})
say("evaluating", "uneven", "train.validation", THIRDS, {e: "Evaluating on 50000 images...\n" for e in (3, 6, 9)})
LOGS.append(("validation-metrics-in-some-lines", "uneven", list(THIRDS), "".join(
    f"epoch {e}/9 loss 0.3{' val loss 0.41 val acc 0.9' if e % 3 == 0 else ''} time {s}s\n" for e, s in enumerate(THIRDS, 1)), "train.validation"))
LOGS.append(("held-out-accuracy-in-some-lines", "uneven", list(THIRDS), "".join(
    f"Epoch {e}/9  train_loss 0.3{'  held-out accuracy 0.41' if e % 3 == 0 else ''}  [{s}s]\n" for e, s in enumerate(THIRDS, 1)), "train.validation"))
say("image-size-has-a-line", "slowing", "compute.more-work", (2, 2.1, 4, 4.2, 8, 8.1, 16, 16.2),
    {e: f"Progressive resizing: image size {s}x{s}\n" for e, s in ((1, 16), (3, 24), (5, 32), (7, 48))})
LOGS.append(("sequences-grow", "slowing", [2, 4.1, 5.8, 8.3, 9.9, 12.2], "".join(
    f"epoch {e}/6 seq_len {64 * e} loss 0.3 time {s}s\n" for e, s in enumerate((2, 4.1, 5.8, 8.3, 9.9, 12.2), 1)), "compute.more-work"))
say("profiler-is-announced", "slower-later", "compute.profiler", (5, 5, 5, 12, 12, 12), {4: "Starting profiler, tracing to ./prof\n"})
say("backbone-unfrozen", "slower-later", "compute.more-work", (5, 5, 5, 12, 12, 12), {4: "Unfreezing backbone\n"})
say("compiling-is-announced", "slow-first", "startup.graph", (30, 3, 3, 3), head="compiling the model with torch.compile ...\n")
say("cache-is-announced", "slow-first", "input.cache-fill", (30, 3, 3, 3), head="building feature cache (this happens once)\n")
for name, words in (("arrow", "  -> checkpoint out/ckpt (epoch {e})"), ("wrote", "wrote out/epoch_{e}.npz"), ("dumped", "dumped optimizer state to disk"),
                    ("exported", "Exported model to out/{e}.onnx"), ("at-a-step", "[checkpoint] step {e}00 | 1.2 GB")):
    say("checkpoint-" + name, "uneven", "disk.checkpoint", THIRDS, {e: words.format(e=e) + "\n" for e in (3, 6, 9)})
for name, words in (("validating", "Validating..."), ("brackets", "   [val] top1 71.2 top5 90.1")):
    say("validation-" + name, "uneven", "train.validation", THIRDS, {e: words + "\n" for e in (3, 6, 9)})
LOGS.append(("lengths-grow", "slowing", [2, 4.1, 5.8, 8.3, 9.9, 12.2], "".join(
    f"epoch {e}/6 loss 0.3 max_len {64 * e} time {s}s\n" for e, s in enumerate((2, 4.1, 5.8, 8.3, 9.9, 12.2), 1)), "compute.more-work"))
say("fine-tuning-stage", "slower-later", "compute.more-work", (5, 5, 5, 12, 12, 12), {4: "Stage 2: fine-tuning all layers\n"})
