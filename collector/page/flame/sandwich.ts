// Other trees of the same frames: what calls a function and what it calls, over all places where it
// stands; and all of it from the functions that allocated to their callers. Both are answers like
// the server's, to be laid out as those are.
import type { Flame } from '../api/types';

type Nodes = Flame['nodes'];
const COLUMNS = ['bytes', 'blocks', 'base_bytes', 'base_blocks'] as const;
// of the whole: what has less by itself is not followed to its callers
const REVERSED_PARTS = 20000;

/** Whose frames these are, whatever the line: as the address has the function that is looked at. */
export function focusOfFrame(flame: Flame, frame: number): string {
	const { strings, frames } = flame;
	return `${strings[frames.function[frame]!] || '[unknown]'}@${strings[frames.module[frame]!]!}`;
}

/** Puts paths together: a node for each that differs, sums added. */
class Merged {
	private readonly found = new Map<number, number>();
	private readonly parents = [-1];
	private readonly frame: number[];
	private readonly sums: number[][];

	constructor(
		private readonly flame: Flame,
		root: number,
	) {
		this.frame = [root];
		this.sums = columnsOf(flame.nodes).map(() => [0]);
	}

	child(parent: number, frame: number): number {
		const key = parent * (this.flame.frames.function.length + 1) + frame;
		let node = this.found.get(key);
		if (node === undefined) {
			this.found.set(key, (node = this.frame.length));
			this.frame.push(frame);
			this.parents.push(parent);
			for (const column of this.sums) column.push(0);
		}
		return node;
	}

	add(node: number, values: readonly number[]): void {
		this.sums.forEach((column, i) => (column[node]! += values[i]!));
	}

	/** Parents before children, as the server has it. */
	finish(): Flame {
		const count = this.frame.length;
		const first = new Int32Array(count).fill(-1);
		const next = new Int32Array(count).fill(-1);
		const order: number[] = [];
		const depths = new Uint32Array(count);
		for (let i = count - 1; i > 0; i--) {
			next[i] = first[this.parents[i]!]!;
			first[this.parents[i]!] = i;
		}
		for (let open = [0]; open.length;) {
			const node = open.pop()!;
			order.push(node);
			if (node) depths[node] = depths[this.parents[node]!]! + 1;
			for (let child = first[node]!; child >= 0; child = next[child]!) open.push(child);
		}
		const nodes: Partial<Nodes> = {
			depth: order.map((n) => depths[n]!),
			frame: order.map((n) => this.frame[n]!),
		};
		columnsOf(this.flame.nodes).forEach(
			(name, i) => (nodes[name] = order.map((n) => this.sums[i]![n]!)),
		);
		return { ...this.flame, nodes: nodes as Nodes };
	}
}

function columnsOf(nodes: Nodes): (typeof COLUMNS)[number][] {
	return COLUMNS.filter((name) => nodes[name]);
}

/**
 * undefined: the function is not in the tree. Where it calls itself only the outermost call counts,
 * so that nothing counts twice.
 */
export function focusOn(
	flame: Flame,
	focus: string,
): { callers: Flame; callees: Flame } | undefined {
	const { depth, frame } = flame.nodes;
	const columns = columnsOf(flame.nodes).map((name) => flame.nodes[name]!);
	const wanted = Uint8Array.from(flame.frames.function, (_, i) =>
		Number(focusOfFrame(flame, i) === focus),
	);
	const root = wanted.indexOf(1);
	if (root < 0) return undefined;
	const callers = new Merged(flame, root);
	const callees = new Merged(flame, root);
	const path: number[] = []; // nodes of the tree, by depth
	const below: number[] = []; // nodes of the callees, by depth
	let entered = Infinity; // depth of the outermost call

	for (let i = 1; i < depth.length; i++) {
		const d = depth[i]!;
		const values = columns.map((column) => column[i]!);
		path[d] = i;
		if (d <= entered) entered = Infinity;
		if (entered < d) {
			callees.add((below[d] = callees.child(below[d - 1]!, frame[i]!)), values);
		} else if (wanted[frame[i]!]) {
			let node = 0;
			entered = d;
			callees.add((below[d] = 0), values);
			callers.add(0, values);
			for (let above = d - 1; above > 0; above--)
				callers.add((node = callers.child(node, frame[path[above]!]!)), values);
		}
	}
	return { callers: callers.finish(), callees: callees.finish() };
}

/** From the functions that allocated to their callers. */
export function reversed(flame: Flame): Flame {
	const { depth, frame } = flame.nodes;
	const columns = columnsOf(flame.nodes).map((name) => flame.nodes[name]!);
	const own = columns.map((column) => Float64Array.from(column));
	const path: number[] = [];
	const parents = new Int32Array(depth.length).fill(-1);
	const tree = new Merged(flame, -1);

	for (let i = 0; i < depth.length; i++) {
		path[depth[i]!] = i;
		if (!i) continue;
		const parent = (parents[i] = path[depth[i]! - 1]!);
		own.forEach((column, k) => (column[parent]! -= columns[k]![i]!));
	}
	for (let i = 1; i < depth.length; i++) {
		const values = own.map((column) => column[i]!);
		if (!values.some(Boolean)) continue;
		const follows = values.some(
			(value, k) => Math.abs(value) * REVERSED_PARTS >= columns[k]![0]!,
		);
		let node = 0;
		tree.add(0, values);
		for (let at = i; at > 0; at = follows ? parents[at]! : 0)
			tree.add((node = tree.child(node, frame[at]!)), values);
	}
	return tree.finish();
}
