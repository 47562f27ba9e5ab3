// The view of a flame graph with its table beside it.
import { useMemo } from 'preact/hooks';
import { filtersOf, go, inBlocks, valueOf } from '../base/address';
import { about } from '../base/ask';
import { count, percent, size } from '../base/format';
import { Answered, Segments } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { None } from '../table/sites';
import { useLayout } from './ask';
import { Flame } from './flame';
import { FunctionTable } from './functions';
import { find, siteOf, type Layout } from './layout';

const TREES = [
	['down', 'From main'],
	['up', 'From the allocator'],
] as const;

const EMPTY: Record<string, string> = {
	leaked: 'Nothing leaked: every block was freed.',
	temporary: 'No block was freed before the end.',
	'in-use': 'Nothing was in use then.',
};

/** The frame that is selected in the address; -1: none that is here. */
function pickedFrame(layout: Layout, site: string): number {
	const name = layout.strings.indexOf(site.split('@')[0]!);
	if (!site || name < 0) return -1;
	const exact = layout.functions.findIndex((f, i) => f === name && siteOf(layout, i) === site);
	return exact >= 0 ? exact : layout.functions.indexOf(name);
}

function Graph(props: ViewProps & { layout: Layout }) {
	const { layout, address } = props;
	const blocks = inBlocks(address);
	const text = address.params.get('find') ?? '';
	const site = address.params.get('site') ?? '';
	const match = useMemo(() => find(layout, text), [layout, text]);
	const picked = useMemo(() => pickedFrame(layout, site), [layout, site]);
	const tree = address.params.get('tree') === 'up' ? 'up' : 'down';
	const show = blocks ? count : size;

	if (!layout.width[0])
		return <None address={address} title={EMPTY[valueOf(address)]} />;
	return (
		<div class="flames">
			<div class="tools">
				<Segments label="Direction" options={TREES} chosen={tree} onChoose={(t) => go({ set: { tree: t === 'down' ? undefined : t } })} />
				<input
					type="search"
					placeholder="Function, file or module"
					aria-label="Search the flame graph"
					value={text}
					onInput={(event) => go({ set: { find: event.currentTarget.value } }, true)}
				/>
				<span class="dim" role="status">
					{match
						? `${percent(match.sum, layout.amount[0]!)} % of ${show(layout.amount[0]!)} match`
						: `${show(layout.amount[0]!)} in ${count(layout.count - 1)} frames`}
					{layout.change ? ': red has grown, blue has shrunk' : ''}
					{layout.cut ? `, ${count(layout.cut)} small ones are left out` : ''}
				</span>
			</div>
			<Flame
				layout={layout}
				blocks={blocks}
				match={match}
				picked={picked}
				onPick={(node) => go({ set: { site: node ? siteOf(layout, layout.frame[node]!) : undefined } }, true)}
			/>
			<FunctionTable layout={layout} blocks={blocks} picked={site} match={match} />
		</div>
	);
}

export function FlameView(props: ViewProps) {
	const { address, stream } = props;
	const { params } = address;
	const value = valueOf(address);
	const path = about(stream.id, 'flame', [
		['value', value],
		['at', value === 'in-use' ? (params.get('at') ?? undefined) : undefined],
		['reversed', params.get('tree') === 'up' ? 'true' : undefined],
		['base', params.get('base') ?? undefined],
		...filtersOf(address),
	]);
	const answer = useLayout(path, inBlocks(address), stream.state === 'live' ? (stream.events ?? 0) : 0);

	return <Answered answer={answer}>{(layout) => <Graph {...props} layout={layout} />}</Answered>;
}
