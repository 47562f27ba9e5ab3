/*
 * The worker: a separate process that reads ELF files which may be hostile. It has no descriptor
 * but the socket, little memory and time, cannot gain privileges, and can make only the system
 * calls that reading needs (seccomp.h). Its death does not affect the collector.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/write.h"
#include "collector/symbols/lookup.h"
#include "collector/symbols/protocol.h"
#include "collector/symbols/seccomp.h"
#include "collector/symbols/symbols.h"

#include "base/ban.h"

/*
 * A sanitizer reserves terabytes of address space for its shadow and makes system calls of its own.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#else
static const bool is_sanitized = false;
#endif

static void limit(int what, uint64_t most)
{
	struct rlimit old, new;

	if (getrlimit((__rlimit_resource_t)what, &old))
		return;
	new = old;
	new.rlim_cur = most < old.rlim_max ? most : old.rlim_max;
	setrlimit((__rlimit_resource_t)what, &new);
}

static void drop_everything(void)
{
	close_range(3, ~0u, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	setpriority(PRIO_PROCESS, 0, 10);
	if (!is_sanitized)
		seccomp_read_only(); /* if it is not available, the limits above remain */
}

/*
 * Sets the limits of a request: CPU time from now on, and memory in addition to the file, which is
 * mapped.
 */
static void limit_request(const struct request *request, uint64_t file_bytes)
{
	struct rusage used;

	if (!is_sanitized)
		limit(RLIMIT_AS, request->memory_bytes + file_bytes);
	if (!getrusage(RUSAGE_SELF, &used))
		limit(RLIMIT_CPU, (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec +
					  request->seconds + 1);
}

static int worker_read_all(void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(STDIN_FILENO, (char *)to + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

static int worker_read_request(struct request *ret_request)
{
	cleanup(cleanup_free) uint8_t *data = NULL;
	uint8_t head[4];
	struct reader r = reader_of(head, sizeof(head));
	size_t length;
	int error = worker_read_all(head, sizeof(head));

	if (error)
		return error;
	length = reader_u32le(&r);
	if (length > MESSAGE_MAX)
		return -EBADMSG;
	data = malloc(length + 1);
	if (!data)
		return -ENOMEM;
	error = worker_read_all(data, length);
	return error ? error : request_decode(data, length, ret_request);
}

static int worker_look_up(const struct request *request, struct answer *answer)
{
	cleanup(cleanup_close) int fd =
		open(request->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		answer->error = -errno;
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		answer->error = -ENOEXEC;
		return 0;
	}
	limit_request(request, (uint64_t)st.st_size);
	return lookup_file(fd, request, answer);
}

static int serve_one(void)
{
	struct request request = {0};
	struct answer answer = {0};
	struct buf out = {0};
	int error = worker_read_request(&request);

	if (!error)
		error = worker_look_up(&request, &answer);
	if (!error) {
		answer_encode(&out, &answer);
		error = buf_error(&out);
	}
	if (!error)
		error = write_all(STDOUT_FILENO, out.data, out.length);
	buf_done(&out);
	answer_done(&answer);
	request_done(&request);
	malloc_trim(0);
	return error;
}

int symbols_worker_main(void)
{
	int error;

	drop_everything();
	do
		error = serve_one();
	while (!error);
	return error == -EPIPE ? 0 : 3;
}
