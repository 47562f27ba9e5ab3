// Draws a layout on a canvas. Children stand with the widest first: as soon as one is narrower than
// a pixel, it and its brothers behind it are one box, and nothing below them is looked at. So a
// picture costs what is seen of it, however large the tree is.
import { colourOf, shadeOf, styleValue } from '../base/colours';
import type { Pen } from '../base/picture';
import { functionOf, type Layout, type Match, moduleOf, nodeAt, shortNameOf } from './layout';

export const ROW = 19;
const TEXT_MIN = 34; // narrower boxes have no name
const NARROWEST = 1;
const NODES_A_STEP = 256;

export interface Sight {
	/** The part of the x axis that is shown, in the unit of the value. */
	from: number;
	to: number;
	top: number; // how far down the picture is scrolled, in CSS pixels
	width: number;
	height: number;
	/** The root is at the bottom, its row is `hidden`: another picture below has it. */
	upwards?: boolean;
	hidden?: boolean;
}

/** Where the row of that depth begins on the canvas. */
export function rowTop(sight: Sight, depth: number): number {
	const row = depth - (sight.hidden ? 1 : 0);
	return sight.upwards ? sight.height - (row + 1) * ROW + sight.top : row * ROW - sight.top;
}

/** The node at a point of the canvas, -1: none. */
export function nodeAtPoint(layout: Layout, sight: Sight, x: number, y: number): number {
	const row = Math.floor(((sight.upwards ? sight.height - y : y) + sight.top) / ROW);
	return nodeAt(
		layout,
		row < 0 ? -1 : row + (sight.hidden ? 1 : 0),
		sight.from + (x / sight.width) * (sight.to - sight.from),
	);
}

/** Colours of a differential: red has grown, blue has shrunk, paler where little has. */
function differenceColour(change: number, most: number, dark: boolean): string {
	if (!change || !most) return colourOf('', dark);
	const part = Math.min(1, Math.sqrt(Math.abs(change) / most));
	const lightness = dark ? 26 + 20 * part : 92 - 34 * part;
	return `hsl(${change > 0 ? 14 : 212} ${Math.round(30 + 50 * part)}% ${lightness}%)`;
}

// Widths of characters of the one font that is used, measured once.
const widths = new Map<string, number>();

function characterWidth(ctx: Pen, c: string): number {
	let w = widths.get(c);
	if (w === undefined) widths.set(c, (w = ctx.measureText(c).width));
	return w;
}

/** The text, or as much of it as fits, with dots. '': nothing fits. */
function fitted(ctx: Pen, text: string, room: number): string {
	let sum = 0;
	let fits = 0; // so much fits with the dots behind it
	const dots = characterWidth(ctx, '…');
	for (let i = 0; i < text.length; i++) {
		sum += characterWidth(ctx, text[i]!);
		if (sum > room) return fits < 2 ? '' : `${text.slice(0, fits)}…`;
		if (sum + dots <= room) fits = i + 1;
	}
	return text;
}

/** Frame colours, for as long as theme and layout stay. */
function colourTable(layout: Layout, dark: boolean): (frame: number) => string {
	const colours: (string | undefined)[] = [];
	return (frame) =>
		(colours[frame + 1] ??=
			frame < 0
				? colourOf('', dark)
				: shadeOf(moduleOf(layout, frame), functionOf(layout, frame), dark));
}

export class Painter {
	private readonly colour: (frame: number) => string;
	private readonly mostChanged: number;

	constructor(
		private readonly layout: Layout,
		private readonly dark: boolean,
	) {
		const { change } = layout;
		this.colour = colourTable(layout, dark);
		this.mostChanged = change
			? change
					.subarray(0, Math.min(layout.count, 2000))
					.reduce((most, c) => Math.max(most, Math.abs(c)), 0)
			: 0;
	}

	private colourOfNode(node: number): string {
		const { change, frame } = this.layout;
		return change
			? differenceColour(change[node]!, this.mostChanged, this.dark)
			: this.colour(frame[node]!);
	}

	/** All that is in sight. */
	paint(ctx: Pen, sight: Sight, match: Match | undefined, picked: number): void {
		const painting = this.painting(ctx, sight, match, picked);
		while (!painting.next().done);
	}

