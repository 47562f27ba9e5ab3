/* Finds a function's call frame entry. See eh_frame.h. */
#include "agent/unwind/eh_frame.h"

#include "agent/unwind/leb.h"
#include "memory.h"
#include "agent/unwind/ban.h"

enum { /* DW_EH_PE_* */
       PE_ABSPTR = 0x00,
       PE_ULEB128 = 0x01,
       PE_UDATA2 = 0x02,
       PE_UDATA4 = 0x03,
       PE_UDATA8 = 0x04,
       PE_SLEB128 = 0x09,
       PE_SDATA2 = 0x0a,
       PE_SDATA4 = 0x0b,
       PE_SDATA8 = 0x0c,
       PE_FORMAT = 0x0f,
       PE_PCREL = 0x10,
       PE_DATAREL = 0x30,
       PE_ALIGNED = 0x50,
       PE_APPLICATION = 0x70,
       PE_OMIT = 0xff,
};

struct reader eh_reader(const struct unwind_module *module, uint64_t offset, uint64_t end)
{
	uint64_t size = module->load_end - module->load_start, length = end < size ? end : size;
	const uint8_t *memory = module_memory(module, offset, &length);
	struct reader r = reader_of(memory, length);

	if (module->load_end < module->load_start || offset > r.length)
		r.error = -EBADMSG;
	else
		r.offset = offset;
	return r;
}

uint64_t eh_pointer(const struct unwind_module *module, struct reader *r, uint8_t encoding,
		    uint64_t data)
{
	uint64_t place, value;

	if (encoding == PE_OMIT)
		return 0;
	if ((encoding & PE_APPLICATION) == PE_ALIGNED) {
		r->offset = (module->load_start + r->offset + 7) / 8 * 8 - module->load_start;
		if (r->offset > r->length)
			r->error = -EBADMSG;
	}
	place = module->load_start + r->offset;
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		value = reader_host_u64(r);
		break;
	case PE_ULEB128:
		value = reader_uleb(r);
		break;
	case PE_SLEB128:
		value = (uint64_t)reader_sleb(r);
		break;
	case PE_UDATA2:
		value = reader_host_u16(r);
		break;
	case PE_SDATA2:
		value = (uint64_t)(int16_t)reader_host_u16(r);
		break;
	case PE_UDATA4:
		value = reader_host_u32(r);
		break;
	case PE_SDATA4:
		value = (uint64_t)(int32_t)reader_host_u32(r);
		break;
	default:
		r->error = -EBADMSG;
		return 0;
	}
	switch (encoding & PE_APPLICATION) {
	case PE_PCREL:
		return value + place;
	case PE_DATAREL:
		return value + data;
	case PE_ABSPTR:
	case PE_ALIGNED:
		return value;
	default:
		r->error = -EBADMSG;
		return 0;
	}
}

/* Reads the length field of a CIE or FDE, and limits the reader to the record. Returns the record's
 * end, or 0 at the end of the table. */
static uint64_t record_end(struct reader *r)
{
	uint64_t length = reader_host_u32(r);

	if (length == 0xffffffff)
		length = reader_host_u64(r);
	if (r->error || !length)
		return 0;
	if (length > reader_left(r)) {
		r->error = -EBADMSG;
		return 0;
	}
	r->length = r->offset + length;
	return r->length;
}

/* Skips the pointer to the personality routine. Its base and indirection do not matter for its
 * length. */
static void skip_personality(const struct unwind_module *module, struct reader *r)
{
	uint8_t encoding = reader_u8(r);

	if ((encoding & PE_APPLICATION) == PE_ALIGNED)
		eh_pointer(module, r, PE_ALIGNED, 0);
	else if (encoding != PE_OMIT)
		eh_pointer(module, r, encoding & PE_FORMAT, 0);
}

/* Reads an augmentation like "zPLR": each character stands for a field. After an unknown character,
 * the length serves to skip the remaining fields. */
static void read_augmentation(const struct unwind_module *module, struct reader *r,
			      const uint8_t *text, struct eh_entry *entry)
{
	uint64_t length = reader_uleb(r);
	uint64_t end;

	if (length > reader_left(r)) {
		r->error = -EBADMSG;
		return;
	}
	end = r->offset + length;
	for (text++; *text; text++) {
		if (*text == 'R')
			entry->pointer_encoding = reader_u8(r);
		else if (*text == 'P')
			skip_personality(module, r);
		else if (*text == 'L')
			reader_u8(r);
		else if (*text == 'S')
			entry->signal = true;
		else if (*text != 'B')
			break;
	}
	r->offset = end;
}

static int read_cie(const struct unwind_module *module, uint64_t offset, struct eh_entry *entry,
		    bool *ret_augmented)
{
	struct reader r = eh_reader(module, offset, UINT64_MAX);
	uint64_t end = record_end(&r);
	const uint8_t *text;
	uint8_t version;

	if (!end || reader_host_u32(&r) != 0)
		return -EBADMSG;
	version = reader_u8(&r);
	text = r.data + r.offset;
	while (reader_u8(&r))
		;
	if (version == 4)
		reader_bytes(&r, 2); /* sizes of address and segment selector */
	if (r.error || (version != 1 && version != 3 && version != 4))
		return -EBADMSG;
	entry->code_align = reader_uleb(&r);
	entry->data_align = reader_sleb(&r);
	entry->return_register = version == 1 ? reader_u8(&r) : reader_uleb(&r);
	entry->pointer_encoding = PE_ABSPTR;
	entry->signal = false;
	*ret_augmented = *text == 'z';
	if (*text == 'z')
		read_augmentation(module, &r, text, entry);
	else if (*text)
		return -EBADMSG;
	entry->initial = (struct eh_bytes){r.offset, end};
	return r.error;
}

