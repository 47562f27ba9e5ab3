// What was in use over time, in bands upon each other: one a call site, function, module, or what
// became of the blocks. The largest, and the rest.
import { useLayoutEffect, useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import { changed, filtersOf, go, inBlocks, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { bandColours, styleValue, useDark } from '../base/colours';
import { baseName, count, size } from '../base/format';
import { asMoment } from '../base/moment';
import { usePicture } from '../base/picture';
import { axes, padding, textOf, upFromZero } from '../base/plot';
import { drawPlotPicture, plotPictureHeight, type PlotPicture } from '../base/plot_picture';
import { Answered, Segments, useSize } from '../base/ui';
import { exactly } from '../filters/words';
import type { Band, Timeline } from '../api/types';
import type { ViewProps } from '../frame/views';
import { Place } from '../table/frames';
import { None } from '../table/sites';

const KINDS = [
	['site', 'Call site'],
	['function', 'Function'],
	['module', 'Module'],
	['backtrace', 'Backtrace'],
	['custom', 'Fate'],
] as const;

type Kind = (typeof KINDS)[number][0];

const FATES = ['leaked:lifetime=only_leaked', 'temporary:lifetime=only_freed'];

function valuesOf(band: Band): number[] {
	return band.allocated_size ?? band.allocated_count ?? [];
}

/** What narrows all views to the band; undefined: it is the rest of all. */
export function filterOf(band: Band, kind: Kind): Record<string, string> | undefined {
	if (kind === 'custom')
		return band.name === 'leaked'
			? { lifetime: 'only_leaked' }
			: band.name === 'temporary'
				? { lifetime: 'only_freed' }
				: undefined;
	if (kind === 'backtrace' && band.backtrace_id) return { backtraces: String(band.backtrace_id) };
	if (kind === 'module' && band.module) return { module: band.module };
	if (band.function) return { function_regex: exactly(band.function) };
	return undefined;
}

/** Of each band what lies below its upper edge, up to the end. */
function stack(data: Timeline, bands: Band[]): number[][] {
	const points = data.start_ns.length;
	const sums = new Float64Array(points + 1);
	return bands.map((band) => {
		const values = valuesOf(band);
		for (let i = 0; i < points; i++) sums[i]! += values[i] ?? 0;
		sums[points] = sums[points - 1] ?? 0;
		return Array.from(sums);
	});
}

function Chart(props: {
	data: Timeline;
	bands: Band[];
	colours: string[];
	blocks: boolean;
	address: Address;
}) {
	const [box, { width, height }] = useSize<HTMLDivElement>();
	const dark = useDark();
	const { data, bands, blocks } = props;

	useLayoutEffect(() => {
		if (!box.current || width < 50 || height < 50) return undefined;
		const stacked = stack(data, bands);
		const u = new uPlot(
			{
				width,
				height,
				legend: { show: false },
				padding: padding(8),
				cursor: {
					y: false,
					points: { show: false },
					drag: { x: true, y: false, setScale: false },
				},
				scales: { x: { time: false }, y: { range: upFromZero } },
				axes: axes(blocks ? 'blocks' : 'bytes'),
				series: [
					{},
					...[...bands].map((_, i) => ({
						stroke: styleValue('bg'),
						width: 0.5,
						fill: props.colours[bands.length - 1 - i]!,
						points: { show: false },
						paths: uPlot.paths.stepped!({ align: 1 }),
					})),
				],
				hooks: {
					setSelect: [
						(up) => {
							if (up.select.width < 3) return;
							go({
								set: {
									from: asMoment(up.posToVal(up.select.left, 'x')),
									to: asMoment(
										up.posToVal(up.select.left + up.select.width, 'x'),
									),
									at: undefined,
								},
							});
						},
					],
				},
			},
			[[...data.start_ns, data.end_ns], ...stacked.reverse()],
			box.current,
		);
		return () => u.destroy();
	}, [data, bands, props.colours, width, height, blocks, dark]);
	usePicture(box, () => {
		if (!bands.length || width < 50) return undefined;
		// The highest first: what lies in front of it leaves its own band.
		const layers = stack(data, bands)
			.map((values, i) => ({
				values,
				fill: props.colours[i]!,
				stroke: styleValue('bg'),
				stepped: true,
			}))
			.reverse();
		const key = bands.map((band, i) => ({
			name: band.function_short ?? band.function ?? band.name,
			colour: props.colours[i]!,
		}));
		const plot: PlotPicture = {
			width,
			height: Math.max(height, 260),
			xs: [...data.start_ns, data.end_ns],
			layers,
			text: textOf(blocks ? 'blocks' : 'bytes'),
			binary: !blocks,
			key,
		};
		return {
			title: '',
			width,
			height: plotPictureHeight(plot),
			draw: (pen) => drawPlotPicture(pen, plot),
		};
	});
	return (
		<div
			class="chart"
			ref={box}
			role="img"
			aria-label={`In use over time, in ${bands.length} bands`}
		/>
	);
}

function Bands(props: ViewProps & { data: Timeline; kind: Kind }) {
	const { data, kind, address } = props;
	const blocks = inBlocks(address);
	const dark = useDark();
	// The largest lies at the bottom.
	const bands = useMemo(() => data.series ?? [], [data]);
	const colours = useMemo(
		() => bandColours(bands.map((b) => (b.name === 'rest' ? '' : b.name))),
		[bands, dark],
	);
	const show = blocks ? count : size;

	if (!bands.some((b) => b.most > 0)) return <None address={address} />;

	return (
		<>
			<Chart data={data} bands={bands} colours={colours} blocks={blocks} address={address} />
			<div class="tablebox bandlist" tabIndex={0}>
				<table>
					<thead>
						<tr>
							<th>Band</th>
							<th class="minor">Place</th>
							<th class="minor">Module</th>
							<th class="n">Most at once</th>
							<th class="n" title="the most of the last of 800 moments">
								Near the end
							</th>
						</tr>
					</thead>
					<tbody>
						{bands.map((band, i) => {
							const filter = filterOf(band, kind);
							return (
								<tr>
									<td class="text">
										<svg class="swatch" aria-hidden="true" viewBox="0 0 10 10">
											<rect width="10" height="10" fill={colours[i]!} />
										</svg>{' '}
										{filter ? (
											<a
												href={changed(address, { set: filter })}
												title={band.function ?? undefined}
											>
												{band.function_short ?? band.function ?? band.name}
											</a>
										) : (
											band.name
										)}
									</td>
									<td class="text minor">
										<Place
											address={address}
											file={band.file}
											line={band.line}
										/>
									</td>
									<td class="text dim minor">
										{band.module ? baseName(band.module) : ''}
									</td>
									<td class="n">{show(band.most)}</td>
									<td class="n">{show(valuesOf(band).at(-1) ?? 0)}</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			</div>
		</>
	);
}

export function BandsView(props: ViewProps) {
	const { address, stream } = props;
	const { params } = address;
	const kind = KINDS.find(([name]) => name === params.get('by'))?.[0] ?? 'site';
	const path = about(stream.id, 'timeline', [
		['by', kind],
		...(kind === 'custom' ? FATES.map((f) => ['series', f] as [string, string]) : []),
		['bands', kind === 'custom' ? undefined : 10],
		['points', 800],
		['weight', inBlocks(address) ? 'blocks' : undefined],
		['start', params.get('start') ?? undefined],
		['end', params.get('end') ?? undefined],
		...filtersOf(address),
	]);
	const answer = useAnswer<Timeline>(path, stream.state === 'live' ? (stream.events ?? 0) : 0);

	return (
		<div class="bands">
			<div class="tools">
				<span class="dim">A band for each</span>
				<Segments
					label="A band for each"
					options={KINDS}
					chosen={kind}
					onChoose={(by) => go({ set: { by: by === 'site' ? undefined : by } })}
				/>
			</div>
			<Answered answer={answer}>
				{(data) => <Bands {...props} data={data} kind={kind} />}
			</Answered>
		</div>
	);
}
