// How large blocks are, and how long they live: a bar a class, which is a filter for who clicks it.
// Sizes are classes of powers of two, lifetimes of powers of ten, so that both axes are logarithms.
// What was not freed is hatched, not only of another colour. Each of the two pictures shows all
// classes, also those that its own filter leaves out, paler: the next one is a click away.
import { useId, useState } from 'preact/hooks';
import { filtersOf, go, inBlocks, valueOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, duration, percent, shortCount, size } from '../base/format';
import { bytesOf, nanosecondsOf } from '../filters/words';
import { Answered, useSize } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { None } from '../table/sites';
import type { Histogram, Sum } from '../api/types';
import './histogram.css';

interface Bar {
	/** Below the bar, if there is room. */
	label: string;
	/** The class in words. */
	title: string;
	whole: Sum;
	/** The part of it that was not freed. */
	leaked?: Sum;
	/** What sets it as a filter; undefined: nothing does. */
	set?: Record<string, string | undefined>;
	/** With what was chosen before: for a click with Shift. */
	extend?: Record<string, string | undefined>;
	chosen: boolean;
	/** Left out by the filter of this picture. */
	out: boolean;
}

const TOP = 18;
const BOTTOM = 20;
const LEFT = 66;

/** Steps of an axis: 4 or so, of round numbers. */
export function steps(most: number, binary: boolean): number[] {
	if (most <= 0) return [];
	const base = binary ? 2 : 10;
	const unit = base ** Math.floor(Math.log(most) / Math.log(base) - (binary ? 2 : 1) + 1e-9);
	const step =
		(binary ? [1, 2, 4] : [1, 2, 5, 10, 20, 50])
			.map((n) => n * unit)
			.find((s) => most / s <= 5) ?? most;
	return Array.from({ length: Math.floor(most / step) }, (_, i) => (i + 1) * step);
}

function Bars(props: {
	title: string;
	note: string;
	bars: Bar[];
	blocks: boolean;
	onClear?: (() => void) | undefined;
}) {
	const [box, { width }] = useSize<HTMLDivElement>();
	const height = width > 900 ? 330 : 210;
	const hatch = useId();
	const [said, say] = useState('');
	const { bars, blocks } = props;
	const of = (sum: Sum | undefined) => (sum ? (blocks ? sum.blocks : sum.bytes) : 0);
	const show = blocks ? count : size;
	const brief = blocks ? shortCount : size;
	const most = Math.max(1, ...bars.map((b) => of(b.whole)));
	const all = bars.reduce((sum, b) => sum + of(b.whole), 0);
	const inner = Math.max(10, width - LEFT - 14);
	const slot = inner / Math.max(1, bars.length);
	const wide = Math.max(2, Math.min(slot * 0.8, 90));
	const high = height - TOP - BOTTOM;
	// Words of some 46 pixels each: labels of all bars, or of each second, third...
	const every = Math.ceil(52 / slot);
	const y = (value: number) => TOP + high - (high * value) / most;

	return (
		<figure class="histogram">
			<figcaption>
				<strong>{props.title}</strong> <span class="dim">{said || props.note}</span>
				{props.onClear && (
					<button type="button" class="filter-clear" onClick={props.onClear}>
						Show all
					</button>
				)}
			</figcaption>
			<div ref={box} class="histogram-box" style={{ height: `${height}px` }}>
				{width > 0 && (
					<svg width={width} height={height} role="group" aria-label={props.title}>
						<defs>
							<pattern
								id={hatch}
								width="5"
								height="5"
								patternUnits="userSpaceOnUse"
								patternTransform="rotate(45)"
							>
								<rect width="5" height="5" class="bar-leaked" />
								<rect width="2" height="5" class="bar-hatch" />
							</pattern>
						</defs>
						{steps(most, !blocks).map((v) => (
							<g aria-hidden="true">
								<line class="grid" x1={LEFT} x2={width - 14} y1={y(v)} y2={y(v)} />
								<text class="axis" x={LEFT - 6} y={y(v) + 4} text-anchor="end">
									{brief(v)}
								</text>
							</g>
						))}
						<line class="grid" x1={LEFT} x2={width - 14} y1={y(0)} y2={y(0)} />
						{bars.map((b, i) => {
							const value = of(b.whole);
							const left = of(b.leaked);
							const x = LEFT + i * slot + (slot - wide) / 2;
							// What is there is seen, however little.
							const top = value ? Math.min(y(value), y(0) - 1) : y(0);
							const leakedTop = left ? Math.min(y(left), y(0) - 1) : y(0);
							const noun = Math.round(b.whole.blocks) === 1 ? 'block' : 'blocks';
							const notFreed = b.leaked
								? `, not freed ${size(b.leaked.bytes)} in ${count(b.leaked.blocks)}`
								: '';
							const text =
								`${b.title}: ${size(b.whole.bytes)} in ${count(b.whole.blocks)} ` +
								`${noun} (${percent(value, all)} %)${notFreed}`;
							const choose = (shift: boolean) => {
								const set = (shift && b.extend) || b.set;
								if (set) go({ set });
							};
							const able = b.set && b.whole.blocks > 0;
							return (
								<g
									class={
										`bar-group${able ? ' able' : ''}` +
										`${b.chosen ? ' chosen' : ''}${b.out ? ' out' : ''}`
									}
									role={able ? 'button' : 'img'}
									tabindex={able ? 0 : undefined}
									aria-label={text}
									aria-pressed={able ? b.chosen : undefined}
									onMouseEnter={() => say(text)}
									onMouseLeave={() => say('')}
									onFocus={() => say(text)}
									onBlur={() => say('')}
									onClick={able ? (event) => choose(event.shiftKey) : undefined}
									onKeyDown={(event) => {
										if (!able || (event.key !== 'Enter' && event.key !== ' '))
											return;
										event.preventDefault();
										choose(event.shiftKey);
									}}
								>
									<rect
										class="bar-room"
										x={LEFT + i * slot}
										y={TOP - 14}
										width={slot}
										height={high + 14 + BOTTOM}
									/>
									<rect
										class="bar-whole"
										x={x}
										y={top}
										width={wide}
										height={y(0) - top}
									/>
									{left > 0 && (
										<rect
											x={x}
											y={leakedTop}
											width={wide}
											height={y(0) - leakedTop}
											fill={`url(#${hatch})`}
										/>
									)}
								</g>
							);
						})}
						{/* Apart from the bars, whose names say more. */}
						<g class="bar-texts" aria-hidden="true">
							{bars.map((b, i) => (
								<g class={b.chosen ? 'chosen' : ''}>
									{slot > 52 && of(b.whole) > 0 && (
										<text
											x={LEFT + (i + 0.5) * slot}
											y={Math.min(y(of(b.whole)), y(0) - 1) - 4}
											text-anchor="middle"
										>
											{brief(of(b.whole))}
										</text>
									)}
									{i % every === 0 && (
										<text
											class="axis"
											x={LEFT + (i + 0.5) * slot}
											y={height - 5}
											text-anchor="middle"
										>
											{b.label}
										</text>
									)}
								</g>
							))}
						</g>
					</svg>
				)}
			</div>
			<span class="hidden">{`${show(all)} in all`}</span>
		</figure>
	);
}

