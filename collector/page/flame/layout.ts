// Where the boxes of a flame graph lie. Made by a worker (worker.ts) of the server's columns;
// arrays are handed over, not copied.
//
// Nodes are numbered from 0, the root, each level behind the one above it: so the children of a
// node are a row of numbers, the widest first.
import type { Flame, Sum } from '../api/types';

export interface Layout {
	count: number;
	total: Sum;
	/** Nodes that the server left out, as they were among the smallest. */
	cut: number;
	strings: string[];
	/** Of each string, if it is shorter: a function without template arguments and parameters. */
	short: string[];
	/** Of each distinct frame, numbers of strings. */
	functions: Uint32Array;
	files: Uint32Array;
	lines: Uint32Array;
	modules: Uint32Array;
	/** Of each node: its frame; -1: the root. */
	frame: Int32Array;
	parent: Int32Array;
	/** Children of node i are from children[i] to children[i + 1], not included. */
	children: Uint32Array;
	/** Where it begins, and how wide it is with all below it. */
	x: Float64Array;
	width: Float64Array;
	/**
	 * What it has with all below it, and by itself: in a differential now, not what it is wide by.
	 */
	amount: Float64Array;
	self: Float64Array;
	/** In a differential: what it has more than in the base. */
	change: Float64Array | undefined;
	depth: Uint16Array;
	/** The first node of each level; levels[deepest + 1] is `count`. */
	levels: Uint32Array;
	/**
	 * Functions, the one with most by itself first: a frame of each, and its sums. Columns, as
	 * 200,000 objects take a tenth of a second to hand over.
	 */
	rowFrame: Uint32Array;
	rowSelf: Float64Array;
	rowTotal: Float64Array;
	rowChange: Float64Array;
}

interface FunctionRow {
	frame: number;
	self: number;
	total: number; // counted once where it calls itself
	change: number;
	/** Of it what the function has by itself. */
	selfChange: number;
}

/**
 * In a differential a box is as wide as the larger of both sides, so that what has gone is seen,
 * too. `depths` in preorder.
 */
