// The time strip: what was in use over the whole recording, or the part that is zoomed to. A range
// that is dragged filters all views (born in it), which follow while it moves; a click is a moment
// (in use then), the wheel zooms, a double click shows all again. The server answers by the pixel,
// so that 100 million allocations are drawn as quickly as 100.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { filtersOf, go, inBlocks, valueOf, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { styleValue, useDark } from '../base/colours';
import { duration } from '../base/format';
import { asMoment, readMoment } from '../base/moment';
import { axes, padding, upFromZero } from '../base/plot';
import { Notice, useSize } from '../base/ui';
import { dragOver, Follower, moved, rounded, type Range } from './window';
import type { Ledger, Sites, Stream, Timeline } from '../api/types';

const HEIGHT = 112;
const SAID_MAX = 20; // lines of the picture that are there as text, too

/** Losses and changes of how it is recorded, which stand on the axis. */
function useSaid(stream: string, version: number): Pick<Ledger, 'states' | 'gaps'> {
	const { data } = useAnswer<Ledger>(about(stream, 'ledger'), version);
	return { states: data?.states ?? [], gaps: data?.gaps ?? [] };
}

/** Where all that passes the filters had its most, while that is what the views show. */
function usePeak(address: Address, version: number): number | undefined {
	const shown = valueOf(address) === 'peak' && !address.params.has('at');
	const { data } = useAnswer<Sites>(
		shown ? about(address.stream, 'peak', [['count', 0], ...filtersOf(address)]) : null,
		version,
	);
	return shown && data && data.at_ns > 0 ? data.at_ns : undefined;
}

function drawSaid(
	u: uPlot,
	said: Pick<Ledger, 'states' | 'gaps'>,
	at: number | undefined,
	range: [number | undefined, number | undefined],
	peak: number | undefined,
) {
	const { ctx } = u;
	const { top, height, left, width } = u.bbox;
	const x = (ns: number) => u.valToPos(ns, 'x', true);
	ctx.save();
	ctx.beginPath();
	ctx.rect(left, top, width, height);
	ctx.clip();
	ctx.globalAlpha = 0.3;
	ctx.fillStyle = styleValue('warn');
	for (const gap of said.gaps)
		ctx.fillRect(x(gap.from_ns), top, Math.max(2, x(gap.to_ns) - x(gap.from_ns)), height);
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
	if (peak !== undefined) {
		line(peak, styleValue('text'), [4, 3]);
		ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
		ctx.fillStyle = styleValue('text');
		ctx.textBaseline = 'top';
		ctx.textAlign = x(peak) > left + width / 2 ? 'right' : 'left';
		ctx.fillText('peak', x(peak) + (ctx.textAlign === 'left' ? 4 : -4) * devicePixelRatio, top);
	}
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

function options(
	width: number,
	blocks: boolean,
	draw: (u: uPlot) => void,
	zoom: (from: number, to: number) => void,
): uPlot.Options {
	return {
		width,
		height: HEIGHT,
		padding: padding(8),
		legend: { show: false },
		cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 5 } },
		scales: { x: { time: false }, y: { range: upFromZero } },
		axes: axes(blocks ? 'blocks' : 'bytes', 62),
		series: [
			{},
			{
				stroke: () => styleValue('b1'),
				width: 1,
				fill: () => styleValue('b3'),
				points: { show: false },
				paths: uPlot.paths.stepped!({ align: 1 }),
			},
			{
				stroke: () => styleValue('b1'),
				width: 0,
				fill: () => styleValue('b2'),
				points: { show: false },
				paths: uPlot.paths.stepped!({ align: 1 }),
			},
		],
		hooks: {
			draw: [draw],
			ready: [
				(u) => {
					u.over.addEventListener(
						'wheel',
						(event) => {
							event.preventDefault();
							const { min = 0, max = 0 } = u.scales.x as {
								min?: number;
								max?: number;
							};
							const middle = u.posToVal(event.offsetX, 'x');
							const factor = event.deltaY < 0 ? 0.7 : 1 / 0.7;
							zoom(
								middle - (middle - min) * factor,
								middle + (max - middle) * factor,
							);
						},
						{ passive: false },
					);
				},
			],
		},
	};
}

const KEY_PART = 0.1; // of the window, that a key moves it by

/**
 * The window after a key; undefined: the key is another's. Without a window a tenth of what is
 * shown becomes one.
 */
function keyed(
	event: KeyboardEvent,
	range: Range | undefined,
	shown: Range,
	end: number,
): Range | undefined {
	const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: 0, ArrowDown: 0 }[event.key];
	if (by === undefined || !event.shiftKey) return undefined;
	if (!range) return { from: shown.from, to: shown.from + (shown.to - shown.from) * KEY_PART };
	const width = range.to - range.from;
	if (by) return moved(range, by * width * KEY_PART, end);
	const grown = (event.key === 'ArrowUp' ? 1 : -1) * (width / 2) * KEY_PART;
	return { from: Math.max(0, range.from - grown), to: Math.min(end, range.to + grown) };
}

