#pragma once
/* The process as the kernel counts it, and its allocator's own figures: parts of `collector
 * report`. */
struct json;
struct question;

/* Prints a few lines, or nothing if the recording has no figures. */
void figures_print(const struct question *question);
/* Writes "figures": {"last": {...}, "most": {...}} and "allocator": {...}; null where the recording
 * has none. */
void figures_json(struct json *json, const struct question *question);
