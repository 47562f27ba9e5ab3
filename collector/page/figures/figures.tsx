// Figures of the process over time: what the kernel counts beside what the heap has in use, what
// glibc's allocator says of itself, and what the program told it.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { changed, go } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { useCalmVersion } from '../base/calm';
import { count, duration, percent, size } from '../base/format';
import { asMoment } from '../base/moment';
import { Plot, type Line } from '../base/plot';
import { Answered, Notice } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { nanoseconds, type Stream } from '../api/types';
import {
	sinceStart,
	type FragmentationTimeline,
	type KernelFigures,
	type Mallopt,
} from '../api/memory';
import './figures.css';

const HEIGHT = 160;

function useTimes(xs: number[] | undefined, stream: Stream): number[] {
	const start = nanoseconds(stream.timestamp);
	return useMemo(() => (xs ?? []).map((ms) => ms * 1e6 - start), [xs, start]);
}

const onRange = (from: number, to: number) =>
	go({ set: { from: asMoment(from), to: asMoment(to), at: undefined } });
const onMoment = (at: number) =>
	go({ set: { at: asMoment(at), value: 'in-use', from: undefined, to: undefined } });

function Chart(props: {
	title: string;
	xs: number[];
	lines: Line[];
	children?: ComponentChildren;
}) {
	return (
		<div>
			<Plot
				title={props.title}
				unit="bytes"
				xs={props.xs}
				lines={props.lines}
				height={HEIGHT}
				onRange={onRange}
				onMoment={onMoment}
			/>
			{props.children}
		</div>
	);
}

const EVENS = 0.1;

/** What the last value of each says together. */
function InWords(props: { heap: FragmentationTimeline }) {
	const { heap } = props;
	const last = (values: number[]) => values.at(-1) ?? 0;
	const [inUse, anonymous, rss] = [last(heap.in_use), last(heap.anonymous), last(heap.rss)];
	const rest = anonymous - inUse;
	return (
		<p class="dim all hint">
			At the last reading {size(rss)} were resident, {size(anonymous)} of no file; the heap
			had {size(inUse)} in use, {percent(inUse, anonymous)} % of that.{' '}
			{rest > anonymous * EVENS
				? `The other ${size(rest)} are stacks, what the program mapped itself, and ` +
					'memory that the allocator keeps.'
				: ''}
		</p>
	);
}

function Kernel(props: {
	stream: Stream;
	kernel: KernelFigures;
	heap: FragmentationTimeline | undefined;
}) {
	const { kernel, heap } = props;
	const xs = useTimes(kernel.xs, props.stream);
	const swapped = kernel.swap.some((s) => s > 0);
	const memory = useMemo<Line[]>(
		() => [
			{ name: 'resident', values: kernel.rss, colour: 'dim' },
			{ name: 'of no file', values: kernel.anonymous, colour: 'b4' },
			...(heap?.in_use.length === kernel.xs.length
				? [
						{
							name: 'heap in use',
							values: heap.in_use,
							colour: 'b1',
							fill: 'b3',
							stepped: true,
						},
					]
				: []),
			...(swapped ? [{ name: 'swapped out', values: kernel.swap, colour: 'ok' }] : []),
		],
		[kernel, heap],
	);
	const space = useMemo<Line[]>(
		() => [{ name: 'address space', values: kernel.address_space, colour: 'b1', fill: 'b3' }],
		[kernel],
	);
	const pages = useMemo<Line[]>(
		() => [
			{ name: 'written', values: kernel.dirty, colour: 'b4' },
			{ name: 'not written', values: kernel.clean, colour: 'b1' },
			...(kernel.pss?.length
				? [{ name: 'its share (PSS)', values: kernel.pss, colour: 'dim' }]
				: []),
		],
		[kernel],
	);
	const apart = useMemo<Line[]>(
		() =>
			heap?.anonymous.length
				? [
						{
							name: 'not in use',
							values: heap.anonymous.map((a, i) =>
								Math.max(0, a - (heap.in_use[i] ?? 0)),
							),
							colour: 'b4',
							fill: 'b3',
						},
					]
				: [],
		[heap],
	);
	const known = kernel.dirty.some((v) => v > 0) || kernel.clean.some((v) => v > 0);

	if (xs.length < 2)
		return (
			<p class="dim all hint">
				What the kernel counts was not read: the program ended before the first look.{' '}
				<code>heapcast run --figures-interval 100ms -- PROGRAM</code> looks more often.
			</p>
		);
	return (
		<>
			<Chart title="Memory" xs={xs} lines={memory}>
				{!swapped && kernel.swap.length > 0 && (
					<p class="dim hint">Nothing was swapped out.</p>
				)}
			</Chart>
			{apart.length > 0 && (
				<Chart title="Of no file, and not in use on the heap" xs={xs} lines={apart} />
			)}
			<Chart title="Address space" xs={xs} lines={space} />
			{known && <Chart title="Pages" xs={xs} lines={pages} />}
			{heap && <InWords heap={heap} />}
		</>
	);
}

