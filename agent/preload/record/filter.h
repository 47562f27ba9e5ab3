#pragma once
/*
 * Finds out which of the library's own system calls a seccomp filter refuses. The library runs the
 * filter as the kernel would, before the filter is set (classic BPF on struct seccomp_data:
 * seccomp(2), Documentation/userspace-api/seccomp_filter.rst).
 */
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A system call, with arguments that make it harmless when it is tried. */
struct filter_call {
	uint16_t number;
	uint16_t class; /* enum calls */
	/* Bit i is set if argument i always has this value. If a filter reads another argument, the
	 * call counts as refused. */
	uint8_t known;
	int32_t argument[4];
};

extern const struct filter_call filter_calls[] __attribute__((visibility("hidden")));
extern const size_t filter_calls_count __attribute__((visibility("hidden")));

/* Returns the classes (enum calls) that the filter does not allow; a class counts as refused when
 * in doubt. `program` must be readable. */
uint32_t filter_refuses(const struct sock_fprog *program);
