// Draws a layout on a canvas. What is narrower than a pixel is skipped by halving, so that a picture costs what it shows.
import { colourOf, shadeOf, styleValue } from '../base/colours';
import { functionOf, lastBefore, moduleOf, type Layout, type Match } from './layout';

export const ROW = 19;
const TEXT_MIN = 34; // narrower boxes have no name
const NARROWEST = 0.6;

export interface Sight {
	/** The part of the x axis that is shown, in the unit of the value. */
	from: number;
	to: number;
	top: number; // in CSS pixels: how far down the picture is scrolled
	width: number;
	height: number;
	upwards: boolean; // the root is at the bottom
}

/** Where the row of that depth begins, from the canvas's top. */
export function rowTop(sight: Sight, depth: number): number {
	return sight.upwards ? sight.height - (depth + 1) * ROW + sight.top : depth * ROW - sight.top;
}

/** The node at a point of the canvas, -1: none. */
export function nodeAt(layout: Layout, sight: Sight, x: number, y: number): number {
	const depth = Math.floor(sight.upwards ? (sight.height - y + sight.top) / ROW : (y + sight.top) / ROW);
	const level = layout.levels[depth];
	if (!level) return -1;
	const at = sight.from + (x / sight.width) * (sight.to - sight.from);
	const place = lastBefore(level, at);
	if (place < 0) return -1;
	const node = level.nodes[place]!;
	return at < layout.x[node]! + layout.values[node]! ? node : -1;
}

/** Colours of a differential: red has grown, blue has shrunk, paler where little has. */
function differenceColour(change: number, most: number, dark: boolean): string {
	if (!change || !most) return colourOf('', dark);
	const part = Math.min(1, Math.sqrt(Math.abs(change) / most));
	const lightness = dark ? 26 + 20 * part : 92 - 34 * part;
	return `hsl(${change > 0 ? 14 : 212} ${Math.round(30 + 50 * part)}% ${lightness}%)`;
}

// Widths of characters of the one font that is used, measured once.
let widths: Map<string, number> | undefined;

function textWidth(ctx: CanvasRenderingContext2D, text: string): number {
	widths ??= new Map();
	let sum = 0;
	for (const c of text) {
		let w = widths.get(c);
		if (w === undefined) widths.set(c, (w = ctx.measureText(c).width));
		sum += w;
	}
	return sum;
}

/** The text, or as much of it as fits, with dots. '': nothing fits. */
function fitted(ctx: CanvasRenderingContext2D, text: string, room: number): string {
	if (text.length * 3 < room && textWidth(ctx, text) <= room) return text;
	let sum = textWidth(ctx, '…');
	let i = 0;
	for (; i < text.length; i++) {
		sum += textWidth(ctx, text[i]!);
		if (sum > room) break;
	}
	return i >= text.length ? text : i < 2 ? '' : `${text.slice(0, i)}…`;
}

export interface Look {
	dark: boolean;
	match: Match | undefined;
	hovered: number;
	picked: number; // frame, not node
}

export function draw(ctx: CanvasRenderingContext2D, layout: Layout, sight: Sight, look: Look): void {
	const { width, height, from, to } = sight;
	const scale = width / (to - from);
	const frames = layout.flame.nodes.frame;
	const text = styleValue('text');
	const background = styleValue('bg');
	const mostChanged = layout.changes ? Math.max(...[layout.changes[0]!, ...layout.levels[1]?.nodes ?? []].map((n, i) => Math.abs(i ? layout.changes![n]! : n))) : 0;
	const colours = new Map<number, string>();
	const boxColour = (node: number) => {
		const frame = frames[node]!;
		let colour = colours.get(frame);
		if (!colour) colours.set(frame, (colour = frame < 0 ? colourOf('', look.dark) : shadeOf(moduleOf(layout.flame, node), functionOf(layout.flame, node), look.dark)));
		return colour;
	};

	ctx.font = '12px system-ui, sans-serif';
	ctx.textBaseline = 'middle';
	ctx.clearRect(0, 0, width, height);
	const first = Math.max(0, Math.floor(sight.top / ROW));
	const last = Math.min(layout.levels.length - 1, Math.ceil((sight.top + height) / ROW));
	for (let depth = first; depth <= last; depth++) {
		const level = layout.levels[depth]!;
		const top = rowTop(sight, depth);
		let place = Math.max(0, lastBefore(level, from));
		while (place < level.nodes.length && level.x[place]! < to) {
			const node = level.nodes[place]!;
			const x = (level.x[place]! - from) * scale;
			const w = layout.values[node]! * scale;
			if (w < NARROWEST) {
				// To the next one that is at least half a pixel further.
				place = Math.max(place + 1, lastBefore(level, level.x[place]! + 0.5 / scale));
				if (x < 0) continue;
				ctx.globalAlpha = 0.5;
				ctx.fillStyle = layout.changes ? colourOf('', look.dark) : boxColour(node);
				ctx.fillRect(x, top, NARROWEST, ROW - 1);
				ctx.globalAlpha = 1;
				continue;
			}
			place++;
			const left = Math.max(0, x);
			const right = Math.min(width, x + w);
			if (right <= 0) continue;
			const frame = frames[node]!;
			const matches = look.match && frame >= 0 && look.match.frames[frame];
			ctx.globalAlpha = look.match && !matches ? 0.35 : 1;
			ctx.fillStyle = layout.changes ? differenceColour(layout.changes[node]!, mostChanged, look.dark) : boxColour(node);
			ctx.fillRect(left, top, Math.max(NARROWEST, right - left - (w > 2 ? 1 : 0)), ROW - 1);
			ctx.globalAlpha = 1;
			if (node === look.hovered || (frame >= 0 && frame === look.picked)) {
				ctx.strokeStyle = node === look.hovered ? text : styleValue('accent');
				ctx.lineWidth = node === look.hovered ? 1 : 2;
				ctx.strokeRect(left + 0.5, top + 0.5, Math.max(1, right - left - 2), ROW - 2);
			}
			if (right - left < TEXT_MIN) continue;
			const name = fitted(ctx, functionOf(layout.flame, node), right - left - 9);
			if (!name) continue;
			ctx.fillStyle = text;
			ctx.fillText(name, left + 4, top + ROW / 2);
		}
	}
	if (layout.values[0] === 0) {
		ctx.fillStyle = background;
		ctx.fillRect(0, 0, width, height);
	}
}
