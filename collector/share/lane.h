#pragma once
/*
 * The way to one shard: what is to be written there, and a file with what is on its way. Rows that
 * could not be sent stay, and are sent first the next time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/share/dictionary.h"
#include "collector/share/marks.h"
#include "collector/share/shipment.h"

struct clickhouse;

struct lane {
	struct clickhouse *client;
	uint32_t shard;
	char *path; /* the shipment's file */
	struct dictionary dictionary;
	struct marks marks;
	struct shipment shipment;
	bool on_its_way; /* the shipment is in its file, and may have arrived in part */
	bool known;	 /* the shard has rows of the collector */
	int error;	 /* of the last attempt; 0: none */
	struct err_text why;
	uint64_t sums;	  /* rows that have arrived */
	uint64_t streams; /* of this pass, that the rows are of */
};

/* Reads the file that an earlier collector has left. Returns 0 or a negative errno. */
int lane_init(struct lane *lane, struct clickhouse *client, const char *folder, uint32_t shard,
	      struct err_text *err);
void lane_done(struct lane *lane);
/* Sends what could not be sent before, and reads the marks. Returns as lane_send. */
int lane_begin(struct lane *lane, uint64_t collector);
/* Sends all rows. Returns 0, or the error that lane->error and lane->why keep. */
int lane_send(struct lane *lane);
/* Keeps an error of the shard, with its sentence. Returns it. */
int lane_failed(struct lane *lane, int error, const struct err_text *err);
/* Reads what other collectors have of all streams (marks_read_others). Returns as lane_send. */
int lane_read_others(struct lane *lane, uint64_t collector);
