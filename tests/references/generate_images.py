"""Writes images/: small JPEG and PNG files of every kind by Pillow, what Pillow decodes them to, and a resize by TensorFlow."""

import os
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from PIL import Image

folder = Path(__file__).parent / "images"
folder.mkdir(exist_ok=True)
y, x = np.mgrid[0:37, 0:45]
rgb = np.stack([128 + 100 * np.sin(x / 5), 128 + 100 * np.cos(y / 4), (x * y) % 256], -1).clip(0, 255).astype(np.uint8)
picture = Image.fromarray(rgb)
grey, rgba = picture.convert("L"), picture.copy()
rgba.putalpha(Image.fromarray((x * 5 % 256).astype(np.uint8)))

picture.save(folder / "420.jpg", quality=85, subsampling=2)
picture.save(folder / "444.jpg", quality=85, subsampling=0)
picture.save(folder / "progressive.jpg", quality=85, progressive=True)
grey.save(folder / "grey.jpg", quality=85)
picture.convert("CMYK").save(folder / "cmyk.jpg", quality=95)
picture.save(folder / "rgb.png")
grey.save(folder / "grey.png")
rgba.save(folder / "rgba.png")
picture.quantize(32).save(folder / "palette.png")
Image.fromarray((x * 1400).astype(np.uint16)).save(folder / "sixteen.png")
grey.point(lambda v: 255 * (v > 128)).convert("1").save(folder / "one_bit.png")
for name in ("420.jpg", "444.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "grey.png", "rgba.png", "palette.png", "one_bit.png"):
    np.save(folder / f"{name}.npy", np.asarray(Image.open(folder / name).convert("RGB")))
np.save(folder / "cmyk.jpg.npy", rgb)
np.save(folder / "sixteen.png.npy", np.repeat(np.round(x * 1400 / 257)[..., None], 3, -1).astype(np.uint8))
for height, width in ((20, 60), (64, 31)):
    resized = tf.image.resize(rgb, (height, width)).numpy()
    np.save(folder / f"resized_{height}_{width}.npy", resized.astype(np.float16))