	/**
	 * The same in steps of NODES_A_STEP: a large graph that is painted at once keeps the page from
	 * answering.
	 */
	*painting(
		ctx: Pen,
		sight: Sight,
		match: Match | undefined,
		picked: number,
	): Generator<void, void> {
		const { layout } = this;
		const { x, width, children, frame, depth } = layout;
		const { from, to } = sight;
		const scale = sight.width / (to - from);
		const text = styleValue('text');
		const accent = styleValue('accent');
		const last = Math.ceil((sight.top + sight.height) / ROW) + 1;
		const open = layout.count && width[0]! > 0 ? [0] : [];

		ctx.font = '12px system-ui, sans-serif';
		ctx.textBaseline = 'middle';
		ctx.clearRect(0, 0, sight.width, sight.height);
		for (let painted = 1; open.length; painted++) {
			if (painted % NODES_A_STEP === 0) yield;
			const node = open.pop()!;
			const left = Math.max(0, (x[node]! - from) * scale);
			const right = Math.min(sight.width, (x[node]! + width[node]! - from) * scale);
			const top = rowTop(sight, depth[node]!);
			const frameOfNode = frame[node]!;

			if (top + ROW > 0 && top < sight.height && (node || !sight.hidden)) {
				const dimmed = match && !(frameOfNode >= 0 && match.frames[frameOfNode]);
				ctx.globalAlpha = dimmed ? 0.35 : 1;
				ctx.fillStyle = this.colourOfNode(node);
				ctx.fillRect(
					left,
					top,
					Math.max(NARROWEST, right - left - (right - left > 2 ? 1 : 0)),
					ROW - 1,
				);
				ctx.globalAlpha = 1;
				if (frameOfNode >= 0 && frameOfNode === picked) {
					ctx.strokeStyle = accent;
					ctx.lineWidth = 2;
					ctx.strokeRect(left + 1, top + 1, Math.max(1, right - left - 3), ROW - 3);
				}
				if (right - left >= TEXT_MIN) {
					const name = fitted(ctx, shortNameOf(layout, frameOfNode), right - left - 9);
					ctx.fillStyle = text;
					if (name) ctx.fillText(name, left + 4, top + ROW / 2);
				}
			}
			if (depth[node]! + 1 > last) continue;
			for (let child = children[node]!; child < children[node + 1]!; child++) {
				if (x[child]! >= to) break;
				if (x[child]! + width[child]! <= from) continue;
				if (width[child]! * scale >= NARROWEST) {
					open.push(child);
					continue;
				}
				const behind = children[node + 1]! - 1;
				this.paintRest(
					ctx,
					sight,
					child,
					(x[behind]! + width[behind]! - from) * scale,
					scale,
				);
				break;
			}
		}
	}

	/** Narrow brothers, as one. */
	private paintRest(ctx: Pen, sight: Sight, first: number, end: number, scale: number): void {
		const left = Math.max(0, (this.layout.x[first]! - sight.from) * scale);
		ctx.globalAlpha = 0.5;
		ctx.fillStyle = this.colourOfNode(first);
		ctx.fillRect(
			left,
			rowTop(sight, this.layout.depth[first]!),
			Math.max(0.5, Math.min(sight.width, end) - left),
			ROW - 1,
		);
		ctx.globalAlpha = 1;
	}

	/** What lies above: the node under the pointer, and the one that the keyboard is at. */
	paintMarks(ctx: Pen, sight: Sight, hovered: number, selected: number): void {
		const scale = sight.width / (sight.to - sight.from);
		ctx.clearRect(0, 0, sight.width, sight.height);
		for (const [node, colour, dash] of [
			[selected, styleValue('accent'), [3, 2]],
			[hovered, styleValue('text'), []],
		] as const) {
			if (node < 0 || (!node && sight.hidden)) continue;
			const left = Math.max(0, (this.layout.x[node]! - sight.from) * scale);
			const right = Math.min(
				sight.width,
				(this.layout.x[node]! + this.layout.width[node]! - sight.from) * scale,
			);
			ctx.strokeStyle = colour;
			ctx.lineWidth = 1.5;
			ctx.setLineDash([...dash]);
			if (right > left)
				ctx.strokeRect(
					left + 0.5,
					rowTop(sight, this.layout.depth[node]!) + 0.5,
					Math.max(1, right - left - 2),
					ROW - 2,
				);
		}
	}
}
