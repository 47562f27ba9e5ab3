#pragma once
/* The process as the kernel counted it, and its allocator as that says: parts of `collector
 * report`. */
struct json;
struct question;

/* A few lines; nothing if the recording has none. */
void figures_print(const struct question *question);
/* "figures": {"last": {...}, "most": {...}} and "allocator": {...}; null where the recording has
 * none. */
void figures_json(struct json *json, const struct question *question);