/** Without zeros that say nothing: "4 KiB", "100 ms". */
const plain = (text: string) => text.replace(/\.0+(?= )|(\.\d*?[1-9])0+(?= )/, '$1');

/**
 * Classes without anything at both ends are left out; those between stay, or the axis would not be
 * a logarithm.
 */
export function trimmed<T>(classes: T[], has: (c: T) => boolean): T[] {
	const first = classes.findIndex(has);
	const last = classes.length - 1 - [...classes].reverse().findIndex(has);
	return first < 0 ? [] : classes.slice(first, last + 1);
}

const asDuration = (ns: number) =>
	ns % 1e9 === 0
		? `${ns / 1e9}s`
		: ns % 1e6 === 0
			? `${ns / 1e6}ms`
			: ns % 1e3 === 0
				? `${ns / 1e3}us`
				: `${ns}ns`;

/** The ends of a filter as numbers; what is not set is open. */
function endsOf(
	params: URLSearchParams,
	name: string,
	read: (text: string) => number | undefined,
): [number, number] | undefined {
	const [low, high] = [params.get(`${name}_min`), params.get(`${name}_max`)];
	if (low === null && high === null) return undefined;
	return [
		low === null ? -Infinity : (read(low) ?? -Infinity),
		high === null ? Infinity : (read(high) ?? Infinity),
	];
}

/** The filter of one class, and that of it together with what is chosen already. */
function range(
	name: string,
	chosen: [number, number] | undefined,
	low: number,
	high: number,
	write: (n: number) => string,
) {
	const set = (from: number, to: number) => ({
		[`${name}_min`]: from > -Infinity ? write(from) : undefined,
		[`${name}_max`]: to < Infinity ? write(to) : undefined,
	});
	const same = chosen !== undefined && chosen[0] === low && chosen[1] === high;
	return {
		set: same ? set(-Infinity, Infinity) : set(low, high),
		chosen: chosen !== undefined && low >= chosen[0] && high <= chosen[1],
		out: chosen !== undefined && (high < chosen[0] || low > chosen[1]),
		...(chosen && !same
			? { extend: set(Math.min(low, chosen[0]), Math.max(high, chosen[1])) }
			: {}),
	};
}

function sizeBars(histogram: Histogram, params: URLSearchParams, value: string): Bar[] {
	const chosen = endsOf(params, 'size', bytesOf);
	return trimmed(histogram.sizes, (c) => c.allocated.blocks > 0).map(
		({ size_max: most = Infinity, ...c }) => ({
			label: plain(size(c.size_min)),
			title:
				c.size_min === most
					? plain(size(c.size_min))
					: most === Infinity
						? `${plain(size(c.size_min))} and more`
						: `${plain(size(c.size_min))} to ${count(most)} B`,
			whole: c.allocated,
			...(value === 'temporary'
				? {}
				: { leaked: value === 'leaked' ? c.allocated : c.leaked }),
			...range('size', chosen, c.size_min, most, String),
		}),
	);
}

