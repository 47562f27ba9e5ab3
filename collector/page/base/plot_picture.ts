// A plot over time, or bands upon each other, as a picture to take along: as base/plot.tsx draws
// it, without uPlot.
import { styleValue } from './colours';
import { duration } from './format';
import type { SvgPen } from './picture';

export interface Layer {
	values: readonly (number | null | undefined)[];
	stroke?: string;
	fill?: string;
	stepped?: boolean;
}

export interface PlotPicture {
	width: number;
	height: number;
	/** ns since the start. */
	xs: readonly number[];
	/** The first lies lowest. */
	layers: readonly Layer[];
	text: (value: number) => string;
	/** Powers of two are round numbers of bytes. */
	binary: boolean;
	/** Names and colours, below it. */
	key?: readonly { name: string; colour: string }[];
}

const LEFT = 70;
const BELOW = 22;
const KEY_ROW = 18;
const KEY_COLUMN = 260;

function stepOf(span: number, most: number, binary: boolean): number {
	const wanted = span / Math.max(1, most);
	if (binary) return 2 ** Math.max(0, Math.ceil(Math.log2(wanted)));
	const ten = 10 ** Math.floor(Math.log10(wanted));
	return ten * ([1, 2, 5].find((n) => n * ten >= wanted) ?? 10);
}

function keyRows(plot: PlotPicture): number {
	return Math.ceil(
		(plot.key?.length ?? 0) / Math.max(1, Math.floor((plot.width - LEFT) / KEY_COLUMN)),
	);
}

export function plotPictureHeight(plot: PlotPicture): number {
	return plot.height + keyRows(plot) * KEY_ROW + (plot.key?.length ? 6 : 0);
}

function drawKey(pen: SvgPen, plot: PlotPicture): void {
	const columns = Math.max(1, Math.floor((plot.width - LEFT) / KEY_COLUMN));
	plot.key?.forEach(({ name, colour }, i) => {
		const x = LEFT + (i % columns) * KEY_COLUMN;
		const y = plot.height + 6 + Math.floor(i / columns) * KEY_ROW;
		pen.fillStyle = colour;
		pen.fillRect(x, y + 3, 10, 10);
		pen.fillStyle = styleValue('text');
		let text = name;
		while (text.length > 4 && pen.measureText(text).width > KEY_COLUMN - 26)
			text = `${text.slice(0, -2)}…`;
		pen.fillText(text, x + 16, y + 8);
	});
}

export function drawPlotPicture(pen: SvgPen, plot: PlotPicture): void {
	const { xs, layers } = plot;
	const [first, last] = [xs[0] ?? 0, Math.max(xs.at(-1) ?? 1, (xs[0] ?? 0) + 1)];
	let most = 1;
	for (const layer of layers) for (const value of layer.values) most = Math.max(most, value ?? 0);
	most *= 1.06;
	const [wide, high] = [plot.width - LEFT - 8, plot.height - BELOW - 6];
	const xOf = (ns: number) => LEFT + ((ns - first) / (last - first)) * wide;
	const yOf = (value: number) => 6 + high - (value / most) * high;

	pen.font = '11px system-ui, sans-serif';
	pen.textBaseline = 'middle';
	const step = stepOf(most, Math.max(3, high / 26), plot.binary);
	for (let value = step; value <= most; value += step) {
		pen.fillStyle = styleValue('line');
		pen.fillRect(LEFT, yOf(value), wide, 1);
		pen.fillStyle = styleValue('dim');
		pen.textAlign = 'right';
		pen.fillText(plot.text(value), LEFT - 6, yOf(value));
	}
	pen.textAlign = 'center';
	const timeStep = stepOf(last - first, wide / 90, false);
	for (let ns = Math.ceil(first / timeStep) * timeStep; ns <= last; ns += timeStep)
		if (xOf(ns) < plot.width - 20)
			pen.fillText(duration(ns), Math.max(LEFT, xOf(ns)), plot.height - 9);
	pen.textAlign = 'start';
	for (const layer of layers) {
		// A value that is not known ends a piece.
		for (let i = 0; i < xs.length;) {
			const points: number[] = [];
			const begin = i;
			for (; i < xs.length && layer.values[i] != null; i++) {
				if (layer.stepped && i > begin) points.push(xOf(xs[i]!), points.at(-1)!);
				points.push(xOf(xs[i]!), yOf(layer.values[i]!));
			}
			if (points.length && layer.fill)
				pen.path(
					[xOf(xs[begin]!), yOf(0), ...points, points.at(-2)!, yOf(0)],
					layer.fill,
					undefined,
				);
			pen.lineWidth = 1.25;
			if (points.length === 2 && layer.stroke) {
				pen.fillStyle = layer.stroke;
				pen.fillRect(points[0]! - 2, points[1]! - 2, 4, 4);
			}
			if (points.length > 2 && layer.stroke) pen.path(points, undefined, layer.stroke);
			i += i === begin ? 1 : 0;
		}
	}
	drawKey(pen, plot);
}
