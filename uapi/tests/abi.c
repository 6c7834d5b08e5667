/* SPDX-License-Identifier: MIT */
/* Numbers, sizes and offsets of the ABI, checked by the compiler alone. */
#include "kfd_preempt.h"

#include <stddef.h>

/* Works in C99, which has no static assertion. */
#define CHECK(name, condition) extern char check_##name[(condition) ? 1 : -1]
#define CHECK_SIZE(type, bytes) CHECK(type##_size, sizeof(struct type) == (bytes))
#define CHECK_AT(type, member, bytes) \
    CHECK(type##_##member, offsetof(struct type, member) == (bytes))
#define CHECK_VALUE(name, value) CHECK(name##_value, (name) == (value))

CHECK_VALUE(AMDKFD_IOC_PREEMPT_QUEUE, 0xc0104b87);
CHECK_VALUE(AMDKFD_IOC_RESUME_QUEUE, 0xc0104b88);
CHECK_VALUE(AMDKFD_IOC_PREEMPT_QUERY, 0xc0404bf0);
CHECK_VALUE(AMDKFD_IOC_PREEMPT_SWITCH, 0xc0304bf1);
CHECK_VALUE(AMDKFD_IOC_PREEMPT_STATUS, 0xc0c84bf2);
CHECK_VALUE(AMDKFD_IOC_PREEMPT_WATCH, 0xc0204bf3);
CHECK_VALUE(KFD_PREEMPT_WATCH_ADD, 0xc0204bf4);
CHECK_VALUE(KFD_PREEMPT_WATCH_REMOVE, 0x40084bf5);
CHECK_VALUE(KFD_PREEMPT_WATCH_ARM, 0xc0204bf6);

CHECK_SIZE(kfd_ioctl_preempt_queue_args, 16);
CHECK_AT(kfd_ioctl_preempt_queue_args, queue_id, 0);
CHECK_AT(kfd_ioctl_preempt_queue_args, preempt_type, 4);
CHECK_AT(kfd_ioctl_preempt_queue_args, timeout_ms, 8);
CHECK_AT(kfd_ioctl_preempt_queue_args, flags, 12);

CHECK_SIZE(kfd_ioctl_resume_queue_args, 16);
CHECK_AT(kfd_ioctl_resume_queue_args, queue_id, 0);
CHECK_AT(kfd_ioctl_resume_queue_args, flags, 4);
CHECK_AT(kfd_ioctl_resume_queue_args, pad, 8);

CHECK_SIZE(kfd_ioctl_preempt_query_args, 64);
CHECK_AT(kfd_ioctl_preempt_query_args, gpu_id, 0);
CHECK_AT(kfd_ioctl_preempt_query_args, flags, 4);
CHECK_AT(kfd_ioctl_preempt_query_args, abi_major, 8);
CHECK_AT(kfd_ioctl_preempt_query_args, abi_minor, 12);
CHECK_AT(kfd_ioctl_preempt_query_args, caps, 16);
CHECK_AT(kfd_ioctl_preempt_query_args, sched_mode, 24);
CHECK_AT(kfd_ioctl_preempt_query_args, type_mask, 28);
CHECK_AT(kfd_ioctl_preempt_query_args, num_xcc, 32);
CHECK_AT(kfd_ioctl_preempt_query_args, max_batch, 36);
CHECK_AT(kfd_ioctl_preempt_query_args, max_timeout_ms, 40);
CHECK_AT(kfd_ioctl_preempt_query_args, degraded, 44);
CHECK_AT(kfd_ioctl_preempt_query_args, reserved, 48);

CHECK_SIZE(kfd_preempt_switch_entry, 48);
CHECK_AT(kfd_preempt_switch_entry, queue_id, 0);
CHECK_AT(kfd_preempt_switch_entry, op, 4);
CHECK_AT(kfd_preempt_switch_entry, preempt_type, 6);
CHECK_AT(kfd_preempt_switch_entry, result, 8);
CHECK_AT(kfd_preempt_switch_entry, state, 12);
CHECK_AT(kfd_preempt_switch_entry, holds, 16);
CHECK_AT(kfd_preempt_switch_entry, target_pid, 20);
CHECK_AT(kfd_preempt_switch_entry, queue_uid, 24);
CHECK_AT(kfd_preempt_switch_entry, latency_ns, 32);
CHECK_AT(kfd_preempt_switch_entry, gpu_id, 40);
CHECK_AT(kfd_preempt_switch_entry, reserved, 44);

CHECK_SIZE(kfd_ioctl_preempt_switch_args, 48);
CHECK_AT(kfd_ioctl_preempt_switch_args, flags, 0);
CHECK_AT(kfd_ioctl_preempt_switch_args, target_fd, 4);
CHECK_AT(kfd_ioctl_preempt_switch_args, target_pid, 8);
CHECK_AT(kfd_ioctl_preempt_switch_args, timeout_ms, 12);
CHECK_AT(kfd_ioctl_preempt_switch_args, entries_ptr, 16);
CHECK_AT(kfd_ioctl_preempt_switch_args, num_entries, 24);
CHECK_AT(kfd_ioctl_preempt_switch_args, num_done, 28);
CHECK_AT(kfd_ioctl_preempt_switch_args, hw_ns, 32);
CHECK_AT(kfd_ioctl_preempt_switch_args, reserved, 40);

/* 112 in ABI 1.0, 144 in 1.1 */
CHECK_SIZE(kfd_ioctl_preempt_status_args, 200);
CHECK_AT(kfd_ioctl_preempt_status_args, target_fd, 0);
CHECK_AT(kfd_ioctl_preempt_status_args, target_pid, 4);
CHECK_AT(kfd_ioctl_preempt_status_args, queue_id, 8);
CHECK_AT(kfd_ioctl_preempt_status_args, flags, 12);
CHECK_AT(kfd_ioctl_preempt_status_args, state, 16);
CHECK_AT(kfd_ioctl_preempt_status_args, holds, 20);
CHECK_AT(kfd_ioctl_preempt_status_args, status, 24);
CHECK_AT(kfd_ioctl_preempt_status_args, pad, 28);
CHECK_AT(kfd_ioctl_preempt_status_args, queue_uid, 32);
CHECK_AT(kfd_ioctl_preempt_status_args, preempts, 40);
CHECK_AT(kfd_ioctl_preempt_status_args, resumes, 48);
CHECK_AT(kfd_ioctl_preempt_status_args, failures, 56);
CHECK_AT(kfd_ioctl_preempt_status_args, held_ns, 64);
CHECK_AT(kfd_ioctl_preempt_status_args, last_preempt_ns, 72);
CHECK_AT(kfd_ioctl_preempt_status_args, last_resume_ns, 80);
CHECK_AT(kfd_ioctl_preempt_status_args, max_preempt_ns, 88);
CHECK_AT(kfd_ioctl_preempt_status_args, reserved, 96);
CHECK_AT(kfd_ioctl_preempt_status_args, write_index, 112);
CHECK_AT(kfd_ioctl_preempt_status_args, read_index, 120);
CHECK_AT(kfd_ioctl_preempt_status_args, doorbell, 128);
CHECK_AT(kfd_ioctl_preempt_status_args, valid, 132);
CHECK_AT(kfd_ioctl_preempt_status_args, last_signal, 136);
CHECK_AT(kfd_ioctl_preempt_status_args, vram_bytes, 144);
CHECK_AT(kfd_ioctl_preempt_status_args, yielded_bytes, 152);
CHECK_AT(kfd_ioctl_preempt_status_args, pinned_bytes, 160);
CHECK_AT(kfd_ioctl_preempt_status_args, shared_bytes, 168);
CHECK_AT(kfd_ioctl_preempt_status_args, peer_bytes, 176);
CHECK_AT(kfd_ioctl_preempt_status_args, yield_ns, 184);
CHECK_AT(kfd_ioctl_preempt_status_args, reclaim_ns, 192);

CHECK_SIZE(kfd_ioctl_preempt_watch_args, 32);
CHECK_AT(kfd_ioctl_preempt_watch_args, flags, 0);
CHECK_AT(kfd_ioctl_preempt_watch_args, fd, 4);
CHECK_AT(kfd_ioctl_preempt_watch_args, reserved, 8);

CHECK_SIZE(kfd_preempt_watch_event, 32);
CHECK_AT(kfd_preempt_watch_event, cookie, 0);
CHECK_AT(kfd_preempt_watch_event, ns, 8);
CHECK_AT(kfd_preempt_watch_event, type, 16);
CHECK_AT(kfd_preempt_watch_event, gpu_id, 20);
CHECK_AT(kfd_preempt_watch_event, doorbell, 24);
CHECK_AT(kfd_preempt_watch_event, count, 28);

CHECK_SIZE(kfd_preempt_watch_add, 32);
CHECK_AT(kfd_preempt_watch_add, flags, 0);
CHECK_AT(kfd_preempt_watch_add, target, 4);
CHECK_AT(kfd_preempt_watch_add, cookie, 8);
CHECK_AT(kfd_preempt_watch_add, id, 16);
CHECK_AT(kfd_preempt_watch_add, pad, 20);
CHECK_AT(kfd_preempt_watch_add, reserved, 24);

CHECK_SIZE(kfd_preempt_watch_remove, 8);
CHECK_AT(kfd_preempt_watch_remove, id, 0);
CHECK_AT(kfd_preempt_watch_remove, pad, 4);

CHECK_SIZE(kfd_preempt_watch_answer, 8);
CHECK_AT(kfd_preempt_watch_answer, id, 0);
CHECK_AT(kfd_preempt_watch_answer, flags, 4);

CHECK_SIZE(kfd_preempt_watch_arm_entry, 32);
CHECK_AT(kfd_preempt_watch_arm_entry, id, 0);
CHECK_AT(kfd_preempt_watch_arm_entry, result, 4);
CHECK_AT(kfd_preempt_watch_arm_entry, state, 8);
CHECK_AT(kfd_preempt_watch_arm_entry, queues_busy, 12);
CHECK_AT(kfd_preempt_watch_arm_entry, gpus_busy, 16);
CHECK_AT(kfd_preempt_watch_arm_entry, reserved, 24);

CHECK_SIZE(kfd_preempt_watch_arm, 32);
CHECK_AT(kfd_preempt_watch_arm, entries_ptr, 0);
CHECK_AT(kfd_preempt_watch_arm, num_entries, 8);
CHECK_AT(kfd_preempt_watch_arm, flags, 12);
CHECK_AT(kfd_preempt_watch_arm, num_armed, 16);
CHECK_AT(kfd_preempt_watch_arm, num_busy, 20);
CHECK_AT(kfd_preempt_watch_arm, reserved, 24);

CHECK_VALUE(KFD_PREEMPT_TYPE_DRAIN, 0);
CHECK_VALUE(KFD_PREEMPT_TYPE_RESET, 1);
CHECK_VALUE(KFD_PREEMPT_TYPE_SAVE, 2);
CHECK_VALUE(KFD_PREEMPT_OP_PREEMPT, 1);
CHECK_VALUE(KFD_PREEMPT_OP_RESUME, 2);
CHECK_VALUE(KFD_PREEMPT_SCHED_HWS, 0);
CHECK_VALUE(KFD_PREEMPT_SCHED_HWS_NO_OVERSUB, 1);
CHECK_VALUE(KFD_PREEMPT_SCHED_NO_HWS, 2);
CHECK_VALUE(KFD_PREEMPT_SCHED_MES, 3);
CHECK_VALUE(KFD_PREEMPT_STATE_RUNNING, 0);
CHECK_VALUE(KFD_PREEMPT_STATE_HELD, 1);
CHECK_VALUE(KFD_PREEMPT_STATE_PENDING, 2);
CHECK_VALUE(KFD_PREEMPT_STATE_INACTIVE, 3);
CHECK_VALUE(KFD_PREEMPT_STATE_DEAD, 4);
CHECK_VALUE(KFD_PREEMPT_HOLD_SELF, 1);
CHECK_VALUE(KFD_PREEMPT_HOLD_OPERATOR, 2);
CHECK_VALUE(KFD_PREEMPT_HOLD_STICKY, 4);
CHECK_VALUE(KFD_PREEMPT_HOLD_DEAD, 0x80000000u);
CHECK_VALUE(KFD_PREEMPT_STATUS_EVICTED, 1);
CHECK_VALUE(KFD_PREEMPT_STATUS_DBG_SUSPENDED, 2);
CHECK_VALUE(KFD_PREEMPT_STATUS_HW_PENDING, 4);
CHECK_VALUE(KFD_PREEMPT_STATUS_CHECKPOINTED, 8);
CHECK_VALUE(KFD_PREEMPT_STATUS_DEGRADED, 16);
CHECK_VALUE(KFD_PREEMPT_STATUS_YIELDED, 32);
CHECK_VALUE(KFD_PREEMPT_STATUS_COUNT_MEMORY, 0x100);
CHECK_VALUE(KFD_PREEMPT_FLAG_FAST, 1);
CHECK_VALUE(KFD_PREEMPT_FLAG_CHECKPOINT, 2);
CHECK_VALUE(KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, 1);
CHECK_VALUE(KFD_PREEMPT_SWITCH_MATCH_UID, 2);
CHECK_VALUE(KFD_PREEMPT_SWITCH_FAST, 4);
CHECK_VALUE(KFD_PREEMPT_SWITCH_CHECKPOINT, 8);
CHECK_VALUE(KFD_PREEMPT_SWITCH_TARGET_FD, 16);
CHECK_VALUE(KFD_PREEMPT_SWITCH_TARGET_PID, 32);
CHECK_VALUE(KFD_PREEMPT_SWITCH_STICKY, 64);
CHECK_VALUE(KFD_PREEMPT_SWITCH_FORCE, 128);
CHECK_VALUE(KFD_PREEMPT_SWITCH_YIELD_MEMORY, 256);
CHECK_VALUE(KFD_PREEMPT_CAP_SAVE, 1);
CHECK_VALUE(KFD_PREEMPT_CAP_DRAIN, 2);
CHECK_VALUE(KFD_PREEMPT_CAP_RESET, 4);
CHECK_VALUE(KFD_PREEMPT_CAP_CHECKPOINT, 8);
CHECK_VALUE(KFD_PREEMPT_CAP_FAST, 16);
CHECK_VALUE(KFD_PREEMPT_CAP_BATCH, 32);
CHECK_VALUE(KFD_PREEMPT_CAP_OPERATOR, 64);
CHECK_VALUE(KFD_PREEMPT_CAP_OPERATOR_FD, 128);
CHECK_VALUE(KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE, 256);
CHECK_VALUE(KFD_PREEMPT_CAP_RESUME_IS_ASYNC, 512);
CHECK_VALUE(KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP, 1024);
CHECK_VALUE(KFD_PREEMPT_CAP_SWITCH_ONLY, 4096);
CHECK_VALUE(KFD_PREEMPT_CAP_WATCH, 8192);
CHECK_VALUE(KFD_PREEMPT_CAP_YIELD_MEMORY, 16384);
CHECK_VALUE(KFD_PREEMPT_CAP_GIVE_MEMORY, 32768);
CHECK_VALUE(KFD_PREEMPT_MAX_TARGETS, 4096);
CHECK_VALUE(KFD_PREEMPT_WATCH_RANG, 1);
CHECK_VALUE(KFD_PREEMPT_WATCH_EXITED, 2);
CHECK_VALUE(KFD_PREEMPT_WATCH_QUEUE_CREATED, 3);
CHECK_VALUE(KFD_PREEMPT_WATCH_QUEUE_DESTROYED, 4);
CHECK_VALUE(KFD_PREEMPT_WATCH_NO_LOOK, 1);
CHECK_VALUE(KFD_PREEMPT_WATCH_DISARM, 2);
CHECK_VALUE(KFD_PREEMPT_WATCH_STATE_BUSY, 1);
CHECK_VALUE(KFD_PREEMPT_WATCH_STATE_EVICTED, 2);
CHECK_VALUE(KFD_PREEMPT_WATCH_STATE_BLIND, 4);
CHECK_VALUE(KFD_PREEMPT_MAX_BATCH, 256);
CHECK_VALUE(KFD_PREEMPT_MAX_TIMEOUT_MS, 60000);