function lifetimeBars(histogram: Histogram, params: URLSearchParams): Bar[] {
	const onlyLeaked = params.get('lifetime') === 'only_leaked';
	const chosen = endsOf(params, 'lifetime', nanosecondsOf);
	const bars = trimmed(histogram.lifetimes, (c) => c.allocated.blocks > 0).map<Bar>((c) => {
		const from = plain(duration(c.lifetime_min_ns));
		const own = range(
			'lifetime',
			chosen,
			c.lifetime_min_ns,
			c.lifetime_max_ns ?? Infinity,
			asDuration,
		);
		// What was not freed has a lifetime for the server, too: the one until the end.
		const freed = (set: Record<string, string | undefined>) => ({
			...set,
			lifetime: set.lifetime_min ? 'only_freed' : undefined,
		});
		return {
			label: c.lifetime_min_ns ? from : '< 1 µs',
			title:
				c.lifetime_max_ns === undefined
					? `${from} or longer`
					: c.lifetime_min_ns
						? `${from} to ${plain(duration(c.lifetime_max_ns + 1))}`
						: 'less than 1 µs',
			whole: c.allocated,
			chosen: own.chosen,
			out: own.out || onlyLeaked,
			set: freed(own.set),
			...(own.extend ? { extend: freed(own.extend) } : {}),
		};
	});
	if (histogram.leaked.blocks > 0)
		bars.push({
			label: 'not freed',
			title: 'not freed',
			whole: histogram.leaked,
			leaked: histogram.leaked,
			set: {
				lifetime_min: undefined,
				lifetime_max: undefined,
				lifetime: onlyLeaked ? undefined : 'only_leaked',
			},
			chosen: onlyLeaked,
			out: chosen !== undefined || params.get('lifetime') === 'only_freed',
		});
	if (histogram.end_unknown.blocks > 0)
		bars.push({
			label: 'not seen',
			title: 'their end was not seen (a loss, or an exec)',
			whole: histogram.end_unknown,
			chosen: false,
			out: chosen !== undefined || params.has('lifetime'),
		});
	return bars;
}

const SIZE = ['size_min', 'size_max'];
const LIFETIME = ['lifetime_min', 'lifetime_max', 'lifetime'];

function Pictures(props: ViewProps & { sizes: Histogram; lifetimes: Histogram }) {
	const { address, sizes, lifetimes } = props;
	const { params } = address;
	const blocks = inBlocks(address);
	const clear = (names: string[]) =>
		names.some((n) => params.has(n))
			? () => go({ set: Object.fromEntries(names.map((n) => [n, undefined])) })
			: undefined;

	if (sizes.total.blocks === 0 && lifetimes.total.blocks === 0) return <None address={address} />;
	return (
		<div class="histograms">
			<p class="histogram-key dim">
				A bar is a filter: click it to see only these blocks in every view, click with Shift
				to add its neighbours.
				<span class="key">
					<svg viewBox="0 0 10 10" class="swatch" aria-hidden="true">
						<rect width="10" height="10" class="bar-whole" />
					</svg>{' '}
					freed
				</span>
				<span class="key">
					<svg viewBox="0 0 10 10" class="swatch" aria-hidden="true">
						<rect width="10" height="10" class="bar-leaked" />
						<path d="M0 5L5 0M0 10L10 0M5 10L10 5" class="bar-hatch-line" />
					</svg>{' '}
					not freed
				</span>
			</p>
			<div class="histogram-pair">
				<Bars
					title="Size of blocks"
					note={inAll(sizes)}
					bars={sizeBars(sizes, params, valueOf(address))}
					blocks={blocks}
					onClear={clear(SIZE)}
				/>
				<Bars
					title="Lifetime of blocks"
					note={inAll(lifetimes)}
					bars={lifetimeBars(lifetimes, params)}
					blocks={blocks}
					onClear={clear(LIFETIME)}
				/>
			</div>
		</div>
	);
}

const inAll = (histogram: Histogram) =>
	`${size(histogram.total.bytes)} in ${count(histogram.total.blocks)} blocks`;

export function HistogramView(props: ViewProps) {
	const { address, stream } = props;
	const value = valueOf(address);
	const version = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const path = (without: string[]) =>
		about(stream.id, 'histogram', [
			['value', value],
			['at', value === 'in-use' ? (address.params.get('at') ?? undefined) : undefined],
			...filtersOf(address).filter(([name]) => !without.includes(name)),
		]);
	const [ofSizes, ofLifetimes] = [path(SIZE), path(LIFETIME)];
	const sizes = useAnswer<Histogram>(ofSizes, version);
	const own = useAnswer<Histogram>(ofLifetimes === ofSizes ? null : ofLifetimes, version);
	const lifetimes = ofLifetimes === ofSizes ? sizes : own;
	return (
		<Answered answer={sizes}>
			{(s) => (
				<Answered answer={lifetimes}>
					{(l) => <Pictures {...props} sizes={s} lifetimes={l} />}
				</Answered>
			)}
		</Answered>
	);
}
