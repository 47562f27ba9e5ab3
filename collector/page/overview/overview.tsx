// What the report says of a recording, what stands out, and its figures over time.
import { useMemo } from 'preact/hooks';
import { changed, filtersOf, go, inBlocks, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, duration, percent, size } from '../base/format';
import { asMoment } from '../base/moment';
import { Plot, type Line } from '../base/plot';
import { Answered } from '../base/ui';
import {
	nanoseconds,
	type Analysis,
	type Finding,
	type ProcessFigures,
	type Report,
	type Stream,
	type Sum,
	type Timeline,
} from '../api/types';
import type { ViewProps } from '../frame/views';

function SumLine(props: { title: string; sum: Sum; note: string; href: string }) {
	const { sum } = props;
	return (
		<tr>
			<th scope="row">
				<a href={props.href}>{props.title}</a>
			</th>
			<td class="n">
				{size(sum.bytes)}
				{sum.bytes_error ? <span class="dim"> ± {size(sum.bytes_error)}</span> : null}
			</td>
			<td class="n">
				{count(sum.blocks)}
				{sum.blocks_error ? <span class="dim"> ± {count(sum.blocks_error)}</span> : null}
			</td>
			<td class="dim">{props.note}</td>
		</tr>
	);
}

function Sums(props: { report: Report; stream: Stream; address: Address }) {
	const { report, stream } = props;
	const to = (value: string) => changed(props.address, { view: 'flame', set: { value } });
	const watchedWhole = stream.watched_from_start !== false && stream.watched_to_end !== false;

	return (
		<table class="sums">
			<thead>
				<tr>
					<th />
					<th class="n">Bytes</th>
					<th class="n">Blocks</th>
					<th />
				</tr>
			</thead>
			<tbody>
				<SumLine
					title="Allocated"
					sum={report.allocated}
					note="in all"
					href={to('allocated')}
				/>
				<SumLine
					title="Freed"
					sum={report.temporary}
					note={
						'before the end, ' +
						`${percent(report.temporary.bytes, report.allocated.bytes)}\u00a0%`
					}
					href={to('temporary')}
				/>
				<SumLine
					title={watchedWhole ? 'Leaked' : 'Not freed'}
					sum={report.leaked}
					note={watchedWhole ? 'never freed' : 'not freed while it was watched'}
					href={to('leaked')}
				/>
				<SumLine
					title="Peak"
					sum={report.peak}
					note={`in use at once, at ${duration(report.peak_ns).replace(' ', '\u00a0')}`}
					href={to('peak')}
				/>
			</tbody>
		</table>
	);
}

/** Where a finding can be looked at. */
function placeOf(finding: Finding, address: Address): string {
	const view = finding.kind === 'traces' || finding.kind === 'repeated' ? 'sites' : 'flame';
	return changed(address, {
		view,
		set: {
			find:
				finding.kind === 'site' || finding.kind === 'growth-site'
					? (finding.name ?? undefined)
					: undefined,
		},
	});
}

/** Subsystems are of the report alone (`heapcast analyze --rules`). */
function findingsOf(analysis: Analysis): Finding[] {
	return analysis.findings.filter((f) => f.kind !== 'no-subsystem');
}

function Findings(props: ViewProps) {
	const { address, stream } = props;
	const answer = useAnswer<Analysis>(
		about(stream.id, 'analyze', [
			['value', 'peak'],
			['weight', inBlocks(address) ? 'blocks' : undefined],
			...filtersOf(address),
		]),
		stream.state === 'live' ? (stream.events ?? 0) : 0,
	);
	return (
		<section>
			<h3>What stands out at the peak</h3>
			<Answered answer={answer}>
				{(analysis) =>
					findingsOf(analysis).length ? (
						findingsOf(analysis).map((f) => (
							<div class="finding">
								<a href={placeOf(f, changedTo(address))}>{f.headline}</a>
								{f.kind !== 'traces' && <p class="dim">{f.text}</p>}
							</div>
						))
					) : (
						<p class="dim">
							{stream.events === 0
								? 'The program allocated nothing while it was recorded.'
								: 'Nothing has much more than the rest.'}
						</p>
					)
				}
			</Answered>
		</section>
	);
}

/** Findings are of the peak: what they lead to is, too. */
function changedTo(address: Address): Address {
	const params = new URLSearchParams(address.params);
	params.set('value', 'peak');
	return { ...address, params };
}

