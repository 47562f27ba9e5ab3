#pragma once
/*
 * What a seccomp filter says to the system calls that this library makes of its own accord. The
 * filter is run as the kernel would (classic BPF on struct seccomp_data: seccomp(2),
 * Documentation/userspace-api/seccomp_filter.rst), before it is set.
 */
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call, with arguments that make it do nothing where it is tried. */
struct filter_call {
	uint16_t number;
	uint16_t class; /* enum calls */
	uint8_t known;	/* bits of the arguments that are always so; a filter that looks at others
			   refuses it */
	int32_t argument[4];
};

extern const struct filter_call filter_calls[] __attribute__((visibility("hidden")));
extern const size_t filter_calls_count __attribute__((visibility("hidden")));

/* What it does not let through: enum calls. In doubt it does not. `program` can be read. */
uint32_t filter_refuses(const struct sock_fprog *program);