function Allocator(props: { stream: Stream; heap: FragmentationTimeline }) {
	const said = props.heap.allocator;
	const xs = useTimes(said?.xs, props.stream);
	const lines = useMemo<Line[]>(
		() => [
			{ name: 'from brk and arenas (arena)', values: said?.arena ?? [], colour: 'dim' },
			{ name: 'in mappings of their own (hblkhd)', values: said?.hblkhd ?? [], colour: 'ok' },
			{ name: 'in use (uordblks)', values: said?.uordblks ?? [], colour: 'b1' },
			{ name: 'free (fordblks)', values: said?.fordblks ?? [], colour: 'b4' },
		],
		[said],
	);
	if (!said || xs.length === 0)
		return (
			<p class="dim all hint">
				What glibc’s allocator says of itself (mallinfo2) was not recorded:{' '}
				<code>heapcast run --allocator-figures -- PROGRAM</code> does.
			</p>
		);
	const last = xs.length - 1;
	const [arena, mapped, free, keep] = [
		said.arena[last]!,
		said.hblkhd[last]!,
		said.fordblks[last]!,
		said.keepcost[last]!,
	];
	return (
		<div class="all">
			<Chart title="What glibc’s allocator says (mallinfo2)" xs={xs} lines={lines}>
				<p class="dim hint">
					At {duration(xs[last]!)} it had {size(arena + mapped)} from the kernel and{' '}
					{size(free)} of it free, {percent(free, arena + mapped)} %; {size(keep)} lay at
					the top, where trimming can give them back.
				</p>
			</Chart>
		</div>
	);
}

function Mallopts(props: ViewProps & { calls: Mallopt[] }) {
	const { calls, address, stream } = props;
	if (!calls.length)
		return (
			<p class="dim all hint">
				The program told its allocator nothing (mallopt was not called).
			</p>
		);
	const bytes = (call: Mallopt) => /THRESHOLD|TOP_PAD/.test(call.param ?? '') && call.value > 0;
	return (
		<section class="all">
			<h3>What the program told its allocator (mallopt)</h3>
			<div class="tablebox" tabIndex={0}>
				<table class="wide">
					<thead>
						<tr>
							<th class="n">At</th>
							<th>Parameter</th>
							<th class="n">Value</th>
							<th>Taken</th>
							<th class="n">Thread</th>
							<th>By</th>
						</tr>
					</thead>
					<tbody>
						{calls.map((call) => {
							const pick = () =>
								go(
									{ set: { picked: String(call.backtrace_id), site: undefined } },
									true,
								);
							return (
								<tr
									onClick={pick}
									aria-selected={
										address.params.get('picked') === String(call.backtrace_id)
									}
								>
									<td class="n">
										{duration(sinceStart(call.timestamp, stream.timestamp))}
									</td>
									<td>
										<code>{call.param ?? call.raw_param}</code>
									</td>
									<td class="n" title={count(call.value)}>
										{bytes(call) ? size(call.value) : count(call.value)}
									</td>
									<td>{call.result ? 'yes' : 'no'}</td>
									<td class="n">{call.thread}</td>
									<td>
										<button type="button" class="plain" onClick={pick}>
											Show the stack
										</button>
									</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
		</section>
	);
}

export function FiguresView(props: ViewProps) {
	const { address, stream } = props;
	const version = useCalmVersion(stream);
	const kernel = useAnswer<KernelFigures>(about(stream.id, 'timeline_maps'), version);
	const heap = useAnswer<FragmentationTimeline>(
		about(stream.id, 'fragmentation_timeline'),
		version,
	).data;
	const mallopts = useAnswer<Mallopt[]>(about(stream.id, 'mallopts'), version);

	return (
		<Answered answer={kernel}>
			{(data) =>
				data.xs.length === 0 &&
				mallopts.data?.length === 0 &&
				!heap?.allocator?.xs.length ? (
					<Notice title="No figure was recorded.">
						<code>
							heapcast run --figures-interval 100ms --allocator-figures -- PROGRAM
						</code>{' '}
						records what the kernel counts, and what glibc’s allocator says of itself.
					</Notice>
				) : (
					<div class="figures" tabIndex={0}>
						<Kernel stream={stream} kernel={data} heap={heap} />
						{heap && <Allocator stream={stream} heap={heap} />}
						<Answered answer={mallopts}>
							{(calls) => <Mallopts {...props} calls={calls} />}
						</Answered>
						<p class="dim all hint">
							<a
								href={changed(address, {
									view: 'sql',
									set: {
										query:
											'select time_ns, rss, rss_peak, anonymous, swap, ' +
											'minor_faults, major_faults from figures',
									},
								})}
							>
								All figures as SQL
							</a>
							, page faults among them.
						</p>
					</div>
				)
			}
		</Answered>
	);
}