function OverTime(props: ViewProps) {
	const { address, stream } = props;
	const version = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const { params } = address;
	const span: [string, string | number | undefined][] = [
		['points', 600],
		['start', params.get('start') ?? undefined],
		['end', params.get('end') ?? undefined],
	];
	const all = useAnswer<Timeline>(
		about(stream.id, 'timeline', [...span, ...filtersOf(address)]),
		version,
	).data;
	const leaked = useAnswer<Timeline>(
		about(stream.id, 'timeline_leaked', [...span, ...filtersOf(address)]),
		version,
	).data;
	const figures = useAnswer<ProcessFigures>(about(stream.id, 'timeline_maps'), version).data;
	const start = nanoseconds(stream.timestamp);

	const inUse = useMemo<Line[]>(
		() => [
			{
				name: 'in use',
				values: all?.allocated_size ?? [],
				colour: 'b1',
				fill: 'b3',
				stepped: true,
			},
			{
				name: stream.watched_to_end === false ? 'not freed so far' : 'never freed',
				values: leaked?.allocated_size.slice(0, all?.start_ns.length) ?? [],
				colour: 'b4',
				stepped: true,
			},
		],
		[all, leaked, stream.watched_to_end],
	);
	const blocks = useMemo<Line[]>(
		() => [
			{
				name: 'blocks',
				values: all?.allocated_count ?? [],
				colour: 'b1',
				fill: 'b3',
				stepped: true,
			},
		],
		[all],
	);
	const rate = useMemo<Line[]>(
		() => [
			{
				name: 'allocated',
				values: (all?.allocations_size ?? []).map((b) => (b * 1e9) / (all?.width_ns || 1)),
				colour: 'b1',
				stepped: true,
			},
		],
		[all],
	);
	const rss = useMemo<Line[]>(
		() => [
			{ name: 'resident', values: figures?.rss ?? [], colour: 'b1', fill: 'b3' },
			{ name: 'of no file', values: figures?.anonymous ?? [], colour: 'b4' },
		],
		[figures],
	);
	const xs = useMemo(() => (figures?.xs ?? []).map((ms) => ms * 1e6 - start), [figures, start]);
	const onRange = (from: number, to: number) =>
		go({ set: { from: asMoment(from), to: asMoment(to), at: undefined } });
	const onMoment = (at: number) =>
		go({
			view: 'flame',
			set: { at: asMoment(at), value: 'in-use', from: undefined, to: undefined },
		});

	if (!all) return null;
	return (
		<>
			<Plot
				title="In use"
				unit="bytes"
				xs={all.start_ns}
				lines={inUse}
				height={150}
				onRange={onRange}
				onMoment={onMoment}
			/>
			<Plot
				title="Blocks"
				unit="blocks"
				xs={all.start_ns}
				lines={blocks}
				height={150}
				onRange={onRange}
				onMoment={onMoment}
			/>
			<Plot
				title="Allocation rate"
				unit="bytes per second"
				xs={all.start_ns}
				lines={rate}
				height={150}
				onRange={onRange}
				onMoment={onMoment}
			/>
			{xs.length > 0 ? (
				<Plot
					title="Memory as the kernel counts it"
					unit="bytes"
					xs={xs}
					lines={rss}
					height={150}
				/>
			) : (
				<p class="dim">
					How much of the process was resident is not known: it ended before the first
					look. <code>heapcast run --figures-interval 100ms</code> looks more often.
				</p>
			)}
		</>
	);
}

export function Overview(props: ViewProps) {
	const { address, stream } = props;
	const answer = useAnswer<Report>(
		about(stream.id, 'report', filtersOf(address)),
		stream.state === 'live' ? (stream.events ?? 0) : 0,
	);

	return (
		<Answered answer={answer}>
			{(report) => (
				<div class="overview" tabIndex={0}>
					<div class="about">
						<h2>{stream.cmdline || stream.name}</h2>
						<p class="dim">
							{[stream.executable, stream.architecture, 'recorded for']
								.filter(Boolean)
								.join(', ')}{' '}
							{duration(nanoseconds(stream.runtime))}, {count(report.threads)}{' '}
							{report.threads === 1 ? 'thread' : 'threads'},{' '}
							{count(report.modules)} modules,{' '}
							{count(report.distinct_backtraces)} different backtraces
						</p>
					</div>
					<section>
						<Sums report={report} stream={stream} address={address} />
						{report.failed > 0 && (
							<p>
								{count(report.failed)} allocations failed: the program was told that
								there is no memory.
							</p>
						)}
					</section>
					<Findings {...props} />
					<OverTime {...props} />
				</div>
			)}
		</Answered>
	);
}
