#pragma once
/* Comparisons of a fleet from the sums that all collectors share. */
#include "collector/fleet/source.h"

struct clickhouse;

/* The client must have been prepared (clickhouse_prepare), and live as long as the source. */
struct fleet_source fleet_source_shared(struct clickhouse *client);
