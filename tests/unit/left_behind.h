#pragma once
/*
 * What a call leaves behind on its stack: left_behind runs it in a thread whose stack is this
 * program's, and looks whether the bytes of a secret are still there. The call itself keeps them
 * elsewhere.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_STACK (1u << 20)

struct left_call {
	void (*call)(void *context);
	void *context;
};

static inline void *left_run(void *context)
{
	const struct left_call *c = context;

	c->call(c->context);
	return NULL;
}

/* Sanitizers don't want it read. */
__attribute__((no_sanitize("address", "thread"))) static inline bool
left_found(const uint8_t *in, const void *bytes, size_t length)
{
	const uint8_t *wanted = bytes;

	for (size_t at = 0; at + length <= LEFT_STACK; at++) {
		size_t same = 0;

		while (same < length && in[at + same] == wanted[same])
			same++;
		if (same == length)
			return true;
	}
	return false;
}

static inline bool left_behind(void (*call)(void *context), void *context, const void *bytes,
			       size_t length)
{
	uint8_t *stack = aligned_alloc(1u << 16, LEFT_STACK);
	pthread_attr_t attributes;
	pthread_t thread;
	bool found = true;

	if (!stack)
		abort();
	memset(stack, 0, LEFT_STACK);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, LEFT_STACK);
	if (!pthread_create(&thread, &attributes, left_run,
			    &(struct left_call){.call = call, .context = context})) {
		pthread_join(thread, NULL);
		found = left_found(stack, bytes, length);
	}
	pthread_attr_destroy(&attributes);
	free(stack);
	return found;
}
