#pragma once
/* The process as the kernel counts it, and its allocator's own figures: part of `collector report`.
 */
struct recorded;

/* Prints a few lines, or nothing if the recording has no figures. */
void figures_print(const struct recorded *recorded);