export function Strip(props: { address: Address; stream: Stream | undefined }) {
	const { address } = props;
	const [box, { width }] = useSize<HTMLDivElement>();
	const plot = useRef<uPlot>();
	const dark = useDark();
	const blocks = inBlocks(address);
	const version = props.stream?.state === 'live' ? (props.stream.events ?? 0) : 0;
	const said = useSaid(address.stream, version);
	const peak = usePeak(address, version);
	const { params } = address;
	const filters = filtersOf(address).filter(([name]) => name !== 'from' && name !== 'to');
	const points = width ? Math.min(4000, Math.ceil(width / 50) * 50) : 0;
	const path = points
		? about(address.stream, 'timeline', [
				['start', params.get('start') ?? ''],
				['end', params.get('end') ?? ''],
				['points', points],
				...filters,
			])
		: null;
	const answer = useAnswer<Timeline>(path, version);
	const end = useRef(0);
	const drawn = useRef<(u: uPlot) => void>(() => {});
	const moment = (name: string) => readMoment(params.get(name) ?? '', end.current);

	// While it is dragged the window is where the pointer has it: the address follows.
	const dragged = useRef<Range>();
	const [dragging, setDragging] = useState(false);
	const data = useRef(answer.data);
	// a live recording's picture waits: a new one would take the pointer away
	if (!dragging) data.current = answer.data;
	const [from, to] = [moment('from'), moment('to')];
	const range =
		from === undefined && to === undefined
			? undefined
			: { from: from ?? 0, to: to ?? end.current };
	const windowInWords = range
		? `Window from ${params.get('from') ?? 'the start'} to ${params.get('to') ?? 'the end'}.`
		: 'No window.';
	const latest = useRef(range);
	latest.current = dragged.current ?? range;

	drawn.current = (u) => {
		const window = dragged.current ?? range;
		drawSaid(
			u,
			said,
			dragged.current ? undefined : moment('at'),
			[window?.from, window?.to],
			peak,
		);
	};
	if (answer.data) end.current = Math.max(end.current, answer.data.end_ns);
	const steps = useRef({ last: 0 });
	const follower = useMemo(
		() =>
			new Follower((r) =>
				go(
					{ set: { from: asMoment(r.from), to: asMoment(r.to), at: undefined } },
					steps.current.last > 0,
				),
			),
		[],
	);
	const moveTo = (r: Range, first: boolean) => {
		const { min = 0, max = 0 } = plot.current?.scales.x ?? {};
		latest.current = dragged.current = rounded(r, (max ?? 0) - (min ?? 0));
		// The first place is a step of its own in the history, so that one can go back.
		if (first) {
			steps.current.last = 0;
			go({
				set: {
					from: asMoment(dragged.current.from),
					to: asMoment(dragged.current.to),
					at: undefined,
				},
			});
			steps.current.last = performance.now();
		} else {
			follower.follow(dragged.current);
		}
		plot.current?.redraw(false);
	};
	const moveDone = () => {
		follower.end();
		dragged.current = undefined;
		setDragging(false);
	};
	const keyTimer = useRef<ReturnType<typeof setTimeout>>();
	const onKey = (event: KeyboardEvent) => {
		if (event.key === 'Escape' && latest.current) {
			go({ set: { from: undefined, to: undefined } });
		} else {
			const { min = 0, max = 0 } = plot.current?.scales.x ?? {};
			const next = keyed(
				event,
				latest.current,
				{ from: min ?? 0, to: max ?? 0 },
				end.current,
			);
			if (!next || next.to - next.from < 1) return;
			moveTo(next, performance.now() - steps.current.last > 2000);
			steps.current.last = performance.now();
			clearTimeout(keyTimer.current);
			keyTimer.current = setTimeout(moveDone, 250);
		}
		event.preventDefault();
	};

	useLayoutEffect(() => {
		const shown = data.current;
		if (!box.current || !width || !shown) return undefined;
		const zoom = (from: number, to: number) => {
			const start = Math.max(0, from);
			const stop = Math.min(end.current, to);
			if (stop - start < 1000) return;
			go(
				{
					set: {
						start: start > 0 ? asMoment(start) : undefined,
						end: stop < end.current ? asMoment(stop) : undefined,
					},
				},
				true,
			);
		};
		const most = blocks ? shown.allocated_count : shown.allocated_size;
		const least = blocks ? shown.allocated_count_min : shown.allocated_size_min;
		const u = new uPlot(
			options(width, blocks, (up) => drawn.current(up), zoom),
			[
				[...shown.start_ns, shown.end_ns],
				[...most, most.at(-1) ?? 0],
				[...least, least.at(-1) ?? 0],
			],
			box.current,
		);
		dragOver(u, {
			range: () => latest.current,
			end: () => end.current,
			onMove: (r, first) => {
				if (first) setDragging(true);
				moveTo(r, first);
			},
			onDone: moveDone,
			onClick: (ns) =>
				go({ set: { at: asMoment(ns), value: 'in-use', from: undefined, to: undefined } }),
		});
		u.over.addEventListener('dblclick', () =>
			go({
				set: {
					start: undefined,
					end: undefined,
					from: undefined,
					to: undefined,
					at: undefined,
				},
			}),
		);
		plot.current = u;
		return () => u.destroy();
	}, [data.current, width, blocks, dark]);
	useEffect(
		() => plot.current?.redraw(false),
		[
			params.get('at'),
			params.get('from'),
			params.get('to'),
			said.states.length,
			said.gaps.length,
			peak,
		],
	);

	return (
		<section class="strip" aria-label="In use over time">
			<div
				ref={box}
				tabIndex={0}
				role="application"
				aria-label={
					`Time. ${windowInWords} Shift with the arrows left and right moves it, up ` +
					'and down makes it wider and narrower, Escape removes it.'
				}
				onKeyDown={onKey}
				class={answer.waitingSince === undefined ? 'plot' : 'plot stale'}
			>
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
