/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Tracepoints: each call, each pass over a node, and the result of each queue.
 */
#if !defined(KFD_PREEMPT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KFD_PREEMPT_TRACE_H

#include <linux/tracepoint.h>

#include "kfd_preempt_compat.h"

#undef TRACE_SYSTEM
#define TRACE_SYSTEM kfd_preempt
#define TRACE_INCLUDE_FILE kfd_preempt_trace

#ifndef KFD_PREEMPT_TRACE_NAMES
#define KFD_PREEMPT_TRACE_NAMES
#define kfd_preempt_show_state(state)				\
	__print_symbolic(state,					\
			 { KFD_PREEMPT_STATE_RUNNING, "running" },	\
			 { KFD_PREEMPT_STATE_HELD, "held" },	\
			 { KFD_PREEMPT_STATE_PENDING, "pending" },	\
			 { KFD_PREEMPT_STATE_INACTIVE, "inactive" },	\
			 { KFD_PREEMPT_STATE_DEAD, "dead" })

#define kfd_preempt_show_backend(mode)				\
	__print_symbolic(mode,					\
			 { KFD_PREEMPT_SCHED_HWS, "HWS" },	\
			 { KFD_PREEMPT_SCHED_HWS_NO_OVERSUB, "HWS_NO_OVERSUB" }, \
			 { KFD_PREEMPT_SCHED_NO_HWS, "NO_HWS" },	\
			 { KFD_PREEMPT_SCHED_MES, "MES" })
#endif

/*
 * A call that passed validation, before its first lock. @flags are those of
 * SWITCH, into which those of the one-queue calls are translated.
 */
TRACE_EVENT(kfd_preempt_switch_begin,
	    TP_PROTO(u32 flags, u32 processes, u32 queues),
	    TP_ARGS(flags, processes, queues),
	    TP_STRUCT__entry(__field(u32, flags)
			     __field(u32, processes)
			     __field(u32, queues)),
	    TP_fast_assign(__entry->flags = flags;
			   __entry->processes = processes;
			   __entry->queues = queues;),
	    TP_printk("flags=0x%x processes=%u queues=%u", __entry->flags,
		      __entry->processes, __entry->queues)
);

/*
 * The end of a call. @hw_ns of @ns were spent on the hardware, the rest in the
 * driver.
 */
TRACE_EVENT(kfd_preempt_switch_end,
	    TP_PROTO(int ret, u32 done, u32 queues, u64 ns, u64 hw_ns),
	    TP_ARGS(ret, done, queues, ns, hw_ns),
	    TP_STRUCT__entry(__field(int, ret)
			     __field(u32, done)
			     __field(u32, queues)
			     __field(u64, ns)
			     __field(u64, hw_ns)),
	    TP_fast_assign(__entry->ret = ret;
			   __entry->done = done;
			   __entry->queues = queues;
			   __entry->ns = ns;
			   __entry->hw_ns = hw_ns;),
	    TP_printk("ret=%d done=%u/%u ns=%llu hw_ns=%llu", __entry->ret,
		      __entry->done, __entry->queues, __entry->ns,
		      __entry->hw_ns)
);

/* All preemptions and resumes of one node, which are done together. */
TRACE_EVENT(kfd_preempt_node,
	    TP_PROTO(const struct device_queue_manager *dqm, u32 preempts,
		     u32 resumes, u64 ns, u64 hw_ns),
	    TP_ARGS(dqm, preempts, resumes, ns, hw_ns),
	    TP_STRUCT__entry(__field(u32, gpu_id)
			     __field(u32, backend)
			     __field(u32, preempts)
			     __field(u32, resumes)
			     __field(u64, ns)
			     __field(u64, hw_ns)),
	    TP_fast_assign(__entry->gpu_id = dqm->dev->id;
			   __entry->backend = kfd_preempt_sched_mode(dqm);
			   __entry->preempts = preempts;
			   __entry->resumes = resumes;
			   __entry->ns = ns;
			   __entry->hw_ns = hw_ns;),
	    TP_printk("gpu_id=%u backend=%s preempts=%u resumes=%u ns=%llu hw_ns=%llu",
		      __entry->gpu_id,
		      kfd_preempt_show_backend(__entry->backend),
		      __entry->preempts, __entry->resumes, __entry->ns,
		      __entry->hw_ns)
);

