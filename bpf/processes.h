#pragma once
/*
 * Threads that end, and processes that become another program or have children. Part of
 * capture.bpf.c.
 *
 * An exec is told in the ring of its stream: what lies behind that record is the next program's,
 * whose probes may be there already, for they belong to the process and a file, and hold as soon as
 * that file is mapped again. Rows of the walk are those of what was mapped before, so the space is
 * closed; the thread's place is the old program's.
 */
#include "bpf/put.h"

/* Its place is given up: the agent gives it back. */
ARCH_INLINE void processes_leave(uint32_t tid)
{
	uint32_t *number = bpf_map_lookup_elem(&capture_tids, &tid);
	struct capture_thread *thread = number ? capture_thread_of(*number) : NULL;

	if (!thread || thread->tid != tid)
		return;
	bpf_map_delete_elem(&capture_tids, &tid);
	thread->state = CAPTURE_THREAD_DEAD;
}

ARCH_INLINE void processes_tell(uint32_t type, uint32_t tgid)
{
	struct capture_news *news = bpf_ringbuf_reserve(&capture_newses, sizeof(*news), 0);

	if (!news)
		return; /* it looks around now and then, too */
	news->type = type;
	news->tgid = tgid;
	bpf_ringbuf_submit(news, BPF_RB_FORCE_WAKEUP);
}

/* False: there is no room. Then nothing more is recorded until the agent has seen to it. */
ARCH_INLINE bool processes_put_exec(uint32_t stream_number, uint32_t loads)
{
	void *ring = bpf_map_lookup_elem(&capture_rings, &stream_number);
	uint64_t before = bpf_ktime_get_ns();
	struct capture_record *record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : NULL;

	if (!record)
		return false;
	__builtin_memset(record, 0, sizeof(*record));
	record->type = CAPTURE_EXEC;
	record->loads = loads;
	record->before = before;
	record->stamp = bpf_ktime_get_ns();
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* The thread that ends. */
SEC("raw_tp/sched_process_exit")
int capture_thread_exit(void *ctx)
{
	(void)ctx;
	processes_leave((uint32_t)capture_id());
	return 0;
}

/* The process has another program now. (The thread that has called exec goes by the process's
 * number from here on.) */
SEC("raw_tp/sched_process_exec")
int capture_exec(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t stream_number = 0, tgid = capture_id() >> 32;
	struct capture_stream *stream = capture_watched(tgid, &stream_number);

	if (stream) {
		processes_leave((uint32_t)ctx->args[1]);
		processes_leave(tgid);
		walk_close(stream->space);
		stream->loads++;
		stream->loader_state = 0;
		if (stream->ready && !processes_put_exec(stream_number, stream->loads))
			stream->ready = 0;
		stream->salt =
			stream->salt * 0x9e3779b97f4a7c15ull + 1; /* places have other words now */
		stream->image++;
	}
	if (tgid && (stream || capture_wants_execs))
		processes_tell(CAPTURE_NEWS_EXEC, tgid);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int capture_fork(void *ctx)
{
	uint32_t stream_number = 0;
	struct capture_stream *stream = capture_current(&stream_number);

	(void)ctx;
	if (stream && stream->follow)
		processes_tell(CAPTURE_NEWS_FORK, stream->tgid);
	return 0;
}