function widthsOf(depths: number[], now: number[], base: number[]): Float64Array {
	const widths = new Float64Array(depths.length);
	// From the last node: of each depth, what the children of the next node above it have.
	const nowBelow: number[] = [];
	const baseBelow: number[] = [];
	const widthBelow: number[] = [];

	for (let i = depths.length - 1; i >= 0; i--) {
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

/**
 * Children of each node of the preorder, as a list of where they begin (n + 1 numbers) and the
 * nodes themselves.
 */
function childrenOf(depths: number[]): [Uint32Array, Uint32Array] {
	const n = depths.length;
	const parents = new Int32Array(n).fill(-1);
	const begin = new Uint32Array(n + 1);
	const nodes = new Uint32Array(Math.max(0, n - 1));
	const path: number[] = [];

	for (let i = 0; i < n; i++) {
		const d = depths[i]!;
		path[d] = i;
		if (d) begin[(parents[i] = path[d - 1]!) + 1]!++;
	}
	for (let i = 0; i < n; i++) begin[i + 1]! += begin[i]!;
	const next = begin.slice(0, n);
	for (let i = 1; i < n; i++) nodes[next[parents[i]!]!++] = i;
	return [begin, nodes];
}

// Brothers with so much of the whole are always wider than a pixel: only these may stand in another
// order than the widest first (draw.ts).
const WIDE_PART = 1 / 300;

/**
 * `blocks`: boxes are as wide as blocks are many, else as bytes. `byName`: wide brothers stand in
 * the order of their names.
 */
export function layOut(flame: Flame, blocks: boolean, byName = false, withRows = true): Layout {
	const { depth: depths, frame: frames } = flame.nodes;
	const n = depths.length;
	const now = blocks ? flame.nodes.blocks : flame.nodes.bytes;
	const base = blocks ? flame.nodes.base_blocks : flame.nodes.base_bytes;
	const widths = base ? widthsOf(depths, now, base) : Float64Array.from(now);
	const [begin, below] = childrenOf(depths);
	const levels: number[] = [];
	const layout: Layout = {
		count: n,
		total: flame.total,
		cut: flame.cut,
		strings: flame.strings,
		short: flame.short,
		functions: Uint32Array.from(flame.frames.function),
		files: Uint32Array.from(flame.frames.file),
		lines: Uint32Array.from(flame.frames.line),
		modules: Uint32Array.from(flame.frames.module),
		frame: new Int32Array(n),
		parent: new Int32Array(n),
		children: new Uint32Array(n + 1),
		x: new Float64Array(n),
		width: new Float64Array(n),
		amount: new Float64Array(n),
		self: new Float64Array(n),
		change: base && new Float64Array(n),
		depth: new Uint16Array(n),
		levels: new Uint32Array(0),
		rowFrame: new Uint32Array(0),
		rowSelf: new Float64Array(0),
		rowTotal: new Float64Array(0),
		rowChange: new Float64Array(0),
	};
	const was = new Uint32Array(n); // of each node: its number in preorder
	const wide = (widths[0] ?? 0) * WIDE_PART;
	const nameOf = (node: number) => flame.strings[flame.frames.function[frames[node]!]!]!;
	const order = (a: number, b: number): number => {
		if (!byName || widths[a]! < wide || widths[b]! < wide) return widths[b]! - widths[a]!;
		const [left, right] = [nameOf(a), nameOf(b)];
		return left < right ? -1 : left > right ? 1 : frames[a]! - frames[b]!;
	};

	layout.parent[0] = -1;
	for (let i = 0, made = 1; i < n; i++) {
		const old = was[i]!;
		const d = depths[old]!;
		const children = below.subarray(begin[old]!, begin[old + 1]!);

		if (levels.length === d) levels.push(i);
		layout.frame[i] = frames[old]!;
		layout.depth[i] = d;
		layout.width[i] = widths[old]!;
		layout.amount[i] = layout.self[i] = now[old]!;
		if (layout.change) layout.change[i] = now[old]! - base![old]!;
		if (children.length > 1) children.sort(order);
		layout.children[i] = made;
		let x = layout.x[i]!;
		for (const child of children) {
			was[made] = child;
			layout.parent[made] = i;
			layout.x[made] = x;
			layout.self[i]! -= now[child]!;
			x += widths[child]!;
			made++;
		}
	}
	layout.children[n] = n;
	layout.levels = Uint32Array.from([...levels, n]);
	if (withRows) {
		const rows = functionRows(layout);
		layout.rowFrame = Uint32Array.from(rows.map((r) => r.frame));
		layout.rowSelf = Float64Array.from(rows.map((r) => r.self));
		layout.rowTotal = Float64Array.from(rows.map((r) => r.total));
		layout.rowChange = Float64Array.from(rows.map((r) => r.change));
	}
	return layout;
}

function childrenChange(layout: Layout, node: number): number {
	let sum = 0;
	for (let child = layout.children[node]!; child < layout.children[node + 1]!; child++)
		sum += layout.change![child]!;
	return sum;
}

/** A row a function and module. */
function functionRows(layout: Layout): FunctionRow[] {
	const rows = new Map<number, FunctionRow>();
	const keys = Float64Array.from(layout.functions, (f, i) => f * 2 ** 26 + layout.modules[i]!);
	const own = new Float64Array(layout.functions.length); // by frame: what it has by itself
	const path: number[] = []; // keys above the node, by depth
	const stack = layout.count ? [0] : [];

	while (stack.length) {
		const node = stack.pop()!;
		const frame = layout.frame[node]!;
		const depth = layout.depth[node]!;
		for (let child = layout.children[node]!; child < layout.children[node + 1]!; child++)
			stack.push(child);
		if (frame < 0) continue;
		const key = keys[frame]!;
		let row = rows.get(key);
		if (!row) rows.set(key, (row = { frame, self: 0, total: 0, change: 0, selfChange: 0 }));
		row.self += layout.self[node]!;
		own[frame] = own[frame]! + layout.self[node]!;
		// Its line with most by itself, as in a list of call sites.
		if (own[frame]! > own[row.frame]!) row.frame = frame;
		if (layout.change) row.selfChange += layout.change[node]! - childrenChange(layout, node);
		path.length = depth;
		if (!path.includes(key)) {
			row.total += layout.amount[node]!;
			row.change += layout.change ? layout.change[node]! : 0;
		}
		path[depth] = key;
	}
	return [...rows.values()].sort(
		layout.change
			? (a, b) =>
					Math.abs(b.selfChange) - Math.abs(a.selfChange) ||
					Math.abs(b.change) - Math.abs(a.change)
			: (a, b) => b.self - a.self || b.total - a.total,
	);
}

/** Arrays that can be handed over to another thread. */
export function arraysOf(layout: Layout): ArrayBuffer[] {
	return Object.values(layout)
		.filter((v) => ArrayBuffer.isView(v))
		.map((v) => v.buffer as ArrayBuffer);
}

/** The node of that depth at x; -1: none. */
export function nodeAt(layout: Layout, depth: number, x: number): number {
	if (depth < 0 || depth + 1 >= layout.levels.length) return -1;
	let low = layout.levels[depth]!;
	let high = layout.levels[depth + 1]!;
	const first = low;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (layout.x[middle]! <= x) low = middle + 1;
		else high = middle;
	}
	const node = low - 1;
	return node >= first && x < layout.x[node]! + layout.width[node]! ? node : -1;
}

export function functionOf(layout: Layout, frame: number): string {
	return frame < 0 ? 'all' : layout.strings[layout.functions[frame]!] || '[unknown]';
}

/** The function without template arguments and parameters, as there is room for it. */
export function shortNameOf(layout: Layout, frame: number): string {
	return (frame >= 0 && layout.short[layout.functions[frame]!]) || functionOf(layout, frame);
}

export function moduleOf(layout: Layout, frame: number): string {
	return frame < 0 ? '' : layout.strings[layout.modules[frame]!]!;
}

export function fileOf(layout: Layout, frame: number): string {
	return frame < 0 ? '' : layout.strings[layout.files[frame]!]!;
}

export function placeOf(layout: Layout, frame: number): string {
	const file = fileOf(layout, frame);
	return file ? `${file}:${layout.lines[frame]}` : '';
}

/** As the address has a function that is selected. */
export function siteOf(layout: Layout, frame: number): string {
	return [functionOf(layout, frame), placeOf(layout, frame), moduleOf(layout, frame)].join('@');
}

/** The function, whatever the line: as the address has one that is looked at. */
export function focusOf(layout: Layout, frame: number): string {
	return `${functionOf(layout, frame)}@${moduleOf(layout, frame)}`;
}

/** Functions from the root to the node, by which another tree has the same node. */
export function pathOf(layout: Layout, node: number): string[] {
	const path: string[] = [];
	for (let at = node; at > 0; at = layout.parent[at]!)
		path.push(siteOf(layout, layout.frame[at]!));
	return path.reverse();
}

/** The node of that path, or as deep as it goes. */
export function nodeOfPath(layout: Layout, path: string[]): number {
	let node = 0;
	for (const site of path) {
		let child = layout.children[node]!;
		while (child < layout.children[node + 1]! && siteOf(layout, layout.frame[child]!) !== site)
			child++;
		if (child === layout.children[node + 1]!) break;
		node = child;
	}
	return node;
}

export interface Match {
	frames: Uint8Array; // 1: function, file or module of the frame match
	/** What matches has, counted once where a match lies in another. */
	sum: number;
	/**
	 * Those of them that lie in no other match, the nearest to the root first and the widest of
	 * these.
	 */
	nodes: number[];
}

/**
 * Frames whose function, file or module has `text` in it, or matches it as a regular expression.
 */
export function find(layout: Layout, text: string): Match | undefined {
	if (!text) return undefined;
	let test: (s: string) => boolean;
	try {
		const pattern = new RegExp(text, 'i');
		test = (s) => pattern.test(s);
	} catch {
		const lower = text.toLowerCase();
		test = (s) => s.toLowerCase().includes(lower);
	}
	const strings = layout.strings.map(test);
	// Plain loops: from() with a function takes many times as long.
	const frames = new Uint8Array(layout.functions.length);
	for (let i = 0; i < frames.length; i++)
		frames[i] = Number(
			strings[layout.functions[i]!]! ||
				strings[layout.files[i]!]! ||
				strings[layout.modules[i]!]!,
		);
	const inside = new Uint8Array(layout.count);
	const nodes: number[] = [];
	let sum = 0;
	for (let i = 0; i < layout.count; i++) {
		const matches = layout.frame[i]! < 0 ? 0 : frames[layout.frame[i]!]!;
		const above = i ? inside[layout.parent[i]!]! : 0;
		inside[i] = matches | above;
		if (!matches || above) continue;
		sum += layout.amount[i]!;
		nodes.push(i);
	}
	return { frames, sum, nodes };
}
