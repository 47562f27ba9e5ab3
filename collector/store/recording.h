#pragma once
/* A recording in memory, for the files of collector/store only. */
#include "base/error.h"
#include "collector/store/apart.h"
#include "collector/store/culled.h"
#include "collector/store/definitions.h"
#include "collector/store/pairing.h"
#include "collector/store/rows.h"
#include "collector/store/scan.h"
#include "collector/store/store.h"

struct recording {
	char *path;
	int fd;
	struct scan scan;
	struct err_text damage; /* reason of the first damage */
	bool has_id;
	struct stream_id id;
	struct stream_position position;
	uint64_t announced; /* by a catch-up: the number that comes next though others were expected */
	uint64_t watermark_ns, end_ns;
	bool flushed; /* nobody writes it any more: what waited for the watermark was taken */
	struct definitions definitions;
	struct rows rows;
	struct pairing pairing;
	struct culled culled;
	struct aparts aparts;
	struct ledger_info ledger;
};

/* What is in use at the end, for the catalogue. */
int recording_in_use(const char *path, uint64_t *ret_bytes, uint64_t *ret_blocks,
		     struct err_text *err);
