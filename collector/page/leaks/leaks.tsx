// Leaks by survival: of the blocks of a call site that grew as old as those that were left, how
// many were freed later? Where most were, what is left is recent and will go, too; where none ever
// was, it is suspect. The server weighs it (docs/rest-api.md, `leaks`).
import { useMemo } from 'preact/hooks';
import { changed, filtersOf, go, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import type { Column } from '../base/grid';
import { baseName, count, duration, percent, size } from '../base/format';
import { useNarrow } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { siteFilterBeside } from '../filters/words';
import { Place, siteName } from '../table/frames';
import { HiddenNames } from '../table/hidden';
import { None, sparkPath } from '../table/sites';
import { Spark } from '../table/spark';
import { VirtualTable } from '../table/virtual';
import type { Leak, Leaks } from '../api/types';
import './leaks.css';

/** "24 of 24 not freed, 1.20 s to 3.10 s old; none was ever freed". */
export function leakInWords(leak: Leak): string {
	const [youngest, oldest] = [duration(leak.age_min_ns), duration(leak.age_max_ns)];
	const age = youngest === oldest ? `${oldest} old` : `${youngest} to ${oldest} old`;
	const others =
		leak.value.blocks < leak.allocated.blocks
			? ': the others went with an exec, or were not seen to end'
			: '';
	const freed = leak.whole_group_leaked
		? leak.allocated.blocks > 1
			? `; none was ever freed${others}`
			: ''
		: leak.longest_lifetime_ns !== undefined
			? `; the freed ones lived ${duration(leak.longest_lifetime_ns)} at most`
			: '';
	const recent =
		leak.young.blocks && leak.old.blocks
			? `; ${count(leak.young.blocks)} ${leak.young.blocks === 1 ? 'is' : 'are'} recent`
			: leak.old.blocks
				? ''
				: leak.value.blocks === 1
					? '; it is recent'
					: '; all are recent';
	const blocks = `${count(leak.value.blocks)} of ${count(leak.allocated.blocks)}`;
	return `${blocks} not freed, ${age}${freed}${recent}`;
}

/** What was left out, a line for each rule. */
function suppressedInWords(leaks: Leaks): string {
	return leaks.suppressed.patterns
		.map((by) => `${size(by.value.bytes)}: ${by.built_in ?? by.pattern}`)
		.join('\n');
}

function columnsOf(props: ViewProps): Column<Leak>[] {
	const { address, stream } = props;
	const only = (leak: Leak) => siteFilterBeside(address.params.get('custom_filter'), leak);
	return [
		{
			key: 'site',
			title: 'Call site',
			width: 'minmax(150px, 1fr)',
			cell: (leak) => (
				<>
					<strong title={leak.function ?? undefined}>{siteName(leak)}</strong>{' '}
					<Place address={address} file={leak.file} line={leak.line} />{' '}
					<span class="dim" title={leak.module ?? undefined}>
						{baseName(leak.module ?? '')}
					</span>
					<div class="leak-words" title={leakInWords(leak)}>
						{leakInWords(leak)}
					</div>
				</>
			),
		},
		{
			key: 'suspect',
			title: 'Suspect',
			width: '86px',
			right: true,
			hint: 'bytes, weighed by how many blocks that grew so old were never freed',
			cell: (leak) => size(leak.suspect_bytes),
		},
		{
			key: 'bytes',
			title: 'Not freed',
			width: '86px',
			right: true,
			cell: (leak) => size(leak.value.bytes),
		},
		{
			key: 'graph',
			title: 'Over time',
			width: '110px',
			from: 780,
			hint: 'how much of it was in use over time',
			cell: (leak) => (
				<Spark
					path={sparkPath(stream, address, [['custom_filter', only(leak)]])}
					blocks={false}
					live={stream.state === 'live'}
					label={`${siteName(leak)} over time`}
				/>
			),
		},
		{
			key: 'next',
			title: 'See',
			width: '168px',
			from: 560,
			cell: (leak) => (
				<span class="leak-links">
					<a
						href={changed(address, {
							view: 'flame',
							set: { value: 'leaked', at: undefined, custom_filter: only(leak) },
						})}
						aria-label={`Flame graph of ${siteName(leak)}`}
					>
						Flame graph
					</a>{' '}
					<a
						href={changed(address, {
							view: 'allocations',
							set: { value: 'leaked', at: undefined, custom_filter: only(leak) },
						})}
						aria-label={`Blocks of ${siteName(leak)}`}
					>
						Blocks
					</a>
				</span>
			),
		},
	];
}

function Recent(props: { address: Address; ns: number | undefined }) {
	return (
		<label class="leak-recent">
			<span class="dim">Recent blocks, younger than this, are left out:</span>{' '}
			<input
				type="text"
				size={8}
				spellcheck={false}
				value={props.address.params.get('young') ?? ''}
				placeholder={props.ns === undefined ? '' : duration(props.ns)}
				title={
					'A duration, such as 2s or 100ms. Unless you say so a hundredth of the ' +
					'recording.'
				}
				onChange={(event) =>
					go({ set: { young: event.currentTarget.value.trim() || undefined } })
				}
			/>
		</label>
	);
}

export function LeaksView(props: ViewProps) {
	const { address, stream } = props;
	const version = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const all = address.params.get('suppress') === 'none';
	const question: [string, string | undefined][] = [
		['young', address.params.get('young') ?? undefined],
		['suppress', all ? 'none' : undefined],
		...filtersOf(address),
	];
	const sum = useAnswer<Leaks>(
		about(stream.id, 'leaks', [...question, ['count', 0]]),
		version,
	).data;
	const narrow = useNarrow();
	const columns = useMemo(
		() => columnsOf(props),
		[address.params.toString(), stream.id, stream.state],
	);

	return (
		<div class="tableview leaks">
			<div class="tools">
				<span role="status">
					{sum && sum.total.blocks > 0 && (
						<>
							{size(sum.total.bytes)} in {count(sum.total.blocks)} blocks{' '}
							{stream.watched_to_end === false
								? 'were not freed while it was watched'
								: 'were not freed'}
							. <strong>{size(sum.suspect_bytes)}</strong> of it (
							{percent(sum.suspect_bytes, sum.total.bytes)} %) is suspect.
						</>
					)}
				</span>
				{sum && (all || sum.suppressed.total.blocks > 0) && (
					<a
						href={changed(address, { set: { suppress: all ? undefined : 'none' } })}
						title={suppressedInWords(sum)}
					>
						{all
							? 'Leave out what libraries are known to keep'
							: `${size(sum.suppressed.total.bytes)} more suppressed: show`}
					</a>
				)}
				<HiddenNames {...props} />
				<span class="grow" />
				<Recent address={address} ns={sum?.young_ns} />
			</div>
			<VirtualTable<Leak, Leaks>
				label="Call sites with blocks that were not freed, the most suspect first"
				columns={columns}
				rowHeight={narrow ? 78 : 42}
				path={(skip, rows) =>
					about(stream.id, 'leaks', [
						...question,
						['skip', skip || undefined],
						['count', rows],
					])
				}
				read={(answer) => ({ rows: answer.groups, total: answer.group_count })}
				keyOf={(leak) => String(leak.backtrace_id)}
				picked={address.params.get('picked') ?? ''}
				onPick={(leak) => go({ set: { picked: String(leak.backtrace_id) } }, true)}
				version={version}
				none={
					<None
						address={address}
						title={
							sum && !all && sum.suppressed.total.blocks > 0
								? 'Nothing else was left: what was not freed is suppressed.'
								: stream.watched_to_end === false
									? 'Everything was freed so far.'
									: 'Nothing leaked: every block that was recorded was freed.'
						}
					/>
				}
			/>
		</div>
	);
}
