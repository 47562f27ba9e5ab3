// Where the boxes of a flame graph lie. A level is all nodes of one depth, from left to right; 200,000 boxes are drawn by looking only at those
// that are a pixel wide, found in each level by halving.
import type { Flame } from '../api/types';

export interface Level {
	nodes: Uint32Array; // in the order of x
	x: Float64Array; // where each begins, in the unit of the value
}

export interface Layout {
	flame: Flame;
	count: number;
	values: Float64Array; // how wide a node is, with all below it; at least 0
	/** What a node has, with all below it: in a differential now, not what it is wide by. */
	amounts: Float64Array;
	/** In a differential: what it has more than in the base. */
	changes: Float64Array | undefined;
	depth: Uint16Array;
	parent: Int32Array;
	x: Float64Array;
	levels: Level[];
	/** One behind the last node below each. */
	end: Uint32Array;
}

/** In a differential a box is as wide as the larger of both sides, so that what has gone is seen, too. */
function widthsOf(depths: number[], now: number[], base: number[]): Float64Array {
	const n = depths.length;
	const widths = new Float64Array(n);
	// From the last node: of each depth, what the children of the next node above it have.
	const nowBelow: number[] = [];
	const baseBelow: number[] = [];
	const widthBelow: number[] = [];

	for (let i = n - 1; i >= 0; i--) {
		const d = depths[i]!;
		const selfNow = now[i]! - (nowBelow[d + 1] ?? 0);
		const selfBase = base[i]! - (baseBelow[d + 1] ?? 0);
		widths[i] = Math.max(0, selfNow, selfBase) + (widthBelow[d + 1] ?? 0);
		nowBelow[d + 1] = baseBelow[d + 1] = widthBelow[d + 1] = 0;
		nowBelow[d] = (nowBelow[d] ?? 0) + now[i]!;
		baseBelow[d] = (baseBelow[d] ?? 0) + base[i]!;
		widthBelow[d] = (widthBelow[d] ?? 0) + widths[i]!;
	}
	return widths;
}

/** `blocks`: boxes are as wide as blocks are many, else as bytes. */
export function layOut(flame: Flame, blocks: boolean): Layout {
	const depths = flame.nodes.depth;
	const n = depths.length;
	const now = blocks ? flame.nodes.blocks : flame.nodes.bytes;
	const base = blocks ? flame.nodes.base_blocks : flame.nodes.base_bytes;
	const layout: Layout = {
		flame,
		count: n,
		values: base ? widthsOf(depths, now, base) : Float64Array.from(now),
		amounts: Float64Array.from(now),
		changes: base && Float64Array.from(base, (b, i) => now[i]! - b),
		depth: Uint16Array.from(depths),
		parent: new Int32Array(n).fill(-1),
		x: new Float64Array(n),
		levels: [],
		end: new Uint32Array(n),
	};
	const path: number[] = [];
	const filled: number[] = []; // of each node of the path: where its next child begins
	const counts: number[] = [];

	for (let i = 0; i < n; i++) {
		const d = layout.depth[i]!;
		while (path.length > d) layout.end[path.pop()!] = i;
		if (d) {
			const parent = path[d - 1]!;
			layout.parent[i] = parent;
			layout.x[i] = filled[d - 1]!;
			filled[d - 1]! += layout.values[i]!;
		}
		path[d] = i;
		filled[d] = layout.x[i]!;
		counts[d] = (counts[d] ?? 0) + 1;
	}
	while (path.length) layout.end[path.pop()!] = n;
	layout.levels = counts.map((count) => ({ nodes: new Uint32Array(count), x: new Float64Array(count) }));
	const next = counts.map(() => 0);
	for (let i = 0; i < n; i++) {
		const d = layout.depth[i]!;
		const level = layout.levels[d]!;
		const at = next[d]!++;
		level.nodes[at] = i;
		level.x[at] = layout.x[i]!;
	}
	return layout;
}

/** The place of the last node of the level that begins at or before x; -1: none does. */
export function lastBefore(level: Level, x: number): number {
	let low = 0;
	let high = level.x.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (level.x[middle]! <= x) low = middle + 1;
		else high = middle;
	}
	return low - 1;
}

/** Of a node alone, without those below it. */
export function selfOf(layout: Layout, node: number): number {
	let self = layout.amounts[node]!;
	for (let child = node + 1; child < layout.end[node]!; child = layout.end[child]!) self -= layout.amounts[child]!;
	return Math.max(0, self);
}

export function functionOf(flame: Flame, node: number): string {
	const frame = flame.nodes.frame[node]!;
	return frame < 0 ? 'all' : flame.strings[flame.frames.function[frame]!] || '[unknown]';
}

export function moduleOf(flame: Flame, node: number): string {
	const frame = flame.nodes.frame[node]!;
	return frame < 0 ? '' : flame.strings[flame.frames.module[frame]!]!;
}

export function placeOf(flame: Flame, node: number): string {
	const frame = flame.nodes.frame[node]!;
	if (frame < 0) return '';
	const file = flame.strings[flame.frames.file[frame]!]!;
	return file ? `${file}:${flame.frames.line[frame]}` : '';
}

export interface Match {
	frames: Uint8Array; // 1: the function or place of the frame matches
	/** The sum of what matches, counted once where a match lies in another. */
	sum: number;
}

/** Frames whose function, file or module has `text` in it, or matches it as a regular expression. */
export function find(layout: Layout, text: string): Match | undefined {
	if (!text) return undefined;
	const { flame } = layout;
	let test: (s: string) => boolean;
	try {
		const pattern = new RegExp(text, 'i');
		test = (s) => pattern.test(s);
	} catch {
		const lower = text.toLowerCase();
		test = (s) => s.toLowerCase().includes(lower);
	}
	const strings = flame.strings.map(test);
	const { function: functions, file, module } = flame.frames;
	const frames = Uint8Array.from(functions, (f, i) => Number(strings[f]! || strings[file[i]!]! || strings[module[i]!]!));
	let sum = 0;
	for (let i = 0; i < layout.count; ) {
		const frame = flame.nodes.frame[i]!;
		if (frame >= 0 && frames[frame]) {
			sum += layout.amounts[i]!;
			i = layout.end[i]!;
		} else {
			i++;
		}
	}
	return { frames, sum };
}
