/* Reads the environment without libc's help; see env.h. */
#include "agent/preload/system/env.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "agent/preload/poison.h"

/* Points at argc, argv and envp on the stack, where the kernel has put them. The loader sets it at
 * its very start. */
extern void *__libc_stack_end __attribute__((weak));

static char *const env_none[] = {NULL};

static char *const *env_from_stack(void)
{
	char *const *words;
	long count;

	if (!&__libc_stack_end || !__libc_stack_end)
		return env_none;
	words = __libc_stack_end;
	count = *(const long *)__libc_stack_end;
	if (count < 0 || count > 1 << 24 || words[1 + count])
		return env_none;
	return words + count + 2;
}

char *const *env_all(void)
{
	return environ ? environ : env_from_stack();
}

const char *env_get(const char *name)
{
	size_t length = strlen(name);

	for (char *const *entry = env_all(); *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return (*entry)[length + 1] ? *entry + length + 1 : NULL;
	return NULL;
}

bool env_flag(const char *name)
{
	const char *value = env_get(name);

	return value && strcmp(value, "0") != 0;
}

/* Returns the value of the variable whose name is `prefix` followed by `name`, possibly ""; NULL if
 * it is unset. */
static const char *env_value_of(const char *prefix, const char *name)
{
	size_t first = strlen(prefix), second = strlen(name);

	for (char *const *entry = env_all(); *entry; entry++)
		if (!strncmp(*entry, prefix, first) && !strncmp(*entry + first, name, second) &&
		    (*entry)[first + second] == '=')
			return *entry + first + second + 1;
	return NULL;
}

bool env_switch(const char *name)
{
	/* As in base/parse.c:parse_switch. */
	static const char *const off[] = {"", "0", "no", "false", "off"};
	const char *value = env_value_of("HEAPCAST_", name);

	if (!value)
		value = env_value_of("MEMORY_PROFILER_", name);
	if (!value)
		return false;
	for (size_t i = 0; i < sizeof(off) / sizeof(*off); i++)
		if (!strcmp(value, off[i]))
			return false;
	return true;
}

/* Parses a decimal number. Returns the end of the number, or NULL if there are no digits or the
 * number is too large. */
static const char *env_number(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return NULL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return NULL;
	*ret_value = value;
	return text;
}

bool env_pair(const char *text, uint64_t *ret_a, uint64_t *ret_b)
{
	const char *end = env_number(text, ret_a);

	if (!end || *end != ':')
		return false;
	end = env_number(end + 1, ret_b);
	return end && !*end;
}

static unsigned env_unit(char letter)
{
	switch (letter | 0x20) {
	case 'k':
		return 10;
	case 'm':
		return 20;
	case 'g':
		return 30;
	default:
		return 0;
	}
}

uint64_t env_bytes(const char *text)
{
	uint64_t value = 0;
	unsigned unit;

	if (*text < '0' || *text > '9')
		return 0;
	for (; *text >= '0' && *text <= '9'; text++) {
		if (value > UINT64_MAX >> 40)
			return 0;
		value = value * 10 + (uint64_t)(*text - '0');
	}
	if (!*text)
		return value;
	unit = env_unit(*text);
	return unit && !text[1] ? value << unit : 0;
}
