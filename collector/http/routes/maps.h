#pragma once
/* What questions about maps take. */
#include "collector/http/routes/asking.h"

extern const struct route_parameter maps_parameters[];
/* Refuses filters that maps can't answer. */
int maps_check(struct asking *a);
