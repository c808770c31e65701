// The names of a sample's values: the vocabulary shared by what observes a run and what explains it.
//
//   sample.values[sample_key::rss_bytes] = rss;
//
// "Counter" values only grow; rules look at their differences. "Gauge" values are readings of the moment.
// Process values are sums over the process tree, with the CPU time of children that have ended.
#pragma once

namespace isochron::sample_key {

// Counters of the process tree.
inline constexpr char cpu_seconds[] = "cpu_seconds";              // user + system
inline constexpr char system_seconds[] = "system_seconds";        // the kernel's part of cpu_seconds
inline constexpr char main_cpu_seconds[] = "main_cpu_seconds";    // the training process' main thread alone
inline constexpr char run_delay_seconds[] = "run_delay_seconds";  // runnable, but waiting for a core (schedstat)
inline constexpr char io_wait_seconds[] = "io_wait_seconds";      // blocked on block I/O (delay accounting)
inline constexpr char major_faults[] = "major_faults";
inline constexpr char minor_faults[] = "minor_faults";
inline constexpr char read_bytes[] = "read_bytes";    // from storage
inline constexpr char write_bytes[] = "write_bytes";  // to storage
inline constexpr char read_chars[] = "read_chars";    // by read() and friends, cached or not
inline constexpr char write_chars[] = "write_chars";
inline constexpr char read_calls[] = "read_calls";
inline constexpr char write_calls[] = "write_calls";
inline constexpr char voluntary_switches[] = "voluntary_switches";
inline constexpr char involuntary_switches[] = "involuntary_switches";
inline constexpr char children_started[] = "children_started";  // processes seen to appear below the first one
inline constexpr char instructions[] = "instructions";          // hardware counters, where permitted
inline constexpr char cycles[] = "cycles";
inline constexpr char fp_assists[] = "fp_assists";  // denormals handled in microcode, where the CPU counts them

// Gauges of the process tree.
inline constexpr char rss_bytes[] = "rss_bytes";
inline constexpr char swap_bytes[] = "swap_bytes";            // of the process tree, out on swap
inline constexpr char subnormal_share[] = "subnormal_share";  // of its memory that holds floats below 1e-38
inline constexpr char open_files[] = "open_files";
inline constexpr char sockets[] = "sockets";
inline constexpr char threads[] = "threads";
inline constexpr char processes[] = "processes";
inline constexpr char workers[] = "workers";                            // data-loader worker processes
inline constexpr char output_bytes[] = "output_bytes";                  // total size of the files the run writes
inline constexpr char output_files[] = "output_files";                  // and how many there are
inline constexpr char output_written_bytes[] = "output_written_bytes";  // counter: sizes at each closing, summed
inline constexpr char disk_free_bytes[] = "disk_free_bytes";            // where the run writes

// The machine and its control group.
inline constexpr char cpus[] = "cpus";                                  // gauge: cores this run may use
inline constexpr char other_cpu_seconds[] = "other_cpu_seconds";        // counter: used by other processes
inline constexpr char steal_seconds[] = "steal_seconds";                // counter: taken by the hypervisor
inline constexpr char throttled_seconds[] = "throttled_seconds";        // counter: cgroup quota
inline constexpr char quota_cpus[] = "quota_cpus";                      // gauge: cgroup quota in cores, absent: none
inline constexpr char pressure_cpu_seconds[] = "pressure_cpu_seconds";  // counters: PSI "some"
inline constexpr char pressure_io_seconds[] = "pressure_io_seconds";
inline constexpr char pressure_memory_seconds[] = "pressure_memory_seconds";
inline constexpr char available_bytes[] = "available_bytes";  // gauge: memory the machine could still give
inline constexpr char swap_in_bytes[] = "swap_in_bytes";      // counters of the machine
inline constexpr char swap_out_bytes[] = "swap_out_bytes";
inline constexpr char mhz[] = "mhz";                                    // gauge: mean clock of the cores
inline constexpr char wall_minus_monotonic[] = "wall_minus_monotonic";  // gauge: jumps when the clock is set

}  // namespace isochron::sample_key
