// Plots over the time of a recording, all with the same axes.
import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { styleValue, useDark } from './colours';
import { duration, shortCount, size } from './format';
import { usePicture } from './picture';
import { drawPlotPicture, plotPictureHeight, type PlotPicture } from './plot_picture';
import { useSize } from './ui';

const FONT = '11px system-ui, sans-serif';
const STEPS = [1, 2, 5]
	.flatMap((n) => Array.from({ length: 17 }, (_, i) => n * 10 ** i))
	.sort((a, b) => a - b);

export type Unit = 'bytes' | 'blocks' | 'per second' | 'bytes per second';

export function textOf(unit: Unit): (value: number) => string {
	return unit === 'bytes'
		? size
		: unit === 'bytes per second'
			? (v) => `${size(v)}/s`
			: unit === 'blocks'
				? shortCount
				: (v) => `${shortCount(v)}/s`;
}

/** At the right half of the last label of time has room, too. */
export const padding = (top: number): uPlot.Padding => [top, 24, 0, 0];

/** Time below, in ns since the start; values at the left. */
export function axes(unit: Unit, width = 66): uPlot.Axis[] {
	const text = textOf(unit);
	return [
		{
			stroke: () => styleValue('dim'),
			grid: { show: false },
			ticks: { show: false },
			size: 20,
			gap: 2,
			font: FONT,
			values: (_, splits) => splits.map((s) => duration(s)),
			incrs: STEPS,
			space: 64, // so much as "1:40 min" takes
		},
		{
			stroke: () => styleValue('dim'),
			grid: { stroke: () => styleValue('line'), width: 1 },
			ticks: { show: false },
			size: width,
			gap: 4,
			font: FONT,
			incrs: unit.startsWith('bytes') ? Array.from({ length: 56 }, (_, i) => 2 ** i) : STEPS,
			values: (_, splits) => splits.map((s) => (s ? text(s) : '')),
		},
	];
}

export const upFromZero: uPlot.Scale.Range = (_, __, most) => [0, Math.max(1, most ?? 1) * 1.06];

export interface Line {
	name: string;
	values: (number | null)[];
	colour: string; // of the style sheet
	fill?: string;
	stepped?: boolean;
}

/**
 * A small plot with its name above it, and what is under the pointer. `xs` in ns since the start.
 */
export function Plot(props: {
	title: string;
	unit: Unit;
	xs: number[];
	lines: Line[];
	height: number;
	onRange?: (from: number, to: number) => void;
	onMoment?: (ns: number) => void;
}) {
	const [box, { width }] = useSize<HTMLDivElement>();
	const said = useRef<HTMLSpanElement>(null);
	const dark = useDark();
	const { xs, lines, unit, height } = props;
	const text = textOf(unit);

	useLayoutEffect(() => {
		if (!box.current || width < 60) return undefined;
		let down = 0;
		const u = new uPlot(
			{
				width,
				height,
				padding: padding(6),
				legend: { show: false },
				cursor: {
					y: false,
					drag: { x: !!props.onRange, y: false, setScale: false },
					points: { size: 5 },
				},
				scales: { x: { time: false }, y: { range: upFromZero } },
				axes: axes(unit),
				series: [
					{},
					...lines.map((line) => ({
						stroke: () => styleValue(line.colour),
						width: 1.25,
						points: { show: xs.length < 3 },
						...(line.fill ? { fill: () => styleValue(line.fill!) } : {}),
						...(line.stepped ? { paths: uPlot.paths.stepped!({ align: 1 }) } : {}),
					})),
				],
				hooks: {
					setCursor: [
						(up) => {
							const at = up.cursor.idx;
							if (!said.current) return;
							if (at === null || at === undefined) {
								said.current.textContent = '';
								return;
							}
							const values = lines.map((l) => {
								const value = l.values[at];
								const name = lines.length > 1 ? `${l.name} ` : '';
								return name + (value == null ? '–' : text(value));
							});
							said.current.textContent =
								`at ${duration(xs[at]!)}: ` + values.join(', ');
						},
					],
					setSelect: [
						(up) => {
							if (up.select.width >= 3)
								props.onRange?.(
									up.posToVal(up.select.left, 'x'),
									up.posToVal(up.select.left + up.select.width, 'x'),
								);
						},
					],
					ready: [
						(up) => {
							up.over.addEventListener(
								'mousedown',
								(event) => (down = event.clientX),
							);
							up.over.addEventListener('click', (event) => {
								if (Math.abs(event.clientX - down) < 3)
									props.onMoment?.(up.posToVal(event.offsetX, 'x'));
							});
						},
					],
				},
			},
			[xs, ...lines.map((l) => l.values)] as uPlot.AlignedData,
			box.current,
		);
		return () => u.destroy();
	}, [xs, lines, width, height, unit, dark]);

	usePicture(box, () => {
		if (width < 60 || !xs.length) return undefined;
		const layers = lines.map((l) => ({
			values: l.values,
			stroke: styleValue(l.colour),
			...(l.fill ? { fill: styleValue(l.fill) } : {}),
			stepped: !!l.stepped,
		}));
		const key =
			lines.length > 1
				? lines.map((l) => ({ name: l.name, colour: styleValue(l.colour) }))
				: [];
		const plot: PlotPicture = {
			width,
			height,
			xs,
			layers,
			text,
			binary: unit.startsWith('bytes'),
			key,
		};
		return {
			title: props.title,
			width,
			height: plotPictureHeight(plot),
			draw: (pen) => drawPlotPicture(pen, plot),
		};
	});

	return (
		<figure class="plotbox">
			<figcaption>
				{props.title}
				{lines.length > 1 &&
					lines.map((l) => (
						<span class="key">
							<svg viewBox="0 0 10 10" class="swatch" aria-hidden="true">
								<rect width="10" height="10" fill={styleValue(l.colour)} />
							</svg>{' '}
							{l.name}
						</span>
					))}{' '}
				<span class="dim" ref={said} />
			</figcaption>
			<div ref={box} style={{ height: `${height}px` }} />
		</figure>
	);
}
