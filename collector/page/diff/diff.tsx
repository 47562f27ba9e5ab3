// What differs from another recording or moment, by call site: the largest difference first.
import { changed, filtersOf, go, inBlocks, valueOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { baseName, count, size } from '../base/format';
import { Grid, type Column } from '../base/grid';
import { Answered, Notice } from '../base/ui';
import { baseInWords } from '../frame/compare';
import { useFleet } from '../frame/fleet_state';
import { Place, siteName } from '../table/frames';
import type { Diff, DiffGroup } from '../api/types';
import type { ViewProps } from '../frame/views';

const COUNT = 300;
const KINDS = { added: 'new', removed: 'gone', changed: '' };

function signed(value: number, text: (n: number) => string): string {
	return `${value > 0 ? '+' : ''}${text(value)}`;
}

/** The stack of a group; of one that is gone here the base has it, and it can't be shown. */
function keyOf(group: DiffGroup): string {
	return String(group.backtrace_id ?? '');
}

function columnsOf(
	props: ViewProps,
	text: (n: number) => string,
	of: (sum: { bytes: number; blocks: number }) => number,
): Column<DiffGroup>[] {
	const { address } = props;
	const change = (g: DiffGroup) => (inBlocks(address) ? g.blocks : g.bytes);
	return [
		{
			key: 'function',
			title: 'Call site',
			width: 'minmax(150px, 3fr)',
			cell: (g) => (
				<a
					href={changed(address, {
						view: 'flame',
						set: { find: g.function ?? undefined },
					})}
				>
					{siteName(g)}
				</a>
			),
		},
		{
			key: 'place',
			title: 'Place',
			width: 'minmax(118px, 1fr)',
			from: 560,
			cell: (g) => <Place address={address} file={g.file} line={g.line} />,
		},
		{
			key: 'module',
			title: 'Module',
			width: 'minmax(80px, 1fr)',
			from: 700,
			cell: (g) => (
				<span class="dim" title={g.module ?? undefined}>
					{baseName(g.module ?? '')}
				</span>
			),
		},
		{
			key: 'change',
			title: 'Difference',
			width: '110px',
			right: true,
			cell: (g) => (
				<span class={change(g) > 0 ? 'more' : 'less'}>{signed(change(g), text)}</span>
			),
		},
		{
			key: 'here',
			title: 'Here',
			width: '100px',
			right: true,
			from: 560,
			cell: (g) => (g.new ? text(of(g.new)) : ''),
		},
		{
			key: 'there',
			title: 'There',
			width: '100px',
			right: true,
			from: 560,
			cell: (g) => (g.base ? text(of(g.base)) : ''),
		},
		{
			key: 'kind',
			title: 'Which',
			silent: true,
			width: '64px',
			cell: (g) => <span class="dim">{KINDS[g.kind]}</span>,
		},
	];
}

function Difference(props: ViewProps & { diff: Diff; base: string }) {
	const { diff, address, stream } = props;
	const { streams } = useFleet();
	const blocks = inBlocks(address);
	const text = blocks ? count : size;
	const of = (sum: { bytes: number; blocks: number }) => (blocks ? sum.blocks : sum.bytes);

	return (
		<>
			<div class="tools">
				<strong>{signed(blocks ? diff.blocks : diff.bytes, text)}</strong>
				<span class="dim">
					{text(of(diff.new))} here, {text(of(diff.base))} in{' '}
					{baseInWords(props.base, streams, stream.id.slice(0, 12))}:{' '}
					{size(diff.added_bytes)} at new call sites, {size(diff.removed_bytes)} at those
					that are gone, {size(diff.grown_bytes)} more and {size(diff.shrunk_bytes)} less
					at the others
				</span>
				<span class="grow" />
				<a class="button" href={changed(address, { view: 'flame' })}>
					As a flame graph
				</a>
			</div>
			{diff.groups.length === 0 ? (
				<Notice title="There is no difference.">
					Both have the same at each call site.
				</Notice>
			) : (
				<Grid
					label="Call sites that differ, the largest difference first"
					columns={columnsOf(props, text, of)}
					total={diff.groups.length}
					row={(at) => diff.groups[at]}
					keyOf={keyOf}
					picked={address.params.get('picked') ?? ''}
					onPick={(g) => go({ set: { picked: keyOf(g), site: undefined } }, true)}
				/>
			)}
		</>
	);
}

export function DiffView(props: ViewProps) {
	const { address, stream } = props;
	const base = address.params.get('base');
	const at = address.params.get('at');
	const value = valueOf(address);
	const answer = useAnswer<Diff>(
		base
			? about(stream.id, 'diff', [
					['base', base],
					['value', value],
					['at', at && value === 'in-use' ? at : undefined],
					['count', COUNT],
					...filtersOf(address),
				])
			: null,
		stream.state === 'live' ? (stream.events ?? 0) : 0,
	);
	if (!base)
		return (
			<Notice title="Nothing to compare with yet.">
				“Compare…” above chooses another recording, or the moment that you have clicked in
				the time strip.
			</Notice>
		);
	return (
		<Answered answer={answer}>
			{(diff) => <Difference {...props} diff={diff} base={base} />}
		</Answered>
	);
}
