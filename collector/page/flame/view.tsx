// The view of a flame graph with its table beside it.
import { useMemo } from 'preact/hooks';
import { filtersOf, go, inBlocks, valueOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, percent, size } from '../base/format';
import { Answered, Notice, Segments } from '../base/ui';
import type { ViewProps } from '../frame/views';
import type { Flame as FlameAnswer } from '../api/types';
import { Flame } from './flame';
import { find, functionOf, layOut, moduleOf, placeOf } from './layout';
import { FunctionTable } from './functions';

const TREES = [
	['down', 'From main'],
	['up', 'From the allocator'],
] as const;

const EMPTY: Record<string, string> = {
	leaked: 'Nothing leaked: every block was freed.',
	temporary: 'No block was freed before the end.',
	'in-use': 'Nothing was in use then.',
};

function Graph(props: ViewProps & { flame: FlameAnswer }) {
	const { flame, address } = props;
	const blocks = inBlocks(address);
	const layout = useMemo(() => layOut(flame, blocks), [flame, blocks]);
	const text = address.params.get('find') ?? '';
	const match = useMemo(() => find(layout, text), [layout, text]);
	const tree = address.params.get('tree') === 'up' ? 'up' : 'down';
	const site = address.params.get('site') ?? '';
	const picked = useMemo(() => {
		if (!site) return -1;
		const [name] = site.split('@');
		const s = flame.strings.indexOf(name!);
		return s < 0 ? -1 : flame.frames.function.indexOf(s);
	}, [flame, site]);
	const show = blocks ? count : size;

	if (!layout.values[0])
		return <Notice title={EMPTY[valueOf(address)] ?? 'Nothing matches.'}>{filtersOf(address).length ? 'The filters above leave nothing: remove one.' : ''}</Notice>;
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
					{match ? `${percent(match.sum, layout.amounts[0]!)} % of ${show(layout.amounts[0]!)} match` : `${show(layout.amounts[0]!)} in ${count(layout.count - 1)} frames`}
					{layout.changes ? ': red has grown, blue has shrunk' : ''}
					{flame.cut ? `, ${count(flame.cut)} small ones are left out` : ''}
				</span>
			</div>
			<Flame
				layout={layout}
				blocks={blocks}
				upwards={false}
				match={match}
				picked={picked}
				onPick={(node) =>
					go({ set: { site: node ? [functionOf(flame, node), placeOf(flame, node), moduleOf(flame, node)].join('@') : undefined } }, true)
				}
			/>
			<FunctionTable layout={layout} blocks={blocks} picked={site} match={match} />
		</div>
	);
}

export function FlameView(props: ViewProps) {
	const { address, stream } = props;
	const { params } = address;
	const at = params.get('at');
	const path = about(stream.id, 'flame', [
		['value', valueOf(address)],
		...(at && valueOf(address) === 'in-use' ? ([['at', at]] as [string, string][]) : []),
		['reversed', params.get('tree') === 'up' ? 'true' : undefined],
		['base', params.get('base') ?? undefined],
		...filtersOf(address),
	]);
	const answer = useAnswer<FlameAnswer>(path, stream.state === 'live' ? (stream.events ?? 0) : 0);

	return <Answered answer={answer}>{(flame) => <Graph {...props} flame={flame} />}</Answered>;
}
