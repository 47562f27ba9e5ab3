#pragma once
/* What the fleet of all collectors has in use at a minute: fleet_source.top of the shared store. */

struct err_text;
struct fleet_top_loading;

int shared_top(void *client, struct fleet_top_loading *loading, struct err_text *err);
