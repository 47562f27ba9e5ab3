// Answers of the REST API (docs/rest-api.md) about the memory of the process: maps, pages, figures.
import type { Frame, Time } from './types';

export interface Call {
	timestamp: Time;
	thread: number;
	backtrace_id: number;
	backtrace: Frame[];
}

export interface Usage {
	timestamp_relative: Time;
	address_space?: number;
	rss?: number;
	anonymous?: number;
	swap?: number;
	pss?: number;
	shared_clean?: number;
	shared_dirty?: number;
	private_clean?: number;
	private_dirty?: number;
	estimated?: boolean;
}

interface Protection {
	is_readable?: boolean;
	is_writable?: boolean;
	is_executable?: boolean;
	is_shared?: boolean;
	name?: string;
}

export interface MapRegion extends Protection {
	address: number;
	size: number;
	timestamp_relative: Time;
	file_offset?: number;
	deallocation?: { timestamp: Time };
}

export interface Mapping extends Protection {
	id: number;
	address: number;
	size: number;
	timestamp_relative: Time;
	source?: Call;
	deallocation?: { timestamp: Time; source?: Call };
	peak_rss?: number;
	peak_rss_estimated?: boolean;
	regions?: MapRegion[];
	usage_history?: Usage[];
}

export interface Maps {
	maps: Mapping[];
	total_count: number;
	gathered: boolean;
}

export interface HeapRegion {
	address: number;
	size: number;
	name: string;
	resident_bytes: number;
	in_use_blocks: number;
	in_use_bytes: number;
	page_bytes: number;
}

/** In the letters of docs/rest-api.md: B is in_use_bytes, P page_bytes, R resident_bytes. */
export interface Fragmentation {
	at_ns: number;
	in_use_blocks: number;
	in_use_bytes: number;
	page_size: number;
	pages: number;
	page_bytes: number;
	page_fill: number;
	pages_by_fill: { fill_min: number; pages: number; in_use_bytes: number }[];
	sampled: boolean;
	gathered: boolean;
	resident_bytes?: number;
	maps_ns?: number;
	fragmentation?: number;
	heap_regions?: HeapRegion[];
}

export interface Regions {
	main_heap_start: number;
	main_heap_end: number;
	regions: [number, number][];
}

/** `xs` in ms since the epoch. */
export interface KernelFigures {
	xs: number[];
	address_space: number[];
	rss: number[];
	anonymous: number[];
	dirty: number[];
	clean: number[];
	swap: number[];
	pss?: number[];
}

export interface FragmentationTimeline {
	xs: number[];
	in_use: number[];
	rss: number[];
	anonymous: number[];
	fragmentation: number[];
	allocator?: { xs: number[]; arena: number[]; hblkhd: number[]; uordblks: number[]; fordblks: number[]; keepcost: number[] };
}

export interface Mallopt {
	timestamp: Time;
	thread: number;
	backtrace_id: number;
	raw_param: number;
	param?: string;
	value: number;
	result: number;
}

export interface Block {
	id: number;
	address: number;
	size: number;
	timestamp_relative: Time;
	thread: number;
	backtrace_id: number;
	backtrace: Frame[];
}

/** ns from the start of a recording, whose `timestamp` is `start`, to a time since the epoch. */
export function sinceStart(time: Time, start: Time): number {
	return (time.secs - start.secs) * 1e9 + (time.fract_nsecs - start.fract_nsecs);
}
