#!/usr/bin/env python3
"""Prints what tf.data makes of the data sets in tests/data/stages_test.cpp. Needs tensorflow (bench/requirements.txt)."""
import tensorflow as tf

Range = tf.data.Dataset.range


def show(name, dataset):
    print(name, [element.tolist() for element in dataset.as_numpy_iterator()])


def windows(**options):
    return Range(7).window(3, **options).flat_map(lambda window: window.batch(3))


show("take(3)", Range(10).take(3))
show("skip(20)", Range(10).skip(20))
show("shard(3, 1)", Range(10).shard(3, 1))
show("skip(2).take(3).shard(2, 0)", Range(10).skip(2).take(3).shard(2, 0))
show("repeat().take(7)", Range(5).repeat().take(7))
show("windows", windows())
show("windows, shift 2", windows(shift=2))
show("windows, shift 1, stride 2, dropped", windows(shift=1, stride=2, drop_remainder=True))
show("windows, shift 5", windows(shift=5))
show("scan", Range(5).scan(tf.constant(0, tf.int64), lambda state, x: (state + x, state + x)))
show("rebatch", Range(7).batch(2).rebatch(3))
show("flat_map", Range(4).flat_map(Range))
repeated = lambda n: tf.data.Dataset.from_tensors(n).repeat(n)
show("interleave", Range(1, 6).interleave(repeated, cycle_length=2, block_length=2))
lengths = Range(1, 4).map(lambda n: tf.fill([n], n))
show("padded", lengths.padded_batch(3))
show("padded to 4", lengths.padded_batch(2, padded_shapes=[4], padding_values=tf.constant(-1, tf.int64)))
show("padded corner", Range(1, 3).map(lambda n: tf.fill([n, 3 - n], n)).padded_batch(2))
sequences = Range(1, 8).map(lambda n: tf.fill([n % 4 + 1], n))
show("buckets", sequences.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 4], [2, 2, 2]))
show("group_by_window", Range(7).group_by_window(lambda x: x % 2, lambda key, group: group.batch(10), 2))
keys = tf.data.Dataset.from_tensor_slices(tf.constant([5, 3, 5, 3, 9, 1, 5, 3, 9], tf.int64))
show("group_by_window, left at the end", keys.group_by_window(lambda x: x, lambda key, group: group.batch(3), 3))
ones_to = tf.data.Dataset.from_tensor_slices(tf.constant([1, 5, 2, 6, 3], tf.int64)).map(lambda n: tf.range(1, n + 1))
show("buckets to their boundaries", ones_to.bucket_by_sequence_length(
    lambda x: tf.shape(x)[0], [3, 7], [2, 2, 2], pad_to_bucket_boundary=True))
