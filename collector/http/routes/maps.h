#pragma once
/* Parameters of questions about maps. */
#include "collector/http/routes/asking.h"

extern const struct route_parameter maps_parameters[];
/* Refuses filters that do not apply to maps. */
int maps_check(struct asking *a);