/* One queue of a batch, with the dqm lock held; @pid in the initial namespace. */
TRACE_EVENT(kfd_preempt_queue,
	    TP_PROTO(const struct kfd_preempt_req *req),
	    TP_ARGS(req),
	    TP_STRUCT__entry(__field(pid_t, pid)
			     __field(u32, gpu_id)
			     __field(u32, queue_id)
			     __field(u32, backend)
			     __field(bool, stop)
			     __field(u32, from)
			     __field(u32, to)
			     __field(u32, old_holds)
			     __field(u32, holds)
			     __field(int, result)
			     __field(u64, ns)),
	    TP_fast_assign(const struct queue *q = req->q;

			   __entry->pid = q->process->lead_thread->tgid;
			   __entry->gpu_id = q->device->id;
			   __entry->queue_id = q->properties.queue_id;
			   __entry->backend =
				kfd_preempt_sched_mode(q->device->dqm);
			   __entry->stop = req->set;
			   __entry->from = req->old_state;
			   __entry->to = kfd_preempt_queue_state(q);
			   __entry->old_holds = req->old_holds;
			   __entry->holds = q->properties.preempt_holds;
			   __entry->result = req->result;
			   __entry->ns = req->latency_ns;),
	    TP_printk("pid=%d gpu_id=%u queue_id=%u backend=%s op=%s from=%s to=%s holds=0x%x->0x%x result=%d ns=%llu",
		      __entry->pid, __entry->gpu_id, __entry->queue_id,
		      kfd_preempt_show_backend(__entry->backend),
		      __entry->stop ? "preempt" : "resume",
		      kfd_preempt_show_state(__entry->from),
		      kfd_preempt_show_state(__entry->to),
		      __entry->old_holds, __entry->holds, __entry->result,
		      __entry->ns)
);

/* The release of what closed files hold in a process; @again: it will be retried. */
TRACE_EVENT(kfd_preempt_release,
	    TP_PROTO(const struct kfd_process *p, bool again),
	    TP_ARGS(p, again),
	    TP_STRUCT__entry(__field(pid_t, pid)
			     __field(bool, again)),
	    TP_fast_assign(__entry->pid = p->lead_thread->tgid;
			   __entry->again = again;),
	    TP_printk("pid=%d again=%d", __entry->pid, __entry->again)
);

/* A queue will never run again: reset of it or of the GPU, a hung HWS. */
TRACE_EVENT(kfd_preempt_lost,
	    TP_PROTO(const struct queue *q),
	    TP_ARGS(q),
	    TP_STRUCT__entry(__field(pid_t, pid)
			     __field(u32, gpu_id)
			     __field(u32, queue_id)
			     __field(u32, from)),
	    TP_fast_assign(__entry->pid = q->process->lead_thread->tgid;
			   __entry->gpu_id = q->device->id;
			   __entry->queue_id = q->properties.queue_id;
			   __entry->from = kfd_preempt_queue_state(q);),
	    TP_printk("pid=%d gpu_id=%u queue_id=%u from=%s to=dead",
		      __entry->pid, __entry->gpu_id, __entry->queue_id,
		      kfd_preempt_show_state(__entry->from))
);

/* Memory of a process has left VRAM, or returned. */
TRACE_EVENT(kfd_preempt_memory,
	    TP_PROTO(const struct kfd_process_device *pdd, bool leave, u64 bytes,
		     int result, u64 ns),
	    TP_ARGS(pdd, leave, bytes, result, ns),
	    TP_STRUCT__entry(__field(pid_t, pid)
			     __field(u32, gpu_id)
			     __field(bool, leave)
			     __field(u64, bytes)
			     __field(int, result)
			     __field(u64, ns)),
	    TP_fast_assign(__entry->pid = pdd->process->lead_thread->tgid;
			   __entry->gpu_id = pdd->dev->id;
			   __entry->leave = leave;
			   __entry->bytes = bytes;
			   __entry->result = result;
			   __entry->ns = ns;),
	    TP_printk("pid=%d gpu_id=%u op=%s bytes=%llu result=%d ns=%llu",
		      __entry->pid, __entry->gpu_id,
		      __entry->leave ? "yield" : "reclaim", __entry->bytes,
		      __entry->result, __entry->ns)
);

/* Queues were rechecked; the dqm lock was held for @ns. */
TRACE_EVENT(kfd_preempt_recheck,
	    TP_PROTO(const struct device_queue_manager *dqm, u32 queues, u64 ns),
	    TP_ARGS(dqm, queues, ns),
	    TP_STRUCT__entry(__field(u32, gpu_id)
			     __field(u32, queues)
			     __field(u64, ns)),
	    TP_fast_assign(__entry->gpu_id = dqm->dev->id;
			   __entry->queues = queues;
			   __entry->ns = ns;),
	    TP_printk("gpu_id=%u queues=%u ns=%llu", __entry->gpu_id, __entry->queues,
		      __entry->ns)
);

/*
 * The firmware has mapped a queue but not seen its packets, so it is mapped
 * again.
 */
TRACE_EVENT(kfd_preempt_missed,
	    TP_PROTO(const struct queue *q, u64 read, u64 write),
	    TP_ARGS(q, read, write),
	    TP_STRUCT__entry(__field(pid_t, pid)
			     __field(u32, gpu_id)
			     __field(u32, queue_id)
			     __field(u64, read)
			     __field(u64, write)),
	    TP_fast_assign(__entry->pid = q->process->lead_thread->tgid;
			   __entry->gpu_id = q->device->id;
			   __entry->queue_id = q->properties.queue_id;
			   __entry->read = read;
			   __entry->write = write;),
	    TP_printk("pid=%d gpu_id=%u queue_id=%u read=%llu write=%llu",
		      __entry->pid, __entry->gpu_id, __entry->queue_id,
		      __entry->read, __entry->write)
);

#endif /* KFD_PREEMPT_TRACE_H */

/* This part must be outside protection */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#include <trace/define_trace.h>
