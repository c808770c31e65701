// All rules, one file each in rules/. A rule looks at one cause, with whatever evidence the record has: printed
// times, facts from the log, profiles, samples. It adds a finding or nothing.
#pragma once

#include <vector>

#include "isochron/diagnose/case.h"

namespace isochron::rules {

void startup_import(const Case& patient, std::vector<Finding>& findings);
void startup_graph(const Case& patient, std::vector<Finding>& findings);
void startup_init(const Case& patient, std::vector<Finding>& findings);
void input_cold_read(const Case& patient, std::vector<Finding>& findings);
void input_shuffle_fill(const Case& patient, std::vector<Finding>& findings);
void input_cache_fill(const Case& patient, std::vector<Finding>& findings);
void input_worker_start(const Case& patient, std::vector<Finding>& findings);
void input_bound(const Case& patient, std::vector<Finding>& findings);
void compute_retrace(const Case& patient, std::vector<Finding>& findings);
void compute_more_work(const Case& patient, std::vector<Finding>& findings);
void compute_denormals(const Case& patient, std::vector<Finding>& findings);
void compute_profiler(const Case& patient, std::vector<Finding>& findings);
void memory_graph_growth(const Case& patient, std::vector<Finding>& findings);
void memory_leak(const Case& patient, std::vector<Finding>& findings);
void memory_swap(const Case& patient, std::vector<Finding>& findings);
void disk_checkpoint(const Case& patient, std::vector<Finding>& findings);
void disk_temp_growth(const Case& patient, std::vector<Finding>& findings);
void disk_logging(const Case& patient, std::vector<Finding>& findings);
void machine_contention(const Case& patient, std::vector<Finding>& findings);
void machine_throttled(const Case& patient, std::vector<Finding>& findings);
void machine_clock(const Case& patient, std::vector<Finding>& findings);
void resume_skip(const Case& patient, std::vector<Finding>& findings);
void train_validation(const Case& patient, std::vector<Finding>& findings);
void train_callback(const Case& patient, std::vector<Finding>& findings);
void tensorflow_padding(const Case& patient, std::vector<Finding>& findings);
void outside_operations(const Case& patient, std::vector<Finding>& findings);
void stuck(const Case& patient, std::vector<Finding>& findings);
void died(const Case& patient, std::vector<Finding>& findings);

inline constexpr Rule kAll[] = {
    died,
    stuck,
    startup_import,
    startup_graph,
    startup_init,
    input_cold_read,
    input_shuffle_fill,
    input_cache_fill,
    input_worker_start,
    input_bound,
    compute_retrace,
    compute_more_work,
    compute_denormals,
    compute_profiler,
    memory_graph_growth,
    memory_leak,
    memory_swap,
    disk_checkpoint,
    disk_temp_growth,
    disk_logging,
    machine_contention,
    machine_throttled,
    machine_clock,
    resume_skip,
    train_validation,
    train_callback,
    tensorflow_padding,
    outside_operations,
};

}  // namespace isochron::rules
