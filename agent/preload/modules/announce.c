/* Announces modules; see announce.h. */
#include "agent/preload/modules/announce.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#include "agent/preload/system/clock.h"
#include "agent/preload/record/patience.h"
#include "agent/preload/record/slice.h"
#include "agent/preload/system/state.h"
#include "agent/preload/system/sys.h"

#include "agent/preload/poison.h"

#define SEGMENTS_MAX  16
#define SEGMENT_BYTES 32u
#define ROOM_PIECE_US 1000
#define ROOM_WAIT_NS  1200000000u

/* Header, segments, path. */
#define BYTES_MAX (sizeof(struct ring_module) + SEGMENTS_MAX * SEGMENT_BYTES + PATH_MAX)

static struct {
	uint64_t bytes[BYTES_MAX / 8 + 1]; /* the announcement under construction */
	char path[PATH_MAX];
	char main_path[PATH_MAX]; /* of this image */
	size_t main_path_length;
} announced;

/* The channel. */

static bool announce_has_room(const struct ring_header *ring, uint64_t bytes)
{
	return ring->modules_head + bytes -
		       __atomic_load_n(&ring->modules_tail, __ATOMIC_ACQUIRE) <=
	       ring->modules_size;
}

static bool channel_room(struct ring_header *ring, uint64_t bytes)
{
	uint32_t policy = __atomic_load_n(&ring->policy, __ATOMIC_RELAXED);
	struct patience patience;

	/* Even with the policy count, the library waits before it gives up a module's name. */
	patience_begin(&patience, ring, policy == RING_THIN ? RING_THIN : RING_BLOCK);
	while (!announce_has_room(ring, bytes)) {
		unsigned most = bytes <= ring->modules_size ? patience_piece(&patience) : 0;

		if (!most || patience.now - patience.start > ROOM_WAIT_NS)
			break;
		slice_doorbell();
		sys_sleep_us(most < ROOM_PIECE_US ? most : ROOM_PIECE_US);
	}
	patience_end(&patience);
	return announce_has_room(ring, bytes);
}

/* Puts an announcement into the channel. If the rest of the channel is too short for it, a PAD
 * skips the rest. The reader also skips a rest that is too short for a header. */
static bool channel_put(struct ring_header *ring, const struct ring_module *announcement)
{
	uint8_t *channel = (uint8_t *)ring + ring->modules_offset;
	uint64_t at = ring->modules_head & (ring->modules_size - 1), left = ring->modules_size - at;
	uint64_t length = announcement->length, skipped = length <= left ? 0 : left;

	if (!channel_room(ring, length + skipped)) {
		__atomic_fetch_add(&ring->modules_lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (skipped) {
		const struct {
			uint32_t length;
			uint16_t kind;
			uint16_t zero;
		} pad = {.length = (uint32_t)left, .kind = RING_MODULE_PAD};

		memcpy(channel + at, &pad, sizeof(pad));
		at = 0;
	}
	memcpy(channel + at, announced.bytes, length);
	__atomic_store_n(&ring->modules_head, ring->modules_head + skipped + length,
			 __ATOMIC_RELEASE);
	return true;
}

/* A single module. */

/* Gets the path of the program. Reads it only once, because the program may lose the right to read
 * it later. */
static size_t path_main(char *path)
{
	long length;

	if (!announced.main_path_length) {
		length = sys_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", announced.main_path,
				  PATH_MAX - 1);
		announced.main_path_length = length > 0 ? (size_t)length : 0;
	}
	memcpy(path, announced.main_path, announced.main_path_length);
	return announced.main_path_length;
}

static size_t path_relative(char *path, const char *name, size_t name_length)
{
	long length = sys_call(SYS_getcwd, path, PATH_MAX); /* with its NUL */

	if (length <= 1 || path[0] != '/' || (size_t)length + name_length >= PATH_MAX)
		length = 0;
	else
		path[length - 1] = '/';
	memcpy(path + length, name, name_length);
	return (size_t)length + name_length;
}

/* Gets a module's path. The loader's name of the program is empty (glibc), or the name that its
 * parent gave it (musl). If `again` is set, the function makes no system call. */
static size_t announce_path_of(const struct dl_phdr_info *info, bool first, bool again, char *path)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	size_t length = first ? path_main(path) : 0;

	if (length)
		return length;
	length = strnlen(name, PATH_MAX - 1);
	if (!strncmp(name, "linux-vdso", 10) || !strncmp(name, "linux-gate", 10)) {
		memcpy(path, "[vdso]", 6);
		return 6;
	}
	if (strchr(name, '/') && name[0] != '/' && !again)
		return path_relative(path, name, length);
	memcpy(path, name, length);
	return length;
}

static unsigned put_segments(const struct dl_phdr_info *info, uint8_t *to)
{
	unsigned count = 0;

	for (unsigned i = 0; i < info->dlpi_phnum && count < SEGMENTS_MAX; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t segment[4] = {p->p_vaddr, p->p_memsz, p->p_offset, p->p_flags};

		if (p->p_type == PT_LOAD)
			memcpy(to + count++ * sizeof(segment), segment, sizeof(segment));
	}
	return count;
}

static struct ring_module *announce_begin(enum ring_module_kind kind, uint32_t id)
{
	struct ring_module *out = (struct ring_module *)announced.bytes;

	memset(out, 0, sizeof(*out));
	out->length = sizeof(*out);
	out->kind = kind;
	out->id = id;
	out->epoch = shim.epoch;
	out->stamp = stamp_now();
	return out;
}

bool announce_load(struct ring_header *ring, const struct dl_phdr_info *info,
		   const struct elf_image *image, uint32_t id, bool first, bool again)
{
	struct ring_module *out = announce_begin(RING_MODULE_LOAD, id);
	uint8_t *tail = (uint8_t *)(out + 1);
	size_t path = announce_path_of(info, first, again, announced.path), segments;

	out->segment_count = (uint8_t)put_segments(info, tail);
	segments = out->segment_count * SEGMENT_BYTES;
	memcpy(tail + segments, announced.path, path);
	memset(tail + segments + path, 0, 7);
	out->length = (uint32_t)((sizeof(*out) + segments + path + 7) & ~(size_t)7);
	out->path_length = (uint16_t)path;
	out->bias = image->module.bias;
	out->start = image->module.load_start;
	out->end = image->module.load_end;
	out->print = image->build_id_length ? 0 : (uint32_t)image->identity;
	out->build_id_length = image->build_id_length;
	memcpy(out->build_id, image->build_id, image->build_id_length);
	return channel_put(ring, out);
}

void announce_end(struct ring_header *ring, uint32_t id)
{
	channel_put(ring, announce_begin(RING_MODULE_UNLOAD, id));
}