/* Reads the entry at `offset`. Returns 0; 1 if it is a CIE; -ENOENT at the end of the table; or
 * another negative errno. Sets *ret_next if the record's length is valid. */
static int read_entry(const struct unwind_module *module, uint64_t offset, struct eh_entry *entry,
		      uint64_t *ret_next)
{
	struct reader r = eh_reader(module, offset, UINT64_MAX);
	uint64_t end = record_end(&r), place = r.offset, cie, size;
	bool augmented;
	int error;

	if (!end)
		return r.error ? r.error : -ENOENT;
	*ret_next = end;
	cie = reader_host_u32(&r);
	if (r.error)
		return r.error;
	if (!cie)
		return 1;
	if (cie > place)
		return -EBADMSG;
	error = read_cie(module, place - cie, entry, &augmented);
	if (error)
		return error;
	entry->start = eh_pointer(module, &r, entry->pointer_encoding, module->eh_frame_hdr);
	size = eh_pointer(module, &r, entry->pointer_encoding & PE_FORMAT, 0);
	entry->end = entry->start + size;
	if (augmented) {
		uint64_t length = reader_uleb(&r);

		reader_bytes(&r, length);
	}
	entry->instructions = (struct eh_bytes){r.offset, end};
	return entry->end < entry->start ? -EBADMSG : r.error;
}

/* Reads the records one after the other, for a module without a sorted table. */
static int scan(const struct unwind_module *module, uint64_t offset, uint64_t address,
		struct eh_entry *entry)
{
	for (;;) {
		uint64_t next = 0;
		int error = read_entry(module, offset, entry, &next);

		if (!error && address >= entry->start && address < entry->end)
			return 0;
		if (!next)
			return error ? error : -ENOENT;
		offset = next;
	}
}

/* Searches `count` (function, entry) pairs at `table` for the last function not above `address`, by
 * bisection. Returns 0 with the entry's address, or a negative errno. */
static int eh_frame_search(const struct unwind_module *module, uint64_t table, uint64_t count,
			   uint64_t address, uint64_t *ret_entry)
{
	int64_t wanted = (int64_t)(address - module->eh_frame_hdr);
	uint64_t low = 0, high = count;
	int32_t function, entry = 0;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const uint8_t *pair = module_bytes(module, table + middle * 8, 8);

		if (!pair)
			return -EBADMSG;
		memcpy(&function, pair, 4);
		if (function <= wanted) {
			memcpy(&entry, pair + 4, 4);
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (!low)
		return -ENOENT;
	*ret_entry = module->eh_frame_hdr + (uint64_t)(int64_t)entry;
	return 0;
}

int eh_frame_find(const struct unwind_module *module, uint64_t address, struct eh_entry *ret_entry)
{
	uint64_t hdr = module->eh_frame_hdr, frames, count, record, next, bound;
	struct reader r;
	uint8_t frames_encoding, count_encoding, table_encoding;
	int error;

	if (module->entry) {
		error = read_entry(module, module->entry - module->load_start, ret_entry, &next);
		if (error)
			return error > 0 ? -EBADMSG : error;
		return address >= ret_entry->start && address < ret_entry->end ? 0 : -ENOENT;
	}
	if (!hdr || hdr < module->load_start || hdr >= module->load_end)
		return -ENOENT;
	bound = module->eh_frame_hdr_size ? hdr - module->load_start + module->eh_frame_hdr_size
					  : UINT64_MAX;
	if (bound > module->load_end - module->load_start)
		bound = module->load_end - module->load_start;
	r = eh_reader(module, hdr - module->load_start, bound);
	if (reader_u8(&r) != 1)
		return -EBADMSG;
	frames_encoding = reader_u8(&r);
	count_encoding = reader_u8(&r);
	table_encoding = reader_u8(&r);
	frames = eh_pointer(module, &r, frames_encoding, hdr);
	count = eh_pointer(module, &r, count_encoding, hdr);
	if (r.error)
		return r.error;
	if (count_encoding == PE_OMIT || table_encoding != (PE_DATAREL | PE_SDATA4)) {
		if (frames < module->load_start || frames >= module->load_end)
			return -EBADMSG;
		return scan(module, frames - module->load_start, address, ret_entry);
	}
	if (count > (bound - r.offset) / 8) /* the module may end earlier */
		count = (bound - r.offset) / 8;
	error = eh_frame_search(module, r.offset, count, address, &record);
	if (error)
		return error;
	if (record < module->load_start || record >= module->load_end)
		return -EBADMSG;
	error = read_entry(module, record - module->load_start, ret_entry, &next);
	if (error)
		return error > 0 ? -EBADMSG : error;
	return address >= ret_entry->start && address < ret_entry->end ? 0 : -ENOENT;
}
