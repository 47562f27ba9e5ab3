#pragma once
/*
 * Handles the ends of threads, and execs and forks of processes. Part of capture.bpf.c.
 *
 * An exec is reported in the ring of its stream. Records after it are of the next program. The
 * probes of that program may already be set: they belong to the process and a file, and work as
 * soon as this file is mapped again. Rows of the walk belong to the old mappings, so the space is
 * closed. The thread's place belongs to the old program.
 */
#include "bpf/put.h"

/* Marks the thread's place as dead; the agent frees it. */
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
		return; /* no harm: the agent also scans all processes now and then */
	news->type = type;
	news->tgid = tgid;
	bpf_ringbuf_submit(news, BPF_RB_FORCE_WAKEUP);
}

/* Reports an exec. Returns false if the ring has no room; then nothing is recorded until the agent
 * has handled the exec. */
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

/* Runs when the current thread ends. */
SEC("raw_tp/sched_process_exit")
int capture_thread_exit(void *ctx)
{
	(void)ctx;
	processes_leave((uint32_t)capture_id());
	return 0;
}

/* Runs after an exec. From here on, the thread that called it has the process's number as its own.
 */
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
