#pragma once
/* What is summed up: the bytes of blocks, or their number. */

enum export_weight { EXPORT_BYTES, EXPORT_BLOCKS };
