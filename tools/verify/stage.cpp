// SPDX-License-Identifier: MIT
// The list of stages.
#include "stage.hpp"

namespace verify {

const std::vector<Stage>& stages() {
    static const std::vector<Stage> all = {
        {"probe", "Reads versions, parameters and the shape of each GPU. Changes nothing.", "none",
         run_probe},
        {"one-queue",
         "Stops one queue of its own in the middle of a kernel that computes a checksum, and "
         "resumes it, again and again.",
         "a stop that is not confirmed makes the driver reset the GPU under the firmware scheduler",
         run_one_queue},
        {"queues", "Does the same with 1, 8 and 30 queues at once, in one call.",
         "as for one-queue", run_queues},
        {"submissions",
         "Submits work to a held queue, and checks that it starts only after the resume.",
         "as for one-queue", run_submissions},
        {"neighbours", "Stops one of two queues and checks that the other one keeps running.",
         "as for one-queue", run_neighbours},
        {"processes",
         "Stops the queue of a child process from outside, and resumes it by ending the operator.",
         "as for one-queue", run_processes},
        {"priorities",
         "Serves requests with short kernels beside a child process whose kernels fill the GPU: "
         "each alone, both together, and with the child held back during requests: its launches "
         "(Lv1), its kernels (Lv2), its waves in the middle of a kernel (Lv3).",
         "as for one-queue; the GPU is full for some seconds", run_priorities, true},
        {"latency",
         "Measures stops and resumes against the bytes that are saved, from one workgroup to a "
         "full GPU, and compares them with the prediction.",
         "as for one-queue; the GPU is full for some seconds", run_latency, true},
        {"fast", "Stops with the shortest grace period (FAST).",
         "firmware that ignores it: the driver detects it and no longer offers FAST", run_fast,
         true},
        {"checkpoint",
         "Stops a queue, keeps a copy of its MQD and starts it from that copy (CHECKPOINT).",
         "as for one-queue", run_checkpoint},
        {"sdma", "Asks the driver to stop an SDMA queue of its own.",
         "an SDMA engine that does not stop is reset with the GPU", run_sdma},
        {"memory",
         "Moves the VRAM of a held queue's process, a quarter of what is free or 4 GiB, to system "
         "memory and back, three times.",
         "as for one-queue", run_memory},
        {"xnack", "Turns XNACK on for a child process and stops its queue.", "as for one-queue",
         run_xnack},
        {"freeze", "Freezes and thaws a cgroup with a child process, with kfd-preempt.",
         "as for one-queue", run_freeze},
        {"gpus", "Stops queues on every GPU of the machine in one call.",
         "as for one-queue, on all GPUs", run_gpus},
        {"program",
         "Runs the program given after --, a HIP program or a script that starts one, alone and "
         "then while its queues are stopped and resumed; its exit status must be 0 if its results "
         "are right.",
         "as for one-queue, and the work of that program", run_given_program},
        {"overhead",
         "Only if it is named: times the program given after --, bare, with libxpreempt's hook, "
         "with an xqueue for each stream, and under an xpreemptd of its own, idle or busy; ten "
         "times each, one way after the other.",
         "none of its own", run_overhead, true, true},
    };
    return all;
}

} // namespace verify
