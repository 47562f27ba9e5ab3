#pragma once
/* The libraries of compared.cc: allocate in ways of their own, `depth` frames deep, and call back from there. */
#include <cstddef>

void compared_first(unsigned depth, void (*then)(void *), void *argument);
void compared_second(unsigned count);
