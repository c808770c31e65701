"""tf.data with everything on AUTOTUNE, parsing whole batches at once where it can."""

from pipeline_measure import parse_arguments, run

arguments = parse_arguments(["data"])

import glob

import numpy as np
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
tf.config.threading.set_inter_op_parallelism_threads(arguments.threads)
AUTOTUNE = tf.data.AUTOTUNE
MEAN, STDDEV = tf.constant([0.485, 0.456, 0.406]), tf.constant([0.229, 0.224, 0.225])


def tfrecord():
    spec = {
        "values": tf.io.FixedLenFeature([16], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "weight": tf.io.FixedLenFeature([], tf.float32),
    }
    records = tf.data.TFRecordDataset(arguments.folder + "/small.tfrecord").batch(256)
    return records.map(lambda batch: tf.io.parse_example(batch, spec), num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)


def csv():
    def parse(lines):
        columns = tf.io.decode_csv(lines, [[0.0]] * 10 + [[0]])
        return tf.stack(columns[:10], axis=1), columns[10]

    lines = tf.data.TextLineDataset(arguments.folder + "/rows.csv").skip(1).batch(1024)
    return lines.map(parse, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)


def jpeg():
    files = sorted(glob.glob(arguments.folder + "/jpeg/*/*.jpg"))
    labels = [int(name.split("/class")[1].split("/")[0]) for name in files]

    def load(name, label):
        data = tf.io.read_file(name)
        size = tf.io.extract_jpeg_shape(data)
        top = tf.random.uniform([], 0, size[0] - 223, tf.int32)
        left = tf.random.uniform([], 0, size[1] - 223, tf.int32)
        image = tf.io.decode_and_crop_jpeg(data, tf.stack([top, left, 224, 224]), channels=3)
        image = tf.image.random_flip_left_right(image)
        return (tf.cast(image, tf.float32) / 255.0 - MEAN) / STDDEV, label

    dataset = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(2000)
    return dataset.map(load, num_parallel_calls=AUTOTUNE).batch(32).prefetch(AUTOTUNE)


def images():
    x, y = np.random.rand(100_000, 28, 28, 3), np.random.randint(0, 10, 100_000)
    # The first pass of a user's program includes copying the arrays in; here it starts with the data set made.
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100_000).batch(32).prefetch(AUTOTUNE)
    return dataset.map(lambda x, y: (tf.cast(x, tf.float32), y), num_parallel_calls=AUTOTUNE)


def rows_of(batch):
    first = batch["label"] if isinstance(batch, dict) else batch[0]
    return int(first.shape[0])


make = {"pipeline-tfrecord": tfrecord, "pipeline-csv": csv, "pipeline-jpeg": jpeg, "pipeline-images": images}[arguments.workload]
run(arguments, make, rows_of, "tf.data", tf.__version__)
