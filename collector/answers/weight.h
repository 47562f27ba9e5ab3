#pragma once
/* What is summed: the bytes of blocks, or their number. */

enum export_weight { EXPORT_BYTES, EXPORT_BLOCKS };
