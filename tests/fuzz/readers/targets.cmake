# What is fuzzed: readers of runs and formats of data. Seeds lie in corpus/ or, by the same names, in tests/references/.
set(fuzz_runs console kineto xplane tfevents table wrapped document record)
set(fuzz_formats csv example tfrecord npy npz idx image hdf5 safetensors manifest)
set(fuzz_targets ${fuzz_runs} ${fuzz_formats})
