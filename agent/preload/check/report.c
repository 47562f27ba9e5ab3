/* The check build's report file, and text output without stdio. See report.h. */
#include "agent/preload/check/report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/preload/system/env.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define PSEUDO_LIMIT 4096

static struct report *report;
static uint32_t asked; /* 0: not yet; 1: a thread is mapping the file; 2: done */

void text_put(struct text *text, const char *string)
{
	for (; *string && text->left > 1; string++, text->left--)
		*text->at++ = *string;
	if (text->left)
		*text->at = '\0';
}

void text_put_number(struct text *text, uint64_t value, unsigned base)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	text_put(text, at);
}

void text_put_pc(struct text *text, uint64_t pc)
{
	Dl_info info;

	if (pc < PSEUDO_LIMIT) {
		text_put(text, pc == 1 ? "<truncated>" : "<depth limit>");
		return;
	}
	if (!dladdr((const void *)(uintptr_t)(pc - 1), &info) || !info.dli_fname) {
		text_put(text, "0x");
		text_put_number(text, pc, 16);
		return;
	}
	text_put(text, info.dli_fname);
	text_put(text, "+0x");
	text_put_number(text, pc - (uintptr_t)info.dli_fbase, 16);
	if (!info.dli_sname)
		return;
	text_put(text, " (");
	text_put(text, info.dli_sname);
	text_put(text, "+0x");
	text_put_number(text, pc - (uintptr_t)info.dli_saddr, 16);
	text_put(text, ")");
}

void report_append(struct report *to, const char *lines, size_t length)
{
	uint64_t at = __atomic_load_n(&to->text_length, __ATOMIC_RELAXED);

	do {
		if (length > REPORT_TEXT - 1 || at > REPORT_TEXT - 1 - length)
			return;
	} while (!__atomic_compare_exchange_n(&to->text_length, &at, at + length, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(to->text + at, lines, length);
}

struct report_class *report_classify(struct report *to, uint64_t key)
{
	for (unsigned i = 0; i < REPORT_CLASSES; i++) {
		struct report_class *class = &to->classes[i];
		uint64_t found = 0;
		bool first = __atomic_compare_exchange_n(&class->key, &found, key, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED);

		if (!first && found != key)
			continue;
		report_count(&class->count, 1);
		return first ? class : NULL;
	}
	report_count(&to->unclassed, 1);
	return NULL;
}

static struct report *map_file(const char *prefix)
{
	char name[512];
	struct text text = {name, sizeof(name)};
	struct report *mapped;
	long fd;

	text_put(&text, prefix);
	text_put(&text, ".");
	text_put_number(&text, (uint64_t)sys_call(SYS_getpid), 10);
	fd = sys_call(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	mapped = MAP_FAILED;
	if (sys_call(SYS_ftruncate, fd, sizeof(*mapped)) == 0)
		mapped =
			mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
	sys_call(SYS_close, fd);
	if (mapped == MAP_FAILED)
		return NULL;
	mapped->magic = REPORT_MAGIC;
	return mapped;
}

struct report *report_get(void)
{
	uint32_t expected = 0;
	const char *prefix;

	if (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) == 2)
		return report;
	if (!__atomic_compare_exchange_n(&asked, &expected, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		/* Another thread is mapping the file; the first events of this thread are not
		 * checked. */
		return NULL;
	prefix = env_get("HEAPCAST_CHECK");
	if (prefix)
		report = map_file(prefix);
	__atomic_store_n(&asked, 2, __ATOMIC_RELEASE);
	return report;
}
