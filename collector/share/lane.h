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

/*
 * If the file is damaged, it is set aside as NAME.damaged, and the lane is *in doubt*: some of the
 * file's sums may be there, and the marks do not say so. The recordings still have all of them. So
 * until each stream has been sent beyond what is there of it, its sums are compared with what is
 * there, and the difference is sent (send.c). Then NAME.damaged is removed; it also tells a later
 * collector of the doubt.
 */
struct lane {
	struct clickhouse *client;
	uint32_t shard;
	char *path; /* the shipment's file */
	char *damaged_path;
	bool in_doubt, told_damage;
	uint64_t began_ns; /* of the monotonic clock */
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

/* Reads the file that an earlier collector has left. Returns 0 or a negative errno. If the file is
 * damaged, that is no error: told_damage is false then, and damaged_path says where it is. */
int lane_init(struct lane *lane, struct clickhouse *client, const char *folder, uint32_t shard,
	      struct err_text *err);
void lane_done(struct lane *lane);
/* Sends what could not be sent before, and reads the marks. Returns as lane_send. */
int lane_begin(struct lane *lane, uint64_t collector);
/* Says once that the file was damaged, unless *ret_text says something. */
void lane_tell_damage(struct lane *lane, struct err_text *ret_text);
/* Ends the doubt. */
void lane_settled(struct lane *lane);
/* Sends all rows. Returns 0, or the error that lane->error and lane->why keep. */
int lane_send(struct lane *lane);
/* Keeps an error of the shard, with its sentence. Returns it. */
int lane_failed(struct lane *lane, int error, const struct err_text *err);
/* Reads what other collectors have of all streams (marks_read_others). Returns as lane_send. */
int lane_read_others(struct lane *lane, uint64_t collector);
