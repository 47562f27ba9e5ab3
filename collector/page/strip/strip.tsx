// The time strip: what was in use over the whole recording, or the part that is zoomed to. A range that is dragged filters all views (born
// in it), a click is a moment (in use then), the wheel zooms, a double click shows all again. The server answers by the pixel, so that 100
// million allocations are drawn as quickly as 100.
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { filtersOf, go, inBlocks, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { styleValue, useDark } from '../base/colours';
import { duration } from '../base/format';
import { asMoment, readMoment } from '../base/moment';
import { axes, padding, upFromZero } from '../base/plot';
import { Notice, useSize } from '../base/ui';
import type { Ledger, Stream, Timeline } from '../api/types';

const HEIGHT = 112;
const SAID_MAX = 20; // lines of the picture that are there as text, too

/** Losses and changes of how it is recorded, which stand on the axis. */
function useSaid(stream: string, version: number): Pick<Ledger, 'states' | 'gaps'> {
	const { data } = useAnswer<Ledger>(about(stream, 'ledger'), version);
	return { states: data?.states ?? [], gaps: data?.gaps ?? [] };
}

function drawSaid(u: uPlot, said: Pick<Ledger, 'states' | 'gaps'>, at: number | undefined, range: [number | undefined, number | undefined], peak: number | undefined) {
	const { ctx } = u;
	const { top, height, left, width } = u.bbox;
	const x = (ns: number) => u.valToPos(ns, 'x', true);
	ctx.save();
	ctx.beginPath();
	ctx.rect(left, top, width, height);
	ctx.clip();
	ctx.globalAlpha = 0.3;
	ctx.fillStyle = styleValue('warn');
	for (const gap of said.gaps) ctx.fillRect(x(gap.from_ns), top, Math.max(2, x(gap.to_ns) - x(gap.from_ns)), height);
	ctx.globalAlpha = 1;
	const line = (ns: number, colour: string, dash: number[]) => {
		ctx.strokeStyle = colour;
		ctx.setLineDash(dash.map((d) => d * devicePixelRatio));
		ctx.beginPath();
		ctx.moveTo(x(ns), top);
		ctx.lineTo(x(ns), top + height);
		ctx.stroke();
	};
	ctx.lineWidth = devicePixelRatio;
	for (const state of said.states) line(state.time_ns, styleValue('dim'), [1, 3]);
	if (peak !== undefined) line(peak, styleValue('text'), [2, 3]);
	const [from, to] = range;
	if (from !== undefined && to !== undefined) {
		ctx.globalAlpha = 0.14;
		ctx.fillStyle = styleValue('accent');
		ctx.fillRect(x(from), top, x(to) - x(from), height);
		ctx.globalAlpha = 1;
		line(from, styleValue('accent'), []);
		line(to, styleValue('accent'), []);
	}
	if (at !== undefined) line(at, styleValue('accent'), []);
	ctx.restore();
}

function options(width: number, blocks: boolean, draw: (u: uPlot) => void, zoom: (from: number, to: number) => void): uPlot.Options {
	return {
		width,
		height: HEIGHT,
		padding: padding(8),
		legend: { show: false },
		cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
		scales: { x: { time: false }, y: { range: upFromZero } },
		axes: axes(blocks ? 'blocks' : 'bytes', 62),
		series: [
			{},
			{ stroke: () => styleValue('b1'), width: 1, fill: () => styleValue('b3'), points: { show: false }, paths: uPlot.paths.stepped!({ align: 1 }) },
			{ stroke: () => styleValue('b1'), width: 0, fill: () => styleValue('b2'), points: { show: false }, paths: uPlot.paths.stepped!({ align: 1 }) },
		],
		hooks: {
			draw: [draw],
			ready: [
				(u) => {
					u.over.addEventListener(
						'wheel',
						(event) => {
							event.preventDefault();
							const { min = 0, max = 0 } = u.scales.x as { min?: number; max?: number };
							const middle = u.posToVal(event.offsetX, 'x');
							const factor = event.deltaY < 0 ? 0.7 : 1 / 0.7;
							zoom(middle - (middle - min) * factor, middle + (max - middle) * factor);
						},
						{ passive: false },
					);
				},
			],
		},
	};
}

export function Strip(props: { address: Address; stream: Stream | undefined }) {
	const { address } = props;
	const [box, { width }] = useSize<HTMLDivElement>();
	const plot = useRef<uPlot>();
	const dark = useDark();
	const blocks = inBlocks(address);
	const version = props.stream?.state === 'live' ? (props.stream.events ?? 0) : 0;
	const said = useSaid(address.stream, version);
	const { params } = address;
	const filters = filtersOf(address).filter(([name]) => name !== 'from' && name !== 'to');
	const points = width ? Math.min(4000, Math.ceil(width / 50) * 50) : 0;
	const path = points
		? about(address.stream, 'timeline', [['start', params.get('start') ?? ''], ['end', params.get('end') ?? ''], ['points', points], ...filters])
		: null;
	const answer = useAnswer<Timeline>(path, version);
	const end = useRef(0);
	const drawn = useRef<(u: uPlot) => void>(() => {});
	const moment = (name: string) => readMoment(params.get(name) ?? '', end.current);

	drawn.current = (u) => drawSaid(u, said, moment('at'), [moment('from'), moment('to')], undefined);
	if (answer.data) end.current = Math.max(end.current, answer.data.end_ns);

	useLayoutEffect(() => {
		const { data } = answer;
		if (!box.current || !width || !data) return undefined;
		const zoom = (from: number, to: number) => {
			const start = Math.max(0, from);
			const stop = Math.min(end.current, to);
			if (stop - start < 1000) return;
			go({ set: { start: start > 0 ? asMoment(start) : undefined, end: stop < end.current ? asMoment(stop) : undefined } }, true);
		};
		const most = blocks ? data.allocated_count : data.allocated_size;
		const least = blocks ? data.allocated_count_min : data.allocated_size_min;
		const u = new uPlot(options(width, blocks, (up) => drawn.current(up), zoom), [[...data.start_ns, data.end_ns], [...most, most.at(-1) ?? 0], [...least, least.at(-1) ?? 0]], box.current);
		u.hooks.setSelect = [
			() => {
				if (u.select.width < 3) return;
				go({ set: { from: asMoment(u.posToVal(u.select.left, 'x')), to: asMoment(u.posToVal(u.select.left + u.select.width, 'x')), at: undefined } });
				u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
			},
		];
		let down = 0;
		u.over.addEventListener('mousedown', (event) => (down = event.clientX));
		u.over.addEventListener('click', (event) => {
			if (Math.abs(event.clientX - down) < 3) go({ set: { at: asMoment(u.posToVal(event.offsetX, 'x')), value: 'in-use', from: undefined, to: undefined } });
		});
		u.over.addEventListener('dblclick', () => go({ set: { start: undefined, end: undefined, from: undefined, to: undefined, at: undefined } }));
		plot.current = u;
		return () => u.destroy();
	}, [answer.data, width, blocks, dark]);
	useEffect(() => plot.current?.redraw(false), [params.get('at'), params.get('from'), params.get('to'), said.states.length, said.gaps.length]);

	return (
		<section class="strip" aria-label="In use over time">
			<div ref={box} class={answer.waitingSince === undefined ? 'plot' : 'plot stale'}>
				{answer.error && (
					<Notice title="The time strip can't be drawn.">
						{answer.error.message}{' '}
						{answer.again && (
							<button type="button" class="button" onClick={answer.again}>
								Ask again
							</button>
						)}
					</Notice>
				)}
			</div>
			{said.states.length > 0 && (
				<ul class="hidden" aria-label="What happened to the recording">
					{said.states.slice(-SAID_MAX).map((s) => (
						<li>
							{duration(s.time_ns)}: {s.what}
						</li>
					))}
				</ul>
			)}
		</section>
	);
}
