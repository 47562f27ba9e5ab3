// The address space as areas of pages, and how full each page is. No drawing here.
import type { Fragmentation, HeapRegion, Regions } from '../api/memory';

export interface Area {
	name: string;
	/** Both on page boundaries. */
	from: number;
	to: number;
	/** Bytes of each page that are in use. */
	used: Float64Array;
	/** Sum of `used`. */
	bytes: number;
	region?: HeapRegion;
}

export interface Space {
	pageSize: number;
	pages: number;
	areas: Area[];
	/** Areas that are too many, or too large, to be drawn. */
	left: number;
}

const GAP = 1 << 20; // without readings of maps: blocks further apart belong to different areas
const AREAS = 500;
const PAGES = 1 << 22; // 16 GiB of 4 KiB pages, 32 MiB of numbers

function newArea(
	name: string,
	from: number,
	to: number,
	pageSize: number,
	region?: HeapRegion,
): Area {
	return {
		name,
		from,
		to,
		used: new Float64Array((to - from) / pageSize),
		bytes: 0,
		...(region ? { region } : {}),
	};
}

/**
 * Regions of the heap where readings of maps tell them; else, and beside them, groups of blocks
 * that lie near each other.
 */
export function spaceOf(fragmentation: Fragmentation, regions: Regions): Space {
	const pageSize = fragmentation.page_size || 4096;
	const down = (a: number) => Math.floor(a / pageSize) * pageSize;
	const up = (a: number) => Math.ceil(a / pageSize) * pageSize;
	const known = [...(fragmentation.heap_regions ?? [])].sort((a, b) => a.address - b.address);
	const space: Space = { pageSize, pages: 0, areas: [], left: 0 };
	let at = 0; // in known
	let here:
		{ from: number; to: number; region?: HeapRegion; ranges: [number, number][] } | undefined;

	const close = () => {
		if (!here) return;
		const { from, to, region, ranges } = here;
		const pages = (to - from) / pageSize;
		here = undefined;
		if (space.areas.length >= AREAS || space.pages + pages > PAGES) {
			space.left++;
			return;
		}
		const start = regions.main_heap_start;
		const main = start !== undefined && from <= start && start < to;
		const area = newArea(
			region ? region.name : main ? '[heap]' : '',
			from,
			to,
			pageSize,
			region,
		);
		for (const [first, end] of ranges)
			for (
				let page = Math.floor((first - from) / pageSize);
				page * pageSize + from < end;
				page++
			) {
				const low = Math.max(first, from + page * pageSize);
				const high = Math.min(end, from + (page + 1) * pageSize);
				area.used[page]! += high - low;
				area.bytes += high - low;
			}
		space.areas.push(area);
		space.pages += pages;
	};
	const openKnown = (until: number) => {
		// Regions of the heap that begin before `until`, each on its own.
		while (at < known.length && known[at]!.address < until) {
			close();
			const region = known[at++]!;
			here = {
				from: down(region.address),
				to: up(region.address + region.size),
				region,
				ranges: [],
			};
		}
	};

	for (const [from, to] of regions.regions) {
		openKnown(to);
		// A block may go beyond the region that a reading showed: the heap has grown since.
		let start = from;
		while (start < to) {
			if (here?.region && start >= here.from && start < here.to) {
				const end = Math.min(to, here.to);
				here.ranges.push([start, end]);
				start = end;
				continue;
			}
			const next = known[at]?.address ?? Infinity;
			const end = Math.min(to, next > start ? next : to);
			if (here && !here.region && start - here.to <= GAP) {
				here.to = up(end);
				here.ranges.push([start, end]);
			} else {
				close();
				here = { from: down(start), to: up(end), ranges: [[start, end]] };
			}
			start = end;
			openKnown(start + 1);
		}
	}
	openKnown(Infinity);
	close();
	return space;
}

export interface Cell {
	from: number;
	to: number;
	/** 0 to 1; of `pages` pages. */
	fill: number;
	used: number;
	pages: number;
	/** Pages among them without a block in use. */
	empty: number;
}

export function cellOf(area: Area, index: number, pagesPerCell: number, pageSize: number): Cell {
	const first = index * pagesPerCell;
	const last = Math.min(area.used.length, first + pagesPerCell);
	let used = 0;
	let empty = 0;
	for (let i = first; i < last; i++) {
		used += area.used[i]!;
		if (!area.used[i]) empty++;
	}
	return {
		from: area.from + first * pageSize,
		to: area.from + last * pageSize,
		used,
		fill: used / ((last - first) * pageSize),
		pages: last - first,
		empty,
	};
}

export function cellCount(area: Area, pagesPerCell: number): number {
	return Math.ceil(area.used.length / pagesPerCell);
}

/** So that all of it is at most `most` squares. */
export function pagesPerCellFor(space: Space, most: number): number {
	let n = 1;
	while (space.pages / n > most) n *= 2;
	return n;
}
